import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server'
import { validationFailed } from '../../platform/errors.ts'

/** Maximum length of a credential id: 1023 bytes (WebAuthn section 4) in base64url. */
const maxIdLength = 1364

/** Maximum length of a field; longer than any client data or assertion. The body limit applies to attestations. */
const maxLength = 100_000

const maxHandleLength = 86

const knownTransports = ['ble', 'cable', 'hybrid', 'internal', 'nfc', 'smart-card', 'usb'] as const

const isMapping = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const isBase64url = (value: unknown, most: number): value is string =>
  typeof value === 'string' && value.length <= most && /^[\w-]+$/.test(value)

/** 422 on the field `credential`. */
export const credentialRefused = (text: string) => validationFailed({ credential: [text] })

/** Fields of both kinds of credentials; null for an invalid one. */
function partsOf({ id, rawId, type, response }: Record<string, unknown>) {
  if (!isBase64url(id, maxIdLength) || id !== rawId || type !== 'public-key' || !isMapping(response)) return null
  const { clientDataJSON } = response
  return isBase64url(clientDataJSON, maxLength) ? { id, response, clientDataJSON } : null
}

/** Returns the assertion in a body, with only the verified fields. Throws 422 for an invalid one. */
export function assertionOf(credential: Record<string, unknown>): AuthenticationResponseJSON {
  const parts = partsOf(credential)
  const { authenticatorData, signature, userHandle } = parts?.response ?? {}
  const hasHandle = userHandle !== undefined && userHandle !== null
  if (
    !parts ||
    !isBase64url(authenticatorData, maxLength) ||
    !isBase64url(signature, maxLength) ||
    (hasHandle && !isBase64url(userHandle, maxHandleLength))
  ) {
    throw credentialRefused('Invalid credential format.')
  }
  const { id, clientDataJSON } = parts
  const response = { clientDataJSON, authenticatorData, signature, ...(hasHandle ? { userHandle } : {}) }
  return { id, rawId: id, type: 'public-key', response, clientExtensionResults: {} }
}

/** Returns the attestation in a body, with only the verified or stored fields. Throws 422 for an invalid one. */
export function attestationOf(credential: Record<string, unknown>): RegistrationResponseJSON {
  const parts = partsOf(credential)
  const { attestationObject, transports } = parts?.response ?? {}
  if (!parts || !isBase64url(attestationObject, maxLength)) throw credentialRefused('Invalid credential format.')
  const { id, clientDataJSON } = parts
  const given = Array.isArray(transports) ? transports : []
  const known = knownTransports.filter((transport) => given.includes(transport))
  const response = { clientDataJSON, attestationObject, transports: known }
  return { id, rawId: id, type: 'public-key', response, clientExtensionResults: {} }
}
