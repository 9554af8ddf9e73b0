/** A user of another server, as its file describes it. */
export interface ConvertedUser {
  /** How the file names the user. */
  key: string
  email: string | null
  name: string
  username: string | null
  givenName: string | null
  familyName: string | null
  /** In the format of the other server that svc reads, or null without one. */
  passwordHash: string | null
  groups: string[]
  verified: boolean
  disabled: boolean
  /** What svc cannot take over, and why. */
  left: string[]
}

/** The file is not what the command expects. */
export class FileError extends Error {}

/** A text, or null for anything else and for an empty one. */
export const textOf = (value: unknown): string | null =>
  typeof value === 'string' && value.trim() !== '' ? value.trim() : null

/** The texts of a list. */
export const textsOf = (value: unknown): string[] =>
  Array.isArray(value) ? value.flatMap((one) => textOf(one) ?? []) : []
