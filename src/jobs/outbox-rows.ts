import type { Database, Tx } from '../database/database.ts'

/** A stored job. */
interface NewWork {
  kind: string
  /** Encrypted. */
  payload: string
  /** When the job is due. */
  availableAt: Date
  createdAt: Date
  mergeKey: string | null
  userId: number | null
}

/** Stores a job. If an equal merge key is pending, replaces its payload and increments its count. */
export async function insertWork(tx: Tx, work: NewWork): Promise<void> {
  const { kind, payload, availableAt, createdAt, mergeKey } = work
  const userId = work.userId === null ? null : BigInt(work.userId)
  // A single statement, so that concurrent equal jobs share one row.
  await tx.$executeRaw`
    INSERT INTO outbox (kind, payload, available_at, created_at, merge_key, user_id)
    VALUES (${kind}, ${payload}, ${availableAt}, ${createdAt}, ${mergeKey}, ${userId})
    ON CONFLICT (merge_key) DO UPDATE SET payload = excluded.payload, times = outbox.times + 1`
}

/** Deletes jobs that contain data of a user, pending or failed. */
export async function deleteWorkOf(tx: Tx, userId: number): Promise<void> {
  await tx.outbox.deleteMany({ where: { userId: BigInt(userId) } })
}

/** A job claimed by one process. */
export interface Claimed {
  id: bigint
  kind: string
  payload: string
  /** Includes this attempt, and identifies the claim. */
  attempts: number
  times: number
}

interface Claim {
  kinds: string[]
  /** Unix milliseconds. */
  now: number
  /** Duration of the claim in milliseconds. */
  lease: number
  /** Number of rows to examine. */
  look: number
}

/** Claims the oldest due job; null if there is none. */
export async function claimWork(database: Database, claim: Claim): Promise<Claimed | null> {
  const { kinds, now, lease, look } = claim
  const { outbox } = database.prisma
  const date = new Date(now)
  const due = { availableAt: { lte: date }, OR: [{ lockedUntil: null }, { lockedUntil: { lte: date } }] }
  const rows = await outbox.findMany({
    where: { failedAt: null, kind: { in: kinds }, ...due },
    orderBy: [{ availableAt: 'asc' }, { id: 'asc' }],
    take: look,
  })
  for (const { id, kind, payload, attempts, times } of rows) {
    // Every claim and every merge changes the row, so only one process can update it.
    const { count } = await outbox.updateMany({
      where: { id, attempts, times, failedAt: null },
      data: { attempts: attempts + 1, lockedUntil: new Date(now + lease), mergeKey: null },
    })
    if (count === 1) return { id, kind, payload, attempts: attempts + 1, times }
  }
  // Other processes claimed all of these; there may be more.
  return rows.length > 0 ? claimWork(database, claim) : null
}
