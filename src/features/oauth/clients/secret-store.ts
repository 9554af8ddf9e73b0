import { sha256Hex } from '../../../platform/crypto/hash.ts'
import type { Database } from '../../../platform/database/database.ts'

/** Id of a secret's row, from the hash of the secret. The row does not tell the hash. */
const idOf = (clientId: string, hash: string): string => sha256Hex(`${clientId}\0${hash}`)

/** Notes that a client authenticated with a secret. */
export async function noteSecretUse({ prisma }: Database, clientId: string, hash: string, now: number): Promise<void> {
  await prisma.$executeRaw`
    INSERT INTO oauth_secret_uses (id, used_at) VALUES (${idOf(clientId, hash)}, ${BigInt(now)})
    ON CONFLICT (id) DO UPDATE SET used_at = excluded.used_at`
}

/** Returns when a client last used each of its secrets; null for one that it did not use. */
export async function secretUses(
  { prisma }: Database,
  clientId: string,
  hashes: readonly string[],
): Promise<(Date | null)[]> {
  const ids = hashes.map((hash) => idOf(clientId, hash))
  const rows = await prisma.oauthSecretUse.findMany({ where: { id: { in: ids } } })
  const times = new Map(rows.map(({ id, usedAt }) => [id, new Date(Number(usedAt))]))
  return ids.map((id) => times.get(id) ?? null)
}

/** How long svc remembers the use of a secret, in milliseconds. */
const keptFor = 400 * 86_400_000

/** Deletes old uses of secrets, also of those that were replaced. */
export async function pruneSecretUses({ prisma }: Database, now: number): Promise<void> {
  await prisma.oauthSecretUse.deleteMany({ where: { usedAt: { lt: BigInt(now - keptFor) } } })
}
