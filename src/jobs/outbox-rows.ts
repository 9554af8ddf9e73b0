import type { Database, Tx } from '../database/database.ts'

/** A piece of work as it is stored. */
interface NewWork {
  kind: string
  /** Encrypted. */
  payload: string
  /** When it is due. */
  availableAt: Date
  createdAt: Date
  mergeKey: string | null
  userId: number | null
}

/** Stores work. Work with a merge key replaces the payload of equal work that waits, and is counted there. */
export async function insertWork(tx: Tx, work: NewWork): Promise<void> {
  const { kind, payload, availableAt, createdAt, mergeKey } = work
  const userId = work.userId === null ? null : BigInt(work.userId)
  // One statement: two equal causes at the same moment make one row.
  await tx.$executeRaw`
    INSERT INTO outbox (kind, payload, available_at, created_at, merge_key, user_id)
    VALUES (${kind}, ${payload}, ${availableAt}, ${createdAt}, ${mergeKey}, ${userId})
    ON CONFLICT (merge_key) DO UPDATE SET payload = excluded.payload, times = outbox.times + 1`
}

/** Deletes the work that holds data of a user: mail that waits or was given up. */
export async function deleteWorkOf(tx: Tx, userId: number): Promise<void> {
  await tx.outbox.deleteMany({ where: { userId: BigInt(userId) } })
}

/** Work that one process has under way. */
export interface Claimed {
  id: bigint
  kind: string
  payload: string
  /** Includes this attempt, and distinguishes this claim from every other. */
  attempts: number
  times: number
}

interface Claim {
  kinds: string[]
  /** Unix milliseconds. */
  now: number
  /** How long the claim keeps others away, in milliseconds. */
  lease: number
  /** How many rows to look at. */
  look: number
}

/** Claims the oldest due work; null when there is none. */
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
    // Each claim counts an attempt and each merge counts a cause, so only one of several readers finds the row unchanged.
    const { count } = await outbox.updateMany({
      where: { id, attempts, times, failedAt: null },
      data: { attempts: attempts + 1, lockedUntil: new Date(now + lease), mergeKey: null },
    })
    if (count === 1) return { id, kind, payload, attempts: attempts + 1, times }
  }
  // Others took all of these: there may be more behind them.
  return rows.length > 0 ? claimWork(database, claim) : null
}
