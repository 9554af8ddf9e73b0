import type { Found } from '../../identity/import-part.ts'
import { wireDate } from '../../identity/wire-date.ts'
import type { Database, Tx } from '../../platform/database/database.ts'
import { maxRowId, skipIds } from '../../platform/database/ids.ts'
import { asText, asTime, sql } from '../../platform/database/sql.ts'
import type { PersonalAccessToken } from '../../platform/generated/postgresql/client.ts'
import { storedAbilities } from '../access/abilities.ts'
import type { ImportedToken } from './imported-token.ts'
import type { ApiToken } from './token-schema.ts'
import { newSecret, secretHash } from './token-string.ts'

/** A new token: its record, and the plain text that only this response contains. */
export interface NewAccessToken {
  accessToken: ApiToken
  plainTextToken: string
}

export interface TokenFacts {
  userId: number
  name: string
  abilities: readonly string[]
  expiresAt: Date | null
  prefix: string
  /** Thumbprint of the key to which the token is bound; null for a bearer token. */
  keyThumbprint?: string | null
  now: number
}

const tokenOf = (row: PersonalAccessToken): ApiToken => ({
  id: Number(row.id),
  tokenable_type: row.tokenableType,
  tokenable_id: Number(row.tokenableId),
  name: row.name,
  abilities: storedAbilities(row.abilities),
  last_used_at: wireDate(row.lastUsedAt),
  expires_at: wireDate(row.expiresAt),
  created_at: wireDate(row.createdAt),
  updated_at: wireDate(row.updatedAt),
})

const ownedBy = (userId: number) => ({ tokenableType: 'user', tokenableId: BigInt(userId) })

/** Creates an API token. Stores only the hash of its secret. */
export async function createToken(tx: Tx, facts: TokenFacts): Promise<NewAccessToken> {
  const { columns, secret } = newToken(facts)
  const row = await tx.personalAccessToken.create({ data: columns })
  return { accessToken: tokenOf(row), plainTextToken: `${row.id}|${secret}` }
}

/** Returns the columns of a new token, and its secret. */
function newToken({ userId, name, abilities, expiresAt, prefix, keyThumbprint = null, now }: TokenFacts) {
  const secret = newSecret(prefix)
  const date = new Date(now)
  const columns = {
    ...ownedBy(userId),
    name,
    token: secretHash(secret),
    abilities: JSON.stringify(abilities),
    expiresAt,
    keyThumbprint,
    createdAt: date,
    updatedAt: date,
  }
  return { columns, secret }
}

/**
 * Does the work of `createToken` as a part of a statement on PostgreSQL that locks the user in its part `account`. Inserts
 * nothing if the user already has `max` tokens.
 */
export function tokenInsertion(facts: TokenFacts, max: number) {
  const { columns, secret } = newToken(facts)
  const { name, token, abilities, expiresAt, keyThumbprint, createdAt } = columns
  const date = asTime(createdAt)
  return {
    insertion: sql`
      INSERT INTO personal_access_tokens
        (tokenable_type, tokenable_id, name, token, abilities, expires_at, key_thumbprint, created_at, updated_at)
      SELECT 'user', id, ${asText(name)}, ${asText(token)}, ${asText(abilities)}, ${asTime(expiresAt)},
        ${asText(keyThumbprint)}, ${date}, ${date} FROM account
      WHERE (SELECT count(*) FROM personal_access_tokens WHERE tokenable_type = 'user' AND tokenable_id = account.id) < ${max}
      RETURNING id`,
    created: (id: bigint): NewAccessToken => ({
      accessToken: tokenOf({ ...columns, id, lastUsedAt: null }),
      plainTextToken: `${id}|${secret}`,
    }),
  }
}

/** The user's tokens, oldest first. */
export async function listTokens({ prisma }: Database, userId: number): Promise<ApiToken[]> {
  const rows = await prisma.personalAccessToken.findMany({ where: ownedBy(userId), orderBy: { id: 'asc' } })
  return rows.map(tokenOf)
}

/** Returns the number of the user's tokens. */
export const countTokens = (tx: Tx, userId: number): Promise<number> =>
  tx.personalAccessToken.count({ where: ownedBy(userId) })

/** Returns an expired token of the user, or the least recently used one if none has expired. */
export async function findLeastUsed(tx: Tx, userId: number, now: Date): Promise<bigint | null> {
  const select = { id: true }
  const expired = await tx.personalAccessToken.findFirst({
    where: { ...ownedBy(userId), expiresAt: { lte: now } },
    orderBy: [{ expiresAt: 'asc' }, { id: 'asc' }],
    select,
  })
  if (expired) return expired.id
  const [oldest] = await tx.$queryRaw<{ id: bigint }[]>`SELECT id FROM personal_access_tokens
    WHERE tokenable_type = 'user' AND tokenable_id = ${BigInt(userId)}
    ORDER BY COALESCE(last_used_at, created_at), id LIMIT 1`
  return oldest ? BigInt(oldest.id) : null
}

/** Deletes the user's token of this id; false when the user has none. */
export async function deleteToken(tx: Tx, userId: number, id: bigint): Promise<boolean> {
  if (id > maxRowId) return false
  const { count } = await tx.personalAccessToken.deleteMany({ where: { id, ...ownedBy(userId) } })
  return count > 0
}

/** Deletes all tokens of the user; returns the count. */
export async function deleteTokens(tx: Tx, userId: number): Promise<number> {
  return (await tx.personalAccessToken.deleteMany({ where: ownedBy(userId) })).count
}

/** A page of the user's tokens, oldest first. */
export async function pageOfTokens(
  { prisma }: Database,
  { userId, after, take }: { userId: number; after: bigint; take: number },
): Promise<ApiToken[]> {
  const where = { ...ownedBy(userId), id: { gt: after } }
  return (await prisma.personalAccessToken.findMany({ where, orderBy: { id: 'asc' }, take })).map(tokenOf)
}

/** Returns the user that a token belongs to; null for an unknown id. */
export async function ownerOfToken({ prisma }: Database, id: bigint): Promise<number | null> {
  if (id > maxRowId) return null
  const row = await prisma.personalAccessToken.findFirst({ where: { id, tokenableType: 'user' } })
  return row && Number(row.tokenableId)
}

/** Looks up imported tokens by id and hash, in their order. */
export async function findImported(tx: Tx, tokens: readonly ImportedToken[]): Promise<Found[]> {
  const where = {
    OR: [{ id: { in: tokens.map(({ id }) => id) } }, { token: { in: tokens.map(({ token }) => token) } }],
  }
  const rows = await tx.personalAccessToken.findMany({ where, select: { id: true, token: true } })
  const byId = new Map(rows.map((row) => [row.id, row.token]))
  const hashes = new Set(rows.map(({ token }) => token))
  return tokens.map(({ id, token }) => {
    const known = byId.get(id)
    if (known === token) return 'present'
    if (known !== undefined) return { conflict: 'svc has another token with this id' }
    return hashes.has(token) ? { conflict: 'svc has this token under another id' } : 'new'
  })
}

/** Stores tokens with their ids, which are part of their plain text. */
export async function insertImported(
  tx: Tx,
  tokens: readonly ImportedToken[],
  { engine }: Pick<Database, 'engine'>,
): Promise<void> {
  const data = tokens.map(({ userId, ...token }) => ({ ...token, tokenableType: 'user', tokenableId: userId }))
  await tx.personalAccessToken.createMany({ data })
  await skipIds(tx, engine, 'personal_access_tokens')
}
