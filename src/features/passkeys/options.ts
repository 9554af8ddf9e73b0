import type { FastifyRequest } from 'fastify'
import type { RequestLimit } from '../../auth/access/request-limits.ts'
import type { User } from '../../identity/user.ts'
import { sha256Hex } from '../../platform/crypto/hash.ts'
import { type Asking, keepChallenge } from './challenge-store.ts'
import { listCredentials, userHandle } from './store.ts'
import { webauthn } from './webauthn.ts'

/** ES256, then RS256: every authenticator supports at least one. */
export const algorithms = [-7, -257]

/** Timeout of the browser's dialogue in milliseconds, as WebAuthn section 15.1 recommends: people look for their phone. */
const timeout = 300_000

/** Binds a challenge to the session of the request. */
export const askingOf = (request: FastifyRequest, ceremony: Asking['ceremony'], userId: number | null): Asking => ({
  ceremony,
  sessionHash: sha256Hex(request.session.sessionId),
  userId,
})

/** Binds a challenge to the challenge token of an app. With a user, it is for the registration of a passkey. */
export const tokenAsking = (challengeToken: string, userId: number | null = null): Asking => ({
  ceremony: userId === null ? 'token' : 'token_register',
  sessionHash: sha256Hex(challengeToken),
  userId,
})

/** Limit on requests for options: anyone can send them, and each one stores a challenge. */
export const challengeLimit: RequestLimit = {
  name: 'passkey-options',
  rate: { max: 60, window: 60_000 },
  by: ['address'],
}

/** Returns the options for signing in with any passkey, and stores their challenge. */
export async function loginOptions(request: FastifyRequest, asking: Asking) {
  const { clock, config, database } = request.server
  const { rp_id: rpID, user_verification: userVerification } = config.current().passkeys
  const { generateAuthenticationOptions } = await webauthn()
  const options = await generateAuthenticationOptions({ rpID, userVerification, timeout })
  await keepChallenge(database, asking, options.challenge, clock.now())
  return options
}

/** Returns the options for a ceremony with one of the user's passkeys, and stores their challenge. */
export async function userOptions(
  request: FastifyRequest,
  ceremony: 'confirm' | 'second_factor',
  { id }: User,
  userVerification = request.server.config.current().passkeys.user_verification,
) {
  const { clock, config, database } = request.server
  const { rp_id: rpID } = config.current().passkeys
  const allowCredentials = await listCredentials(database, id)
  const { generateAuthenticationOptions } = await webauthn()
  const options = await generateAuthenticationOptions({ rpID, userVerification, timeout, allowCredentials })
  await keepChallenge(database, askingOf(request, ceremony, id), options.challenge, clock.now())
  return options
}

/** The owner of a new passkey, as the authenticator shows it. */
interface PasskeyOwner {
  /** base64url. */
  handle: string
  email: string
  name: string
  credentials: { id: string; transports: string[] }[]
}

/** Returns the options for registering a passkey, and stores their challenge. */
async function creationOptions(request: FastifyRequest, asking: Asking, owner: PasskeyOwner) {
  const { server: app } = request
  const { app: about, passkeys } = app.config.current()
  // Browsers do not verify the user in a conditional registration. Each sign-in with the passkey does.
  const userVerification = asking.ceremony === 'conditional' ? 'preferred' : passkeys.user_verification
  const { generateRegistrationOptions } = await webauthn()
  const options = await generateRegistrationOptions({
    rpName: about.name,
    rpID: passkeys.rp_id,
    userID: new Uint8Array(Buffer.from(owner.handle, 'base64url')),
    userName: owner.email,
    userDisplayName: owner.name,
    attestationType: 'none',
    timeout,
    excludeCredentials: owner.credentials,
    authenticatorSelection: { residentKey: 'required', userVerification },
    supportedAlgorithmIDs: algorithms,
  })
  await keepChallenge(app.database, asking, options.challenge, app.clock.now())
  return options
}

/** Returns the options for registering a passkey of the user, by default in their session. */
export async function registrationOptions(
  request: FastifyRequest,
  user: User,
  asking = askingOf(request, 'register', user.id),
) {
  const { database } = request.server
  return creationOptions(request, asking, {
    handle: await userHandle(database, user.id),
    email: user.email,
    name: user.name,
    credentials: await listCredentials(database, user.id),
  })
}

/** Binds a challenge to the session of the request and to the invitation. */
export const invitationAsking = (request: FastifyRequest, token: string): Asking => ({
  ceremony: 'invitation',
  sessionHash: sha256Hex(`${request.session.sessionId}\0${token}`),
  userId: null,
})

/** Returns the user handle of the account that an invitation creates. Derived, so that both requests use the same one. */
export const invitedHandle = (token: string): string =>
  Buffer.from(sha256Hex(`passkey-handle\0${token}`), 'hex').toString('base64url')

/** Returns the options for the first passkey of an invited person. */
export const invitationOptions = (
  request: FastifyRequest,
  token: string,
  { email, name }: { email: string; name: string },
) =>
  creationOptions(request, invitationAsking(request, token), {
    handle: invitedHandle(token),
    email,
    name,
    credentials: [],
  })
