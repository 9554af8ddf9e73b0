import type { AuthenticationResponseJSON } from '@simplewebauthn/server'
import type { FastifyRequest } from 'fastify'
import { findUserById, type UserWithPassword } from '../../users/users.ts'
import { takeChallenges } from './challenges/store.ts'
import { assertionOf, credentialRefused } from './credential.ts'
import { failed, logRefusal } from './failure.ts'
import { askingOf } from './options.ts'
import { findPasskey, notePasskeyUse, type StoredPasskey } from './store.ts'
import { verifyAssertion } from './verification.ts'

/** Somebody who proved to hold a passkey, and whether the authenticator verified that it is its user. */
interface Proof extends UserWithPassword {
  userVerified: boolean
}

const texts = {
  expired: 'Passkey verification session expired. Please try again.',
  unknown: 'Passkey not recognized. It may have been removed from your account.',
  refused: 'Unable to verify passkey. Please try again.',
  disabled: 'Unable to sign in with this account.',
}

/**
 * Who answered this session's challenge with a passkey: anybody, or, where `userId` says so, that user alone.
 * Whatever is wrong throws 422 at the credential; the challenges are used up before anything of it is looked at.
 */
export async function proveByPasskey(
  request: FastifyRequest,
  credential: Record<string, unknown>,
  userId: number | null,
): Promise<Proof> {
  const { server: app } = request
  const { database, clock } = app
  const ceremony = userId === null ? 'login' : 'confirm'
  const challenges = await takeChallenges(database, askingOf(request, ceremony, userId), clock.now())
  if (challenges.length === 0) throw credentialRefused(texts.expired)
  const response = assertionOf(credential)
  const passkey = await findPasskey(database, response.id)
  if (!passkey) throw credentialRefused(texts.unknown)
  if (userId !== null && passkey.userId !== userId) {
    throw await failed(request, { ceremony, userId, reason: 'other_user', text: texts.unknown })
  }
  const owner = { ceremony, userId: passkey.userId } as const
  const verified = await verify(request, response, passkey, challenges).catch(async (error: unknown) => {
    logRefusal(request, error)
    throw await failed(request, { ...owner, reason: 'verification', text: texts.refused })
  })
  // Read before the passkey's row is written: what removes all passkeys also changes the password, which ends sessions
  // that begin with the old one.
  const found = await findUserById(database, passkey.userId)
  if (!found) throw credentialRefused(texts.unknown)
  if (found.user.disabled) throw await failed(request, { ...owner, reason: 'disabled', text: texts.disabled })
  const { newCounter: counter, credentialBackedUp: backedUp, userVerified } = verified
  // A confirmation without it would be worth less than the sign-in was.
  if (userId !== null && app.secondFactor.isAskedOf(found.user) && !userVerified) {
    throw await failed(request, { ...owner, reason: 'no_user_verification', text: texts.refused })
  }
  const use = { counter, backedUp, now: clock.now() }
  const isNew = await database.transaction((tx) => notePasskeyUse(tx, passkey.id, use))
  if (!isNew) throw await failed(request, { ...owner, reason: 'counter', text: texts.refused })
  return { ...found, userVerified }
}

async function verify(
  request: FastifyRequest,
  response: AuthenticationResponseJSON,
  passkey: StoredPasskey,
  challenges: readonly string[],
) {
  const { server: app } = request
  const { userHandle: handle } = response.response
  if (handle !== undefined && handle !== passkey.userHandle) throw new Error('the user handle is another')
  return verifyAssertion(response, passkey, { challenges, passkeys: app.config.current().passkeys })
}
