import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server'
import type { Config } from '../../config/schema.ts'
import { sha256Hex } from '../../crypto/hash.ts'
import { algorithms } from './options.ts'
import type { StoredPasskey } from './store.ts'
import { decoders, webauthn } from './webauthn.ts'

/** What an answer is checked against: the hashes of the challenges that waited for it, and the configuration. */
interface Expected {
  /** SHA-256 (hex). */
  challenges: readonly string[]
  passkeys: Config['passkeys']
}

/** What is the same in both ceremonies. */
const common = ({ challenges, passkeys }: Expected) => ({
  expectedChallenge: (challenge: string): boolean => {
    // Said in our own words: the library's would put the challenge in the log.
    if (!challenges.includes(sha256Hex(challenge))) throw new Error('the challenge is not one of those that waited')
    return true
  },
  expectedOrigin: [...passkeys.origins],
  expectedRPID: passkeys.rp_id,
  requireUserVerification: passkeys.user_verification === 'required',
})

/** A page of ours inside somebody else's: what its user touched may have been painted over. */
async function refuseEmbedded(clientDataJSON: string): Promise<void> {
  const { decodeClientDataJSON } = await decoders()
  const { crossOrigin, topOrigin } = decodeClientDataJSON(clientDataJSON)
  if (crossOrigin || topOrigin !== undefined) throw new Error('the page was embedded in another origin')
}

/**
 * Only what was asked for: no attestation, or a key that vouches for itself (WebAuthn section 5.1.3).
 * Certificates prove nothing that is asked here, and looking into them would fetch whatever addresses they name.
 */
async function refuseCertificates(attestationObject: string): Promise<void> {
  const { decodeAttestationObject } = await decoders()
  const attestation = decodeAttestationObject(new Uint8Array(Buffer.from(attestationObject, 'base64url')))
  const format = attestation.get('fmt')
  if (format === 'none' || (format === 'packed' && attestation.get('attStmt').get('x5c') === undefined)) return
  throw new Error('the attestation has a format that was not asked for')
}

/** Verifies an assertion (WebAuthn section 7.2) but for the counter; throws an error that says why it is not good. */
export async function verifyAssertion(
  response: AuthenticationResponseJSON,
  passkey: StoredPasskey,
  expected: Expected,
) {
  await refuseEmbedded(response.response.clientDataJSON)
  const { verifyAuthenticationResponse } = await webauthn()
  const { verified, authenticationInfo } = await verifyAuthenticationResponse({
    ...common(expected),
    response,
    // Its counter is compared when it is stored, by one conditional write: here two at once would both fit.
    credential: { id: passkey.credentialId, publicKey: passkey.publicKey, counter: 0 },
  })
  if (!verified) throw new Error('the signature does not fit')
  return authenticationInfo
}

/** Verifies a new credential (WebAuthn section 7.1); throws an error that says why it is not good. */
export async function verifyAttestation(response: RegistrationResponseJSON, expected: Expected) {
  await refuseEmbedded(response.response.clientDataJSON)
  await refuseCertificates(response.response.attestationObject)
  const { verifyRegistrationResponse } = await webauthn()
  const { verified, registrationInfo } = await verifyRegistrationResponse({
    ...common(expected),
    response,
    supportedAlgorithmIDs: algorithms,
  })
  if (!verified) throw new Error('the attestation does not fit')
  if (registrationInfo.credential.id !== response.id) throw new Error('the credential has another id')
  return registrationInfo
}
