import type { FastifyRequest } from 'fastify'
import { requireStillSignedIn } from '../../login/still-signed-in.ts'
import { eventContext, recordEvent } from '../../users/events.ts'
import { notify } from '../../users/notices.ts'
import type { User } from '../../users/user.ts'
import { takeChallenges } from './challenges/store.ts'
import { attestationOf, credentialRefused } from './credential.ts'
import { failed, logRefusal } from './failure.ts'
import { askingOf } from './options.ts'
import { insertPasskey } from './store.ts'
import { verifyAttestation } from './verification.ts'

/**
 * Registers a passkey for the session's user and returns its id. Throws 422 for any error. Always uses up the
 * challenges first.
 */
export async function registerPasskey(
  request: FastifyRequest,
  user: User,
  { name, credential }: { name: string; credential: Record<string, unknown> },
): Promise<bigint> {
  const { server: app } = request
  const { clock, config, database } = app
  const challenges = await takeChallenges(database, askingOf(request, 'register', user.id), clock.now())
  if (challenges.length === 0) throw credentialRefused('Passkey registration session expired. Please try again.')
  const response = attestationOf(credential)
  const expected = { challenges, passkeys: config.current().passkeys }
  const verified = await verifyAttestation(response, expected).catch(async (error: unknown) => {
    logRefusal(request, error)
    const text = 'Unable to register passkey. Please try again.'
    throw await failed(request, { ceremony: 'register', userId: user.id, reason: 'verification', text })
  })
  const { id: credentialId, publicKey, counter } = verified.credential
  const passkey = {
    ...{ userId: user.id, name, credentialId, publicKey, counter, now: clock.now() },
    ...{ transports: response.response.transports ?? [], backedUp: verified.credentialBackedUp },
  }
  const origin = eventContext(request)
  const id = await database.transaction(async (tx) => {
    await requireStillSignedIn(tx, request)
    const inserted = await insertPasskey(tx, passkey)
    if (inserted === null) return null
    const data = { passkey_id: Number(inserted), backed_up: passkey.backedUp }
    await recordEvent(tx, origin, { type: 'passkey_registered', userId: user.id, data })
    await notify(app, tx, origin, user, 'passkey_added')
    return inserted
  })
  if (id === null) throw credentialRefused('This passkey is already registered.')
  return id
}
