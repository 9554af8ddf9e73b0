import type { Database, Tx } from '../database/database.ts'
import { textFor } from '../database/statements.ts'

/** A stored job. */
interface NewWork {
  kind: string
  /** Encrypted. */
  payload: string
  /** When the job is due. */
  availableAt: Date
  createdAt: Date
  mergeKey: string | null
  orderKey: string | null
  userId: number | null
}

/** Stores a job. If an equal merge key is pending, replaces its payload and increments its count. */
export async function insertWork(tx: Tx, work: NewWork): Promise<void> {
  const { kind, payload, availableAt, createdAt, mergeKey, orderKey } = work
  const userId = work.userId === null ? null : BigInt(work.userId)
  // A single statement, so that concurrent equal jobs share one row.
  await tx.$executeRaw`
    INSERT INTO outbox (kind, payload, available_at, created_at, merge_key, order_key, user_id)
    VALUES (${kind}, ${payload}, ${availableAt}, ${createdAt}, ${mergeKey}, ${orderKey}, ${userId})
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

/** The engines differ in their integers. */
interface Candidate extends Pick<Claimed, 'kind' | 'payload'> {
  id: bigint | number
  attempts: bigint | number
  times: bigint | number
}

/** Claims the oldest due job that no earlier job with the same order key blocks; null if there is none. */
export async function claimWork(database: Database, claim: Claim): Promise<Claimed | null> {
  const { kinds, now, lease, look } = claim
  const { prisma } = database
  const date = new Date(now)
  const places = kinds.map((_, index) => `$${index + 3}`).join(', ')
  const text = `
    SELECT id, kind, payload, attempts, times FROM outbox
    WHERE failed_at IS NULL AND available_at <= $1 AND (locked_until IS NULL OR locked_until <= $1)
      AND kind IN (${places})
      AND NOT EXISTS (
        SELECT 1 FROM outbox AS earlier
        WHERE earlier.order_key = outbox.order_key AND earlier.id < outbox.id AND earlier.failed_at IS NULL)
    ORDER BY available_at, id LIMIT $2`
  const rows = await prisma.$queryRawUnsafe<Candidate[]>(textFor(database, text), date, look, ...kinds)
  for (const row of rows) {
    const id = BigInt(row.id)
    const [attempts, times] = [Number(row.attempts), Number(row.times)]
    // Every claim and every merge changes the row, so only one process can update it.
    const { count } = await prisma.outbox.updateMany({
      where: { id, attempts, times, failedAt: null },
      data: { attempts: attempts + 1, lockedUntil: new Date(now + lease), mergeKey: null },
    })
    if (count === 1) return { id, kind: row.kind, payload: row.payload, attempts: attempts + 1, times }
  }
  // Other processes claimed all of these; there may be more.
  return rows.length > 0 ? claimWork(database, claim) : null
}
