import type { Database, Tx } from '../../../platform/database/database.ts'

/** An agent that acted for a user. */
export interface Delegation {
  clientId: string
  scopes: string[]
  createdAt: Date
  usedAt: Date
  /** When the user ended it; null if it may act. */
  endedAt: Date | null
}

const keyOf = (userId: number | bigint, clientId: string) => ({ userId_clientId: { userId: BigInt(userId), clientId } })

/** Notes that an agent got a token for a user; false if the user ended the agent. */
export async function noteDelegation(
  tx: Tx,
  { userId, clientId, scopes, now }: { userId: number; clientId: string; scopes: readonly string[]; now: number },
): Promise<boolean> {
  const [owner, text, at] = [BigInt(userId), scopes.join(' '), BigInt(now)]
  const changed = await tx.$executeRaw`
    INSERT INTO oauth_delegations (user_id, client_id, scopes, created_at, used_at, valid_from)
    VALUES (${owner}, ${clientId}, ${text}, ${at}, ${at}, 0)
    ON CONFLICT (user_id, client_id) DO UPDATE SET scopes = ${text}, used_at = ${at}
    WHERE oauth_delegations.ended_at IS NULL`
  return changed > 0
}

/** Tests whether the user ended one of these agents, or ended it after a token was issued (unix ms). */
export async function isEnded(
  { prisma }: Database,
  userId: bigint,
  agents: readonly string[],
  issuedAt: number,
): Promise<boolean> {
  const found = await prisma.oauthDelegation.count({
    where: {
      userId,
      clientId: { in: [...agents] },
      OR: [{ endedAt: { not: null } }, { validFrom: { gt: BigInt(issuedAt) } }],
    },
  })
  return found > 0
}

/** Returns the agents that acted for a user, those used last first. */
export async function listDelegations({ prisma }: Database, userId: number): Promise<Delegation[]> {
  const rows = await prisma.oauthDelegation.findMany({
    where: { userId: BigInt(userId) },
    orderBy: [{ usedAt: 'desc' }, { clientId: 'asc' }],
  })
  const date = (at: bigint) => new Date(Number(at))
  return rows.map(({ clientId, scopes, createdAt, usedAt, endedAt }) => ({
    clientId,
    scopes: scopes === '' ? [] : scopes.split(' '),
    createdAt: date(createdAt),
    usedAt: date(usedAt),
    endedAt: endedAt === null ? null : date(endedAt),
  }))
}

/** Ends an agent of a user with all its tokens; false if it may not act anyway. */
export async function endDelegation(tx: Tx, userId: number, clientId: string, now: number): Promise<boolean> {
  // Times in tokens are whole seconds, so that one of the same second counts as earlier.
  const validFrom = BigInt(Math.floor(now / 1000) * 1000 + 1)
  const { count } = await tx.oauthDelegation.updateMany({
    where: { userId: BigInt(userId), clientId, endedAt: null },
    data: { endedAt: BigInt(now), validFrom },
  })
  return count > 0
}

/** Lets an agent act for a user again, with new tokens; false if it may act already. */
export async function allowDelegation(tx: Tx, userId: number, clientId: string): Promise<boolean> {
  const where = { userId: BigInt(userId), clientId, endedAt: { not: null } }
  return (await tx.oauthDelegation.updateMany({ where, data: { endedAt: null } })).count > 0
}

/** Returns whether an agent acted for a user before. */
export const isKnown = async (tx: Tx, userId: number, clientId: string): Promise<boolean> =>
  // PostgreSQL stores no text with this character.
  !clientId.includes('\0') &&
  (await tx.oauthDelegation.findUnique({ where: keyOf(userId, clientId), select: { clientId: true } })) !== null
