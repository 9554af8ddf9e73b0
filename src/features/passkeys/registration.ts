import type { Visit } from '../../auth/access/visit.ts'
import { requireStillSignedIn } from '../../auth/sign-in/still-signed-in.ts'
import { recordEvent } from '../../identity/events.ts'
import { notify } from '../../identity/notices.ts'
import type { User } from '../../identity/user.ts'
import { forbidden } from '../../platform/errors.ts'
import { type Asking, takeChallenges } from './challenge-store.ts'
import { attestationOf, credentialRefused } from './credential.ts'
import { failed, logRefusal } from './failure.ts'
import { askingOf } from './options.ts'
import { countPasskeys, hasPasskey, insertPasskey } from './store.ts'
import { verifyAttestation } from './verification.ts'

/**
 * Verifies the response to a registration, and returns the passkey without its owner. Throws 422 for any error; `refused`
 * makes the error of a failed verification. Always uses up the challenges first.
 */
export async function attestedPasskey(
  visit: Visit,
  asking: Asking,
  { name, credential }: { name: string; credential: Record<string, unknown> },
  refused: (text: string) => Promise<Error>,
) {
  const { clock, config, database } = visit.app
  const challenges = await takeChallenges(database, asking, clock.now())
  if (challenges.length === 0) throw credentialRefused('Passkey registration session expired. Please try again.')
  const response = attestationOf(credential)
  const expected = { challenges, config: config.current() }
  const isConditional = asking.ceremony === 'conditional'
  const verified = await verifyAttestation(response, expected, { isConditional }).catch(async (error: unknown) => {
    logRefusal(visit, error)
    throw await refused('Unable to register passkey. Please try again.')
  })
  const { id: credentialId, publicKey, counter } = verified.credential
  const transports = response.response.transports ?? []
  const passkey = { name, credentialId, publicKey, counter, transports, backedUp: verified.credentialBackedUp }
  return { passkey: { ...passkey, now: clock.now() }, userVerified: verified.userVerified }
}

/** Maximum number of passkeys of a user. Lists and the options of a registration contain all of them. */
const maxPasskeys = 100

/**
 * Registers a passkey for the user, by default in their session, and returns its id. Throws 422 for any error. Always
 * uses up the challenges first.
 */
export async function registerPasskey(
  visit: Visit,
  user: User,
  { name, credential }: { name: string; credential: Record<string, unknown> },
  asking = askingOf(visit, 'register', user.id),
): Promise<bigint> {
  const { app } = visit
  const { database } = app
  const { passkey: attested } = await attestedPasskey(visit, asking, { name, credential }, (text) =>
    failed(visit, { ceremony: asking.ceremony, userId: user.id, reason: 'verification', text }),
  )
  const passkey = { ...attested, userId: user.id }
  const origin = visit.origin
  const id = await database.transaction(async (tx) => {
    await requireStillSignedIn(tx, visit)
    if (asking.ceremony === 'conditional' && (await hasPasskey({ prisma: tx }, user.id))) throw forbidden()
    // The user is locked, so concurrent registrations count one after the other.
    if ((await countPasskeys(tx, user.id)) >= maxPasskeys) {
      throw credentialRefused(`This account already has ${maxPasskeys} passkeys. Delete one first.`)
    }
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
