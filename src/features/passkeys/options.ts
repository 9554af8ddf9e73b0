import type { FastifyRequest } from 'fastify'
import { sha256Hex } from '../../crypto/hash.ts'
import type { User } from '../../users/user.ts'
import { type Asking, keepChallenge } from './challenges/store.ts'
import { listCredentials, userHandle } from './store.ts'
import { webauthn } from './webauthn.ts'

/** ES256, then RS256: every authenticator supports at least one. */
export const algorithms = [-7, -257]

/** Timeout of the browser dialogue in milliseconds. */
const timeout = 60_000

/** The session that a challenge is bound to. */
export const askingOf = (request: FastifyRequest, ceremony: Asking['ceremony'], userId: number | null): Asking => ({
  ceremony,
  sessionHash: sha256Hex(request.session.sessionId),
  userId,
})

/** Options for signing in with any passkey. */
export async function loginOptions(request: FastifyRequest) {
  const { clock, config, database } = request.server
  const { rp_id: rpID, user_verification: userVerification } = config.current().passkeys
  const { generateAuthenticationOptions } = await webauthn()
  const options = await generateAuthenticationOptions({ rpID, userVerification, timeout })
  await keepChallenge(database, askingOf(request, 'login', null), options.challenge, clock.now())
  return options
}

/** Options for confirming the session's user with one of their passkeys. */
export async function confirmOptions(request: FastifyRequest, { id }: User) {
  const { clock, config, database } = request.server
  const { rp_id: rpID, user_verification: userVerification } = config.current().passkeys
  const allowCredentials = await listCredentials(database, id)
  const { generateAuthenticationOptions } = await webauthn()
  const options = await generateAuthenticationOptions({ rpID, userVerification, timeout, allowCredentials })
  await keepChallenge(database, askingOf(request, 'confirm', id), options.challenge, clock.now())
  return options
}

/** Options for registering a passkey of the session's user. */
export async function registrationOptions(request: FastifyRequest, user: User) {
  const { server: app } = request
  const { app: about, passkeys } = app.config.current()
  const { generateRegistrationOptions } = await webauthn()
  const options = await generateRegistrationOptions({
    rpName: about.name,
    rpID: passkeys.rp_id,
    userID: new Uint8Array(Buffer.from(await userHandle(app.database, user.id), 'base64url')),
    userName: user.email,
    userDisplayName: user.name,
    attestationType: 'none',
    timeout,
    excludeCredentials: await listCredentials(app.database, user.id),
    authenticatorSelection: { residentKey: 'required', userVerification: passkeys.user_verification },
    supportedAlgorithmIDs: algorithms,
  })
  await keepChallenge(app.database, askingOf(request, 'register', user.id), options.challenge, app.clock.now())
  return options
}
