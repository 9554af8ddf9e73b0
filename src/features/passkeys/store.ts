import type { Found, ImportItem } from '../../identity/import-part.ts'
import { wireDate } from '../../identity/wire-date.ts'
import { randomId } from '../../platform/crypto/random.ts'
import type { Database, Tx } from '../../platform/database/database.ts'
import { maxRowId } from '../../platform/database/ids.ts'
import { unauthenticated } from '../../platform/errors.ts'
import type { Passkey } from '../../platform/generated/postgresql/client.ts'
import type { Static } from '../../platform/json-schema.ts'
import type { PasskeyRecord } from './schemas.ts'

type Record = Static<typeof PasskeyRecord>

/** Fields of a stored passkey that verification needs. */
export interface StoredPasskey {
  id: bigint
  userId: number
  credentialId: string
  publicKey: Uint8Array<ArrayBuffer>
  counter: number
  /** User handle of the authenticator, base64url. */
  userHandle: string | null
}

/** A verified credential to store. */
export interface NewPasskey {
  userId: number
  name: string
  credentialId: string
  publicKey: Uint8Array
  counter: number
  transports: readonly string[]
  backedUp: boolean
  now: number
}

/** State of a passkey from an assertion. */
export interface PasskeyUse {
  counter: number
  backedUp: boolean
  now: number
}

const recordOf = (row: Passkey): Record => ({
  id: String(row.id),
  name: row.name,
  backed_up: row.backedUp,
  last_used_at: wireDate(row.lastUsedAt),
  created_at: wireDate(row.createdAt),
})

/** Finds a passkey by credential id (base64url without padding). */
export async function findPasskey({ prisma }: Database, credentialId: string): Promise<StoredPasskey | null> {
  const row = await prisma.passkey.findUnique({
    where: { credentialId },
    include: { user: { select: { passkeyHandle: true } } },
  })
  return (
    row && {
      id: row.id,
      userId: Number(row.userId),
      credentialId: row.credentialId,
      publicKey: new Uint8Array(Buffer.from(row.publicKey, 'base64url')),
      counter: Number(row.counter),
      userHandle: row.user.passkeyHandle,
    }
  )
}

/**
 * Returns the user handle for authenticators (WebAuthn section 14.6.1): random and created once. Throws 401 if the user
 * was deleted.
 */
export async function userHandle({ prisma }: Database, userId: number): Promise<string> {
  const id = BigInt(userId)
  await prisma.user.updateMany({ where: { id, passkeyHandle: null }, data: { passkeyHandle: randomId() } })
  const row = await prisma.user.findUnique({ where: { id }, select: { passkeyHandle: true } })
  if (!row?.passkeyHandle) throw unauthenticated()
  return row.passkeyHandle
}

/** Returns the user handle; null for a user who never had a passkey. */
export async function findUserHandle({ prisma }: Database, userId: number): Promise<string | null> {
  const row = await prisma.user.findUnique({ where: { id: BigInt(userId) }, select: { passkeyHandle: true } })
  return row?.passkeyHandle ?? null
}

/** Sets the user handle of a new account, whose authenticator has it already. */
export async function setUserHandle(tx: Tx, userId: number, passkeyHandle: string): Promise<void> {
  await tx.user.update({ where: { id: BigInt(userId) }, data: { passkeyHandle } })
}

/** The user's passkeys, oldest first. */
export async function listPasskeys({ prisma }: Database, userId: number): Promise<Record[]> {
  const rows = await prisma.passkey.findMany({ where: { userId: BigInt(userId) }, orderBy: { id: 'asc' } })
  return rows.map(recordOf)
}

/** Tests whether the user has a passkey. */
export const hasPasskey = async ({ prisma }: { prisma: Database['prisma'] | Tx }, userId: number): Promise<boolean> =>
  (await prisma.passkey.findFirst({ where: { userId: BigInt(userId) }, select: { id: true } })) !== null

/** Returns the number of the user's passkeys. */
export const countPasskeys = (tx: Tx, userId: number): Promise<number> =>
  tx.passkey.count({ where: { userId: BigInt(userId) } })

/** Returns the id and transports of the user's credentials, for the browser. */
export async function listCredentials(
  { prisma }: Database,
  userId: number,
): Promise<{ id: string; transports: string[] }[]> {
  const rows = await prisma.passkey.findMany({ where: { userId: BigInt(userId) }, orderBy: { id: 'asc' } })
  return rows.map((row) => ({ id: row.credentialId, transports: JSON.parse(row.transports) }))
}

/** Stores a passkey and returns its id; null if the credential is already registered. */
export async function insertPasskey(tx: Tx, passkey: NewPasskey): Promise<bigint | null> {
  const { name, credentialId, backedUp } = passkey
  const [userId, counter, date] = [BigInt(passkey.userId), BigInt(passkey.counter), new Date(passkey.now)]
  const publicKey = Buffer.from(passkey.publicKey).toString('base64url')
  const transports = JSON.stringify(passkey.transports)
  // A single statement: two concurrent registrations of one credential do not abort a transaction.
  const count = await tx.$executeRaw`
    INSERT INTO passkeys
      (user_id, name, credential_id, public_key, counter, transports, backed_up, created_at, updated_at)
    VALUES (${userId}, ${name}, ${credentialId}, ${publicKey}, ${counter}, ${transports}, ${backedUp}, ${date}, ${date})
    ON CONFLICT (credential_id) DO NOTHING`
  if (count === 0) return null
  return (await tx.passkey.findUniqueOrThrow({ where: { credentialId }, select: { id: true } })).id
}

