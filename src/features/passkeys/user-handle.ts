import type { FastifyInstance } from 'fastify'
import { constantTimeEqual } from '../../crypto/hash.ts'
import { deriveKeys } from '../../crypto/keys.ts'

const keysOf = ({ config }: FastifyInstance) => deriveKeys(config.current().app.secret, 'passkey-user')

const nameOf = (userId: number): string => `users|${userId}`

/**
 * What authenticators know the user by (WebAuthn section 14.6.1): 32 bytes that say nothing to others.
 * The oldest secret makes it: a second passkey on one authenticator is then told apart from another account's even
 * while secrets are being replaced.
 */
export function userHandle(app: FastifyInstance, userId: number): Uint8Array<ArrayBuffer> {
  const key = keysOf(app).at(-1)
  if (!key) throw new Error('User handles need a key.')
  return new Uint8Array(Buffer.from(key.sign(nameOf(userId)), 'base64url'))
}

/** Whether a handle (base64url) is this user's, under any of the secrets. */
export const isHandleOf = (app: FastifyInstance, userId: number, handle: string): boolean =>
  keysOf(app).some((key) => constantTimeEqual(key.sign(nameOf(userId)), handle))
