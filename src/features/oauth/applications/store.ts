import { storedAbilities } from '../../../auth/access/abilities.ts'
import { wireDate } from '../../../identity/wire-date.ts'
import { deleteOutdated } from '../../../platform/database/batches.ts'
import type { Database, Tx } from '../../../platform/database/database.ts'
import type { Static } from '../../../platform/json-schema.ts'
import type { RecordSeal, SealedRecord } from '../records/record-seal.ts'
import { recordId } from '../records/store.ts'
import type { PersonalToken } from './schemas.ts'

type ListedToken = Static<typeof PersonalToken>

interface TokenFacts {
  id: string
  userId: number
  name: string
  scopes: readonly string[]
  createdAt: Date
  expiresAt: Date
}

/** Access that a user gave a client: the grants of one device, or a remembered consent without a grant. */
export interface StoredAuthorization {
  /** Not a secret: only its user can do anything with it. */
  id: string
  clientId: string
  scopes: readonly string[]
  /** Individually requested claims. */
  claims: readonly string[]
  createdAt: Date
  /** Expiry of its last refresh token; null without one. */
  expiresAt: Date | null
}

/** Inserts the row of a personal access token. The token is revoked when the row is deleted. */
export async function insertPersonalToken(tx: Tx, { userId, scopes, ...facts }: TokenFacts): Promise<void> {
  await tx.oauthPersonalToken.create({
    data: { ...facts, userId: BigInt(userId), scopes: JSON.stringify(scopes) },
  })
}

/** Returns the user's personal access tokens that have not expired, oldest first. */
export async function listPersonalTokens({ prisma }: Database, userId: number, now: number): Promise<ListedToken[]> {
  const rows = await prisma.oauthPersonalToken.findMany({
    where: { userId: BigInt(userId), expiresAt: { gt: new Date(now) } },
    orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
  })
  return rows.map(({ id, name, scopes, createdAt, expiresAt }) => ({
    id,
    name,
    scopes: storedAbilities(scopes),
    created_at: wireDate(createdAt),
    expires_at: wireDate(expiresAt),
  }))
}

/** Returns the number of the user's personal access tokens that have not expired. */
export const countPersonalTokens = (tx: Tx, userId: number, now: Date): Promise<number> =>
  tx.oauthPersonalToken.count({ where: { userId: BigInt(userId), expiresAt: { gt: now } } })

/** Deletes the user's personal access token of this id; false when the user has none. */
export async function deletePersonalToken(tx: Tx, userId: number, id: string): Promise<boolean> {
  return (await tx.oauthPersonalToken.deleteMany({ where: { id, userId: BigInt(userId) } })).count > 0
}

/** Returns the user that a personal access token belongs to; null for an unknown id. */
export async function ownerOfPersonalToken({ prisma }: Database, id: string): Promise<number | null> {
  const row = await prisma.oauthPersonalToken.findUnique({ where: { id }, select: { userId: true } })
  return row && Number(row.userId)
}

/** Deletes every personal access token of the user. */
export async function deletePersonalTokens(tx: Tx, userId: number): Promise<void> {
  await tx.oauthPersonalToken.deleteMany({ where: { userId: BigInt(userId) } })
}

/** Deletes expired personal access tokens. */
export async function deleteExpiredPersonalTokens(database: Database, now: number): Promise<void> {
  await deleteOutdated(database, { table: 'oauth_personal_tokens', date: 'expires_at', before: new Date(now) })
}

/** Maximum number of grants in a list. Every authorization adds one, and the list has those that expire last. */
const maxGrants = 1_000

