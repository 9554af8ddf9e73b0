import type { AuthenticationResponseJSON } from '@simplewebauthn/server'
import type { Visit } from '../../auth/access/visit.ts'
import { findUserById, type UserWithPassword } from '../../identity/users.ts'
import { type Asking, takeChallenges } from './challenge-store.ts'
import { assertionOf, credentialRefused } from './credential.ts'
import { passkeyUnknown, unknownPasskey } from './errors.ts'
import { failed, logRefusal } from './failure.ts'
import { findPasskey, notePasskeyUse, type StoredPasskey } from './store.ts'
import { verifyAssertion } from './verification.ts'

/** A user who authenticated with a passkey, and whether the authenticator verified the user. */
interface VerifiedUser extends UserWithPassword {
  userVerified: boolean
}

const texts = {
  expired: 'Passkey verification session expired. Please try again.',
  refused: 'Unable to verify passkey. Please try again.',
  disabled: 'Unable to sign in with this account.',
}

/**
 * Verifies a passkey response to the challenge of the same holder; with a user, only for that user. Throws 422 for any
 * error. Always uses up the challenges first.
 */
export async function verifyPasskey(
  visit: Visit,
  credential: Record<string, unknown>,
  asking: Asking,
): Promise<VerifiedUser> {
  const { app } = visit
  const { database, clock } = app
  const { ceremony, userId } = asking
  const challenges = await takeChallenges(database, asking, clock.now())
  if (challenges.length === 0) throw credentialRefused(texts.expired)
  const response = assertionOf(credential)
  const passkey = await findPasskey(database, response.id)
  if (!passkey) throw passkeyUnknown()
  if (userId !== null && passkey.userId !== userId) {
    throw await failed(visit, { ceremony, userId, reason: 'other_user', text: unknownPasskey })
  }
  const owner = { ceremony, userId: passkey.userId } as const
  const verified = await verify(visit, response, passkey, challenges).catch(async (error: unknown) => {
    logRefusal(visit, error)
    throw await failed(visit, { ...owner, reason: 'verification', text: texts.refused })
  })
  // Read before the passkey's row is written: removing all passkeys also changes the password, which ends sessions with
  // the old one.
  const found = await findUserById(database, passkey.userId)
  if (!found) throw passkeyUnknown()
  if (found.user.disabled) throw await failed(visit, { ...owner, reason: 'disabled', text: texts.disabled })
  const { newCounter: counter, credentialBackedUp: backedUp, userVerified } = verified
  // A confirmation without user verification would be weaker than the sign-in.
  if (userId !== null && app.secondFactor.isAskedOf(found.user) && !userVerified) {
    throw await failed(visit, { ...owner, reason: 'no_user_verification', text: texts.refused })
  }
  const use = { counter, backedUp, now: clock.now() }
  const isNew = await database.transaction((tx) => notePasskeyUse(tx, passkey.id, use))
  if (!isNew) throw await failed(visit, { ...owner, reason: 'counter', text: texts.refused })
  return { ...found, userVerified }
}

async function verify(
  visit: Visit,
  response: AuthenticationResponseJSON,
  passkey: StoredPasskey,
  challenges: readonly string[],
) {
  const { app } = visit
  const { userHandle: handle } = response.response
  if (handle !== undefined && handle !== passkey.userHandle) throw new Error('the user handle does not match')
  return verifyAssertion(response, passkey, { challenges, config: app.config.current() })
}
