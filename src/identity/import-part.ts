/** A record of another application that belongs to a user. */
export interface ImportItem {
  userId: bigint
  /** Null if the other application does not know it. */
  createdAt: Date | null
}

/** Result of the look-up of a record: new, already stored, or the reason why it cannot be stored. */
export type Found = 'new' | 'present' | { conflict: string }