/** Returns the access that the user gave clients and that has not expired, oldest first. */
export async function listAuthorizations(
  { prisma }: Database,
  seal: RecordSeal,
  userId: number,
  now: number,
): Promise<StoredAuthorization[]> {
  const owner = BigInt(userId)
  const at = BigInt(now)
  const [grants, refreshTokens, consents] = await Promise.all([
    prisma.oauthRecord.findMany({
      where: { userId: owner, kind: 'Grant', OR: [{ expiresAt: null }, { expiresAt: { gt: at } }] },
      orderBy: { expiresAt: { sort: 'desc', nulls: 'last' } },
      take: maxGrants,
    }),
    prisma.oauthRecord.findMany({
      where: { userId: owner, kind: 'RefreshToken', consumedAt: null, expiresAt: { gt: at } },
      orderBy: { expiresAt: 'desc' },
      take: maxGrants,
      select: { grantHash: true, expiresAt: true },
    }),
    prisma.oauthConsent.findMany({ where: { userId: owner }, orderBy: { scope: 'asc' } }),
  ])
  const given = byDevice(grantsOf(seal, grants)).map((group): StoredAuthorization => {
    const [{ id, clientId }] = group
    const hashes = new Set(group.map(({ hash }) => hash))
    const ends = refreshTokens
      .filter(({ grantHash }) => hashes.has(grantHash ?? ''))
      .map((row) => Number(row.expiresAt))
    return {
      id,
      clientId,
      scopes: [...new Set(group.flatMap(({ scopes }) => scopes))].sort(),
      claims: group.flatMap(({ claims }) => claims),
      createdAt: new Date(Math.min(...group.map(({ createdAt }) => createdAt.getTime()))),
      expiresAt: ends.length > 0 ? new Date(Math.max(...ends)) : null,
    }
  })
  const connected = new Set(given.map(({ clientId }) => clientId))
  const idle = Map.groupBy(
    consents.filter(({ clientId }) => !connected.has(clientId)),
    ({ clientId }) => clientId,
  )
  const remembered = [...idle].map(([clientId, rows]): StoredAuthorization => {
    const createdAt = new Date(Math.min(...rows.map((row) => row.createdAt.getTime())))
    const scopes = rows.map(({ scope }) => scope)
    return { id: recordId('Consent', clientId), clientId, scopes, claims: [], createdAt, expiresAt: null }
  })
  return [...given, ...remembered].sort((a, b) => a.createdAt.getTime() - b.createdAt.getTime())
}

/**
 * Deletes an authorization of the user with all its tokens and the remembered consent. Returns the id of the client, or
 * null if the user has no such authorization.
 */
export async function deleteAuthorization(
  tx: Tx,
  seal: RecordSeal,
  userId: number,
  id: string,
): Promise<string | null> {
  const owner = BigInt(userId)
  const grants = grantsOf(seal, await tx.oauthRecord.findMany({ where: { kind: 'Grant', userId: owner } }))
  const group = byDevice(grants).find((candidates) => candidates.some((grant) => grant.id === id))
  if (group) {
    const [{ clientId }] = group
    const [ids, hashes] = [group.map((grant) => grant.id), group.map(({ hash }) => hash)]
    const where = { OR: [{ id: { in: ids } }, { grantHash: { in: hashes } }] }
    const { count } = await tx.oauthRecord.deleteMany({ where })
    await tx.oauthConsent.deleteMany({ where: { userId: owner, clientId } })
    return count > 0 ? clientId : null
  }
  const consents = await tx.oauthConsent.findMany({ where: { userId: owner }, select: { clientId: true } })
  const clientId = consents.map((consent) => consent.clientId).find((name) => recordId('Consent', name) === id)
  if (clientId === undefined) return null
  const { count } = await tx.oauthConsent.deleteMany({ where: { userId: owner, clientId } })
  return count > 0 ? clientId : null
}

/** Deletes all consents of the user, and all records of the user that the library stores. */
export async function deleteAuthorizations(tx: Tx, userId: number): Promise<void> {
  const where = { userId: BigInt(userId) }
  await tx.oauthConsent.deleteMany({ where })
  await tx.oauthRecord.deleteMany({ where })
}

/** Payload of a grant that the library stores. */
interface GrantPayload {
  jti: string
  clientId: string
  /** Unix seconds. */
  iat: number
  openid?: { scope?: string; claims?: string[] }
  resources?: Record<string, string>
  /** The OAuth session in which it was made; undefined for devices and the password grant. */
  sessionUid?: string
}

/** A grant, as users see and revoke it. */
interface OwnGrant {
  id: string
  clientId: string
  scopes: string[]
  claims: readonly string[]
  createdAt: Date
  hash: string
  device: string
}

/** Decrypts the grants of records. Omits those that no secret decrypts. */
function grantsOf(seal: RecordSeal, records: readonly SealedRecord[]): OwnGrant[] {
  return records.flatMap((record) => {
    const payload = seal.open<GrantPayload>(record)
    if (!payload) return []
    const { jti, clientId, iat, openid, resources = {}, sessionUid = jti } = payload
    const names = [openid?.scope ?? '', ...Object.values(resources)].flatMap((scope) => scope.split(' '))
    const scopes = [...new Set(names.filter((name) => name !== ''))].sort()
    return [
      {
        id: record.id,
        clientId,
        scopes,
        claims: openid?.claims ?? [],
        createdAt: new Date(iat * 1000),
        hash: recordId('grant', jti),
        device: sessionUid,
      },
    ]
  })
}

/** Groups grants: users see those of one client in one session as one connection. */
function byDevice(grants: readonly OwnGrant[]): [OwnGrant, ...OwnGrant[]][] {
  const groups = Map.groupBy(grants, ({ clientId, device }) => `${clientId}\0${device}`)
  return [...groups.values()].flatMap(([first, ...more]) => (first ? [[first, ...more]] : []))
}
