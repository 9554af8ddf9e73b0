import type { Database, Tx } from '../platform/database/database.ts'
import { skipIds } from '../platform/database/ids.ts'
import { type EventContext, recordEvent } from './events.ts'
import { heldAddresses } from './import.ts'
import { deriveUsername } from './username.ts'

/** A user of another application, who keeps the id. */
export interface KeptUser {
  id: bigint
  /** Canonical address. */
  email: string
  name: string
  password: string | null
  role: string
  emailVerifiedAt: Date | null
  /** Encrypted. */
  twoFactorSecret: string | null
  twoFactorRecoveryCodes: string | null
  twoFactorConfirmedAt: Date | null
  createdAt: Date
  updatedAt: Date
}

/** Result of the look-up of a user. */
export type FoundUser =
  | { state: 'new' }
  /** `importedAt` is null for a user whom the import did not create. */
  | { state: 'present'; importedAt: Date | null }
  | { state: 'conflict'; reason: string }

const mark = 'laravel'

/** Looks up users of another application by id and address. Returns the results in the same order. */
export async function findKept(
  tx: Tx,
  users: readonly Pick<KeptUser, 'id' | 'email'>[],
  now: number,
): Promise<FoundUser[]> {
  const ids = users.map(({ id }) => id)
  const emails = users.map(({ email }) => email)
  const select = { id: true, email: true } as const
  const known = await tx.user.findMany({ where: { OR: [{ id: { in: ids } }, { email: { in: emails } }] }, select })
  const held = await heldAddresses({ prisma: tx }, emails, now)
  const events = await tx.event.findMany({
    where: { userId: { in: ids }, type: { in: ['user_created', 'user_updated', 'user_deleted'] } },
    select: { userId: true, type: true, data: true, createdAt: true },
  })
  const byId = new Map(known.map((row) => [row.id, row]))
  const byEmail = new Map(known.map((row) => [row.email, row]))
  const deleted = new Set(events.filter(({ type }) => type === 'user_deleted').map(({ userId }) => userId))
  const imports = events.filter(({ data }) => importOf(data) === mark)
  return users.map(({ id, email }): FoundUser => {
    const importedAt = imports
      .filter(({ userId }) => userId === id)
      .reduce<Date | null>((last, { createdAt }) => (last && last > createdAt ? last : createdAt), null)
    const own = byId.get(id)
    // A user may change the address in svc after the import.
    if (own && (own.email === email || importedAt)) return { state: 'present', importedAt }
    if (own) return { state: 'conflict', reason: 'svc has another user with this id' }
    if (deleted.has(id)) return { state: 'conflict', reason: 'a user with this id was deleted in svc' }
    if (byEmail.has(email)) return { state: 'conflict', reason: 'svc has another user with this address' }
    const until = held.get(email)
    if (until) {
      const day = until.toISOString().slice(0, 10)
      const reason = `the address is held until ${day}, because a user of svc can still undo a change of it`
      return { state: 'conflict', reason }
    }
    return { state: 'new' }
  })
}

function importOf(data: string): unknown {
  try {
    return JSON.parse(data)?.imported
  } catch {
    return null
  }
}

/** Creates users with their ids, and an event for each. */
export async function insertKept(
  tx: Tx,
  engine: Database['engine'],
  origin: EventContext,
  users: readonly KeptUser[],
): Promise<void> {
  if (users.length === 0) return
  await tx.user.createMany({ data: [...users] })
  await skipIds(tx, engine, 'users')
  for (const { id, name } of users) await deriveUsername(tx, { id: Number(id), name })
  for (const { id } of users)
    await recordEvent(tx, origin, { type: 'user_created', userId: Number(id), data: { imported: mark } })
}

/** Records that an import added records to users of an earlier import. */
export async function noteLaterImport(tx: Tx, origin: EventContext, ids: ReadonlySet<bigint>): Promise<void> {
  for (const id of ids)
    await recordEvent(tx, origin, { type: 'user_updated', userId: Number(id), data: { imported: mark } })
}
