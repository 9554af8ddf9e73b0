import type { Database, Tx } from '../../../platform/database/database.ts'
import type { OauthKey } from '../../../platform/generated/postgresql/client.ts'
import { type Algorithm, algorithms } from './jwk.ts'
import { type KeyTimes, keysInOrder } from './rotation.ts'

/** A stored key, with its encrypted private JWK. */
export interface StoredKey extends KeyTimes {
  sealed: string
}

/** Returns all keys. */
export async function listKeys({ prisma }: { prisma: Pick<Tx, 'oauthKey'> }): Promise<StoredKey[]> {
  return (await prisma.oauthKey.findMany()).map(storedKeyOf)
}

/** Runs a transaction on the keys under a lock across all processes. Passes the current keys. */
export function changeKeys<T>(
  database: Database,
  now: number,
  work: (tx: Tx, keys: readonly StoredKey[]) => Promise<T>,
): Promise<T> {
  return database.transaction(async (tx) => {
    const date = new Date(now)
    // This row is the lock: a second writer waits for the first to commit, and then reads its keys.
    await tx.$executeRaw`
      INSERT INTO jobs (name, last_run_at) VALUES ('oauth-keys', ${date})
      ON CONFLICT (name) DO UPDATE SET last_run_at = excluded.last_run_at`
    return work(tx, await listKeys({ prisma: tx }))
  })
}

/** Adds a key. */
export async function insertKey(tx: Tx, { kid, algorithm, sealed, ...times }: Omit<StoredKey, 'retiredAt'>) {
  const [createdAt, signsFrom] = [new Date(times.createdAt), new Date(times.signsFrom)]
  await tx.oauthKey.create({ data: { id: kid, algorithm, privateKey: sealed, createdAt, signsFrom } })
}

/** Deletes all keys of an algorithm. The caller must insert another one in the same transaction. */
export async function deleteKeys(tx: Tx, algorithm: Algorithm): Promise<void> {
  await tx.oauthKey.deleteMany({ where: { algorithm } })
}

/** Stores for each key of an algorithm when its successor starts to sign. */
export async function updateRetirements(tx: Tx, algorithm: Algorithm): Promise<void> {
  const line = keysInOrder(await listKeys({ prisma: tx }), algorithm)
  for (const [index, { kid, retiredAt }] of line.entries()) {
    const next = line[index + 1]?.signsFrom ?? null
    if (next === retiredAt) continue
    await tx.oauthKey.update({ where: { id: kid }, data: { retiredAt: next === null ? null : new Date(next) } })
  }
}

/** Deletes the keys that retired at this time or before. */
export async function deleteRetired({ prisma }: Database, until: number): Promise<void> {
  await prisma.oauthKey.deleteMany({ where: { retiredAt: { lte: new Date(until) } } })
}

/** Replaces the encryption of a key, unless it changed since it was read. */
export async function resealKey({ prisma }: Database, { kid, sealed }: StoredKey, next: string): Promise<void> {
  await prisma.oauthKey.updateMany({ where: { id: kid, privateKey: sealed }, data: { privateKey: next } })
}

function storedKeyOf(row: OauthKey): StoredKey {
  const algorithm = algorithms.find((name) => name === row.algorithm)
  if (!algorithm) throw new Error(`The signing key ${row.id} is of the unknown algorithm ${row.algorithm}.`)
  return {
    kid: row.id,
    algorithm,
    sealed: row.privateKey,
    createdAt: row.createdAt.getTime(),
    signsFrom: row.signsFrom.getTime(),
    retiredAt: row.retiredAt?.getTime() ?? null,
  }
}
