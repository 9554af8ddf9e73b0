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
  /** Whether jobs with the same order key wait for this one. */
  isOrdered: boolean
}

/** A claimed row. The engines return integers as different types. */
interface Row extends Pick<ClaimedJob, 'kind' | 'payload'> {
  id: bigint | number
  attempts: bigint | number
  times: bigint | number
  order_key: string | null
}

/**
 * A job at the time `$1` that no process runs, and that no earlier job with the same order key blocks. Without the test for
 * null, PostgreSQL may join all waiting jobs with each other.
 */
const isDue = `
  failed_at IS NULL AND available_at <= $1 AND (locked_until IS NULL OR locked_until <= $1)
  AND (order_key IS NULL OR NOT EXISTS (
    SELECT 1 FROM outbox AS earlier
    WHERE earlier.order_key = outbox.order_key AND earlier.id < outbox.id AND earlier.failed_at IS NULL))`

/** Returns the ids of the oldest due jobs. `now` is in unix milliseconds. */
export async function dueJobs(database: Database, kinds: string[], now: number, max: number): Promise<bigint[]> {
  const places = kinds.map((_, index) => `$${index + 2}`).join(', ')
  // `failed_at` makes the order that of the index, so that the statement does not sort all waiting jobs.
  const text = `
    SELECT id FROM outbox WHERE ${isDue} AND kind IN (${places}) ORDER BY failed_at, available_at, id LIMIT ${max}`
  const rows = await database.prisma.$queryRawUnsafe<Pick<Row, 'id'>[]>(
    textFor(database, text),
    new Date(now),
    ...kinds,
  )
  return rows.map(({ id }) => BigInt(id))
}

/**
 * Claims those of the jobs that are still due, for `lease` milliseconds. One statement that also finds the jobs would read and
 * sort all due jobs for each claim, because PostgreSQL often has no statistics of a table that is usually empty.
 */
export async function claimJobs(
  { prisma, engine }: Database,
  ids: readonly bigint[],
  { now, lease }: { now: number; lease: number },
): Promise<ClaimedJob[]> {
  if (ids.length === 0) return []
  const places = ids.map((_, index) => `$${index + 3}`).join(', ')
  // Processes do not wait for each other. SQLite runs one writing statement at a time.
  const lock = engine === 'sqlite' ? '' : 'FOR UPDATE SKIP LOCKED'
  const due = `
    WITH found AS (SELECT * FROM outbox WHERE id IN (${places}) ${lock})
    SELECT id FROM found AS outbox WHERE ${isDue}`
  // Without the array, PostgreSQL may read the whole table.
  const claimed = engine === 'sqlite' ? `IN (${due})` : `= ANY (ARRAY(${due}))`
  const text = `
    UPDATE outbox SET attempts = attempts + 1, locked_until = $2, merge_key = NULL WHERE id ${claimed}
    RETURNING id, kind, payload, attempts, times, order_key`
  const values = [new Date(now), new Date(now + lease), ...ids]
  const rows = await prisma.$queryRawUnsafe<Row[]>(textFor({ engine }, text), ...values)
  return rows.map(({ id, attempts, times, order_key, ...row }) => ({
    ...row,
    id: BigInt(id),
    attempts: Number(attempts),
    times: Number(times),
    isOrdered: order_key !== null,
  }))
}

/** Deletes finished jobs, except those that another process claimed meanwhile. */
export async function deleteJobs({ prisma }: Database, jobs: readonly ClaimedJob[]): Promise<void> {
  await prisma.outbox.deleteMany({ where: { OR: jobs.map(({ id, attempts }) => ({ id, attempts })) } })
}
