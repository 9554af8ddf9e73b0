import type { RequestLimit } from '../../auth/access/request-limits.ts'
import type { Visit } from '../../auth/access/visit.ts'
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
export const askingOf = (visit: Visit, ceremony: Asking['ceremony'], userId: number | null): Asking => ({
  ceremony,
  sessionHash: sha256Hex(visit.session.sessionId),
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
export async function loginOptions(visit: Visit, asking: Asking) {
  const { clock, config, database } = visit.app
  const { rp_id: rpID, user_verification: userVerification } = config.current().passkeys
  const { generateAuthenticationOptions } = await webauthn()
  const options = await generateAuthenticationOptions({ rpID, userVerification, timeout })
  await keepChallenge(database, asking, options.challenge, clock.now())
  return options
}

/** Returns the options for a ceremony with one of the user's passkeys, and stores their challenge. */
export async function userOptions(
  visit: Visit,
  ceremony: 'confirm' | 'second_factor',
  { id }: User,
  userVerification = visit.app.config.current().passkeys.user_verification,
) {
  const { clock, config, database } = visit.app
  const { rp_id: rpID } = config.current().passkeys
  const allowCredentials = await listCredentials(database, id)
  const { generateAuthenticationOptions } = await webauthn()
  const options = await generateAuthenticationOptions({ rpID, userVerification, timeout, allowCredentials })
  await keepChallenge(database, askingOf(visit, ceremony, id), options.challenge, clock.now())
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
async function creationOptions(visit: Visit, asking: Asking, owner: PasskeyOwner) {
  const { app } = visit
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
export async function registrationOptions(visit: Visit, user: User, asking = askingOf(visit, 'register', user.id)) {
  const { database } = visit.app
  return creationOptions(visit, asking, {
    handle: await userHandle(database, user.id),
    email: user.email,
    name: user.name,
    credentials: await listCredentials(database, user.id),
  })
}

/** Binds a challenge to the session of the request and to the invitation. */
export const invitationAsking = (visit: Visit, token: string): Asking => ({
  ceremony: 'invitation',
  sessionHash: sha256Hex(`${visit.session.sessionId}\0${token}`),
  userId: null,
})

/** Returns the user handle of the account that an invitation creates. Derived, so that both requests use the same one. */
export const invitedHandle = (token: string): string =>
  Buffer.from(sha256Hex(`passkey-handle\0${token}`), 'hex').toString('base64url')

/** Returns the options for the first passkey of an invited person. */
export const invitationOptions = (visit: Visit, token: string, { email, name }: { email: string; name: string }) =>
  creationOptions(visit, invitationAsking(visit, token), {
    handle: invitedHandle(token),
    email,
    name,
    credentials: [],
  })
