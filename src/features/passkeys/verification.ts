import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server'
import type { Config } from '../../platform/config/schema.ts'
import { sha256Hex } from '../../platform/crypto/hash.ts'
import { algorithms } from './options.ts'
import { allowedOrigins, OriginRefused } from './origins.ts'
import type { StoredPasskey } from './store.ts'
import { decoders, webauthn } from './webauthn.ts'

/** Expected values: hashes of the open challenges, and the configuration. */
interface Expected {
  /** SHA-256 (hex). */
  challenges: readonly string[]
  config: Config
}

/** Options of both ceremonies. */
const common = ({ challenges, config }: Expected) => ({
  expectedChallenge: (challenge: string): boolean => {
    // A separate message, because the library's would log the challenge.
    if (!challenges.includes(sha256Hex(challenge))) throw new Error('the challenge is unknown or expired')
    return true
  },
  expectedOrigin: allowedOrigins(config),
  expectedRPID: config.passkeys.rp_id,
  requireUserVerification: config.passkeys.user_verification === 'required',
})

/** Rejects other origins, and embedded pages, where the user may have been tricked into the gesture. */
async function refuseOtherPages(clientDataJSON: string, config: Config): Promise<void> {
  const { decodeClientDataJSON } = await decoders()
  const { origin, crossOrigin, topOrigin } = decodeClientDataJSON(clientDataJSON)
  // The library checks this too. Its error does not say which key of the configuration to change.
  if (!allowedOrigins(config).includes(origin)) throw new OriginRefused(String(origin))
  if (crossOrigin || topOrigin !== undefined) throw new Error('the page was embedded in another origin')
}

/**
 * Accepts only requested formats: none, or self attestation (WebAuthn section 5.1.3). Certificates add nothing here,
 * and checking them would fetch arbitrary URLs.
 */
async function refuseCertificates(attestationObject: string): Promise<void> {
  const { decodeAttestationObject } = await decoders()
  const attestation = decodeAttestationObject(new Uint8Array(Buffer.from(attestationObject, 'base64url')))
  const format = attestation.get('fmt')
  if (format === 'none' || (format === 'packed' && attestation.get('attStmt').get('x5c') === undefined)) return
  throw new Error('the attestation format was not requested')
}

/** Verifies an assertion (WebAuthn section 7.2) except the counter. Throws an error with the reason. */
export async function verifyAssertion(
  response: AuthenticationResponseJSON,
  passkey: StoredPasskey,
  expected: Expected,
) {
  await refuseOtherPages(response.response.clientDataJSON, expected.config)
  const { verifyAuthenticationResponse } = await webauthn()
  const { verified, authenticationInfo } = await verifyAuthenticationResponse({
    ...common(expected),
    response,
    // A conditional write compares the counter later; here two concurrent uses would both pass.
    credential: { id: passkey.credentialId, publicKey: passkey.publicKey, counter: 0 },
  })
  if (!verified) throw new Error('the signature is invalid')
  return authenticationInfo
}

/**
 * Verifies a new credential (WebAuthn section 7.1). A conditional registration has neither user presence nor user
 * verification. Throws an error with the reason.
 */
export async function verifyAttestation(
  response: RegistrationResponseJSON,
  expected: Expected,
  { isConditional }: { isConditional: boolean },
) {
  await refuseOtherPages(response.response.clientDataJSON, expected.config)
  await refuseCertificates(response.response.attestationObject)
  const { verifyRegistrationResponse } = await webauthn()
  const { verified, registrationInfo } = await verifyRegistrationResponse({
    ...common(expected),
    ...(isConditional ? { requireUserPresence: false, requireUserVerification: false } : {}),
    response,
    supportedAlgorithmIDs: algorithms,
  })
  if (!verified) throw new Error('the attestation is invalid')
  if (registrationInfo.credential.id !== response.id) throw new Error('the credential id does not match')
  return registrationInfo
}