/** Records a use if the signature counter increased, or is unused; false for a rollback or a deleted passkey. */
export async function notePasskeyUse(tx: Tx, id: bigint, { counter, backedUp, now }: PasskeyUse): Promise<boolean> {
  const isCounting = counter > 0
  const { count } = await tx.passkey.updateMany({
    where: { id, counter: isCounting ? { lt: BigInt(counter) } : 0n },
    data: { counter: BigInt(counter), backedUp, lastUsedAt: new Date(now) },
  })
  return count > 0
}

/** Owner of a passkey: this user, another user, or unknown id. */
export async function ownerOf({ prisma }: Database, id: bigint, userId: number): Promise<'own' | 'other' | 'none'> {
  if (id > maxRowId) return 'none'
  const row = await prisma.passkey.findUnique({ where: { id }, select: { userId: true } })
  if (!row) return 'none'
  return row.userId === BigInt(userId) ? 'own' : 'other'
}

/** Renames the user's passkey; null if it was deleted. */
export async function renamePasskey(
  tx: Tx,
  { id, userId, name, now }: { id: bigint; userId: number; name: string; now: number },
): Promise<Record | null> {
  const where = { id, userId: BigInt(userId) }
  const { count } = await tx.passkey.updateMany({ where, data: { name, updatedAt: new Date(now) } })
  return count === 0 ? null : recordOf(await tx.passkey.findUniqueOrThrow({ where: { id } }))
}

/** Deletes a passkey of the user. Returns false if the user has no passkey with this id. */
export async function deletePasskey(tx: Tx, { id, userId }: { id: bigint; userId: number }): Promise<boolean> {
  return (await tx.passkey.deleteMany({ where: { id, userId: BigInt(userId) } })).count > 0
}

/** Deletes all passkeys of the user. */
export async function deletePasskeysOf(tx: Tx, userId: number, since?: Date): Promise<void> {
  const recent = since ? { createdAt: { gte: since } } : {}
  await tx.passkey.deleteMany({ where: { userId: BigInt(userId), ...recent } })
}

/** A passkey of another application on the same domain. */
export interface ImportedPasskey extends ImportItem {
  name: string
  credentialId: string
  publicKey: string
  counter: number
  transports: readonly string[]
  backedUp: boolean
  /** User handle of the authenticator, base64url. */
  handle: string
  lastUsedAt: Date | null
  updatedAt: Date | null
}

/** Looks up imported passkeys and their user handles, in their order. A user has one handle, and no other user has it. */
export async function findImported(tx: Tx, passkeys: readonly ImportedPasskey[]): Promise<Found[]> {
  const rows = await tx.passkey.findMany({
    where: { credentialId: { in: passkeys.map(({ credentialId }) => credentialId) } },
    select: { credentialId: true, userId: true },
  })
  const owners = new Map(rows.map((row) => [row.credentialId, row.userId]))
  const users = await tx.user.findMany({
    where: {
      OR: [
        { id: { in: passkeys.map(({ userId }) => userId) } },
        { passkeyHandle: { in: passkeys.map(({ handle }) => handle) } },
      ],
    },
    select: { id: true, passkeyHandle: true },
  })
  const handles = new Map<bigint, string>()
  for (const { id, passkeyHandle } of users) if (passkeyHandle !== null) handles.set(id, passkeyHandle)
  const holders = new Map([...handles].map(([id, handle]) => [handle, id]))
  return passkeys.map(({ credentialId, userId, handle }) => {
    const owner = owners.get(credentialId)
    if (owner !== undefined) return owner === userId ? 'present' : { conflict: 'svc has this passkey for another user' }
    const holder = holders.get(handle) ?? userId
    const current = handles.get(userId) ?? handle
    if (holder !== userId || current !== handle) return { conflict: 'its user handle differs from that in svc' }
    owners.set(credentialId, userId)
    handles.set(userId, handle)
    holders.set(handle, userId)
    return 'new'
  })
}

/** Stores passkeys, and the user handles that their authenticators have. */
export async function insertImported(
  tx: Tx,
  passkeys: readonly ImportedPasskey[],
  { now }: { now: number },
): Promise<void> {
  for (const { userId, handle } of passkeys)
    await tx.user.updateMany({ where: { id: userId, passkeyHandle: null }, data: { passkeyHandle: handle } })
  const data = passkeys.map(({ handle: _, counter, transports, createdAt, updatedAt, ...passkey }) => ({
    ...passkey,
    counter: BigInt(counter),
    transports: JSON.stringify(transports),
    createdAt: createdAt ?? new Date(now),
    updatedAt: updatedAt ?? new Date(now),
  }))
  await tx.passkey.createMany({ data })
}
