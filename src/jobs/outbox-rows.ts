import type { Database, Tx } from '../database/database.ts'
import { textFor } from '../database/statements.ts'

/** A job to store. */
interface NewJob {
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
export async function insertJob(tx: Tx, job: NewJob): Promise<void> {
  const { kind, payload, availableAt, createdAt, mergeKey, orderKey } = job
  const userId = job.userId === null ? null : BigInt(job.userId)
  // A single statement, so that concurrent equal jobs share one row.
  await tx.$executeRaw`
    INSERT INTO outbox (kind, payload, available_at, created_at, merge_key, order_key, user_id)
    VALUES (${kind}, ${payload}, ${availableAt}, ${createdAt}, ${mergeKey}, ${orderKey}, ${userId})
    ON CONFLICT (merge_key) DO UPDATE SET payload = excluded.payload, times = outbox.times + 1`
}

/** Deletes jobs that contain data of a user, pending or failed. */
export async function deleteJobsOf(tx: Tx, userId: number): Promise<void> {
  await tx.outbox.deleteMany({ where: { userId: BigInt(userId) } })
}

/** A job claimed by one process. */
export interface ClaimedJob {
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
}

/** A claimed row. The engines return integers as different types. */
interface Row extends Pick<ClaimedJob, 'kind' | 'payload'> {
  id: bigint | number
  attempts: bigint | number
  times: bigint | number
}

/** Claims the oldest due job that no earlier job with the same order key blocks; null if there is none. */
export async function claimJob(database: Database, claim: Claim): Promise<ClaimedJob | null> {
  const { kinds, now, lease } = claim
  const { prisma, engine } = database
  // In one statement, so that processes neither wait for each other nor compete for the same rows. SQLite runs one writing
  // statement at a time. `failed_at` makes the order that of the index, so that a claim does not sort all waiting jobs.
  const lock = engine === 'sqlite' ? '' : 'FOR UPDATE SKIP LOCKED'
  const places = kinds.map((_, index) => `$${index + 3}`).join(', ')
  const text = `
    UPDATE outbox SET attempts = attempts + 1, locked_until = $2, merge_key = NULL WHERE id = (
      SELECT id FROM outbox
      WHERE failed_at IS NULL AND available_at <= $1 AND (locked_until IS NULL OR locked_until <= $1)
        AND kind IN (${places})
        AND NOT EXISTS (
          SELECT 1 FROM outbox AS earlier
          WHERE earlier.order_key = outbox.order_key AND earlier.id < outbox.id AND earlier.failed_at IS NULL)
      ORDER BY failed_at, available_at, id LIMIT 1 ${lock})
    RETURNING id, kind, payload, attempts, times`
  const dates = [new Date(now), new Date(now + lease)]
  const [row] = await prisma.$queryRawUnsafe<Row[]>(textFor(database, text), ...dates, ...kinds)
  if (!row) return null
  const { id, kind, payload, attempts, times } = row
  return { id: BigInt(id), kind, payload, attempts: Number(attempts), times: Number(times) }
}
