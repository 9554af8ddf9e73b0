import type { FastifyRequest } from 'fastify'
import { sha256Hex } from '../../platform/crypto/hash.ts'
import { deriveKeys } from '../../platform/crypto/keys.ts'
import { deleteOutdated } from '../../platform/database/batches.ts'
import type { Database, Tx } from '../../platform/database/database.ts'
import { HttpError, validationFailed } from '../../platform/errors.ts'
import { callerOf } from './caller.ts'

/** How long a repeated request counts as the same, in milliseconds. */
const ttl = 86_400_000

/** A record that this request created or, with `isReplay`, that an equal request created before. */
interface Creation {
  id: number
  isReplay: boolean
}

/** 422 for a key of another request, or of a record that was deleted since. */
export const keyReused = (): HttpError =>
  new HttpError(422, 'idempotency_key_reused', 'The Idempotency-Key was used before. Send a new key.')

/** Returns the key of the request, or null. Throws 422 for an invalid one. */
function keyOf({ headers }: FastifyRequest): string | null {
  const key = headers['idempotency-key']
  if (key === undefined) return null
  if (typeof key === 'string' && /^[\x21-\x7e]{1,255}$/.test(key)) return key
  throw validationFailed({ idempotency_key: ['The Idempotency-Key must have 1 to 255 printable ASCII characters.'] })
}

/** Serialises a body with its fields in the order of their names, so that equal bodies have equal text. */
function textOf(body: unknown): string {
  const fields = Object.entries(Object(body)).sort(([a], [b]) => (a < b ? -1 : 1))
  return JSON.stringify(fields)
}

/**
 * Creates a record in a transaction, at most once for the header `Idempotency-Key`. A request that repeats the key gets the
 * record of the first one. Throws 422 if it differs from the first one. The key belongs to the caller and the operation.
 */
export async function createOnce(request: FastifyRequest, create: (tx: Tx) => Promise<number>): Promise<Creation> {
  const { database, clock, config } = request.server
  const key = keyOf(request)
  if (key === null) return { id: await database.transaction(create), isReplay: false }
  const caller = callerOf(request)
  const owner = caller.user ? `user:${caller.user.id}` : `client:${'clientId' in caller ? caller.clientId : ''}`
  const id = sha256Hex([owner, request.routeOptions.schema?.operationId, key].join('\0'))
  // Keyed hashes, because the body can contain a password.
  const marks = deriveKeys(config.current().app.secret, 'idempotency').map((mac) => mac.sign(textOf(request.body)))
  const now = clock.now()
  return database.transaction(async (tx) => {
    await tx.$executeRaw`DELETE FROM idempotency_keys WHERE id = ${id} AND expires_at <= ${new Date(now)}`
    // An equal request at the same time waits here until this one commits.
    const isFirst = await tx.$executeRaw`
      INSERT INTO idempotency_keys (id, request, record, expires_at)
      VALUES (${id}, ${marks[0] ?? ''}, ${0n}, ${new Date(now + ttl)})
      ON CONFLICT (id) DO NOTHING`
    if (isFirst > 0) {
      const created = await create(tx)
      await tx.idempotencyKey.update({ where: { id }, data: { record: BigInt(created) } })
      return { id: created, isReplay: false }
    }
    const before = await tx.idempotencyKey.findUniqueOrThrow({ where: { id } })
    if (!marks.includes(before.request)) throw keyReused()
    return { id: Number(before.record), isReplay: true }
  })
}

/** Deletes expired keys. */
export async function pruneIdempotencyKeys(database: Database, now: number): Promise<void> {
  await deleteOutdated(database, { table: 'idempotency_keys', date: 'expires_at', before: new Date(now) })
}
