import { PasskeyError } from './errors.ts'
import type { BodyOf } from './operations.ts'
import { type PasskeyCredential, page } from './page.ts'

/** The JSON of WebAuthn (sections 5.1.8 to 5.1.10): binary values are base64url texts. */
type WebAuthnJson = Record<string, unknown>
type Attestation = BodyOf<'POST', '/user/passkeys'>['credential']
type Assertion = BodyOf<'POST', '/passkeys/login'>['credential']

export const isSupported = (): boolean =>
  page.PublicKeyCredential !== undefined && page.navigator?.credentials !== undefined

/** Whether the browser suggests passkeys in the fields of a form (`autocomplete="username webauthn"`). */
export const supportsAutofill = async (): Promise<boolean> =>
  isSupported() && ((await page.PublicKeyCredential?.isConditionalMediationAvailable?.()) ?? false)

function bytesOf(text: unknown): ArrayBuffer {
  const binary = atob(String(text).replaceAll('-', '+').replaceAll('_', '/'))
  return Uint8Array.from(binary, (character) => character.charCodeAt(0)).buffer
}

function textOf(bytes: ArrayBuffer): string {
  const binary = Array.from(new Uint8Array(bytes), (byte) => String.fromCharCode(byte)).join('')
  return btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '')
}

/** Decodes the ids of users and credentials. */
const decoded = <Value>(value: Value) => ({ ...value, id: bytesOf((value as { id: string }).id) })

const listed = (list: unknown) => (Array.isArray(list) ? list : []).map(decoded)

const creationOptions = (json: WebAuthnJson): object =>
  page.PublicKeyCredential?.parseCreationOptionsFromJSON?.(json) ?? {
    ...json,
    challenge: bytesOf(json.challenge),
    user: decoded(json.user),
    excludeCredentials: listed(json.excludeCredentials),
  }

const requestOptions = (json: WebAuthnJson): object =>
  page.PublicKeyCredential?.parseRequestOptionsFromJSON?.(json) ?? {
    ...json,
    challenge: bytesOf(json.challenge),
    allowCredentials: listed(json.allowCredentials),
  }

function credentialJson(credential: PasskeyCredential): WebAuthnJson {
  // Some password managers replace the credential by an object whose toJSON throws.
  try {
    if (credential.toJSON) return credential.toJSON()
  } catch {}
  const { id, rawId, type, authenticatorAttachment, response } = credential
  const optional = (name: 'attestationObject' | 'authenticatorData' | 'signature' | 'userHandle') =>
    response[name] ? { [name]: textOf(response[name]) } : {}
  return {
    id,
    rawId: textOf(rawId),
    type,
    ...(authenticatorAttachment ? { authenticatorAttachment } : {}),
    clientExtensionResults: credential.getClientExtensionResults(),
    response: {
      clientDataJSON: textOf(response.clientDataJSON),
      ...optional('attestationObject'),
      ...(response.getTransports ? { transports: response.getTransports() } : {}),
      ...optional('authenticatorData'),
      ...optional('signature'),
      ...optional('userHandle'),
    },
  }
}

/** Tells the browser what changed, if it supports this. Nothing depends on it, so a failure has no consequence. */
export async function sendSignal(
  name: 'signalUnknownCredential' | 'signalAllAcceptedCredentials' | 'signalCurrentUserDetails',
  facts: object | null,
): Promise<void> {
  if (facts) await page.PublicKeyCredential?.[name]?.(facts).catch(() => undefined)
}

const timedOut: [PasskeyError['reason'], string] = ['timed_out', 'The time ran out.']

const reasons: Readonly<Record<string, [PasskeyError['reason'], string]>> = {
  NotAllowedError: ['cancelled', 'The user cancelled.'],
  TimeoutError: timedOut,
  InvalidStateError: ['already_registered', 'This device already has a passkey of the account.'],
  NotSupportedError: ['not_supported', 'The browser or the device does not support passkeys.'],
}

async function ceremony<Credential>(
  method: 'create' | 'get',
  publicKey: (json: WebAuthnJson) => object,
  json: WebAuthnJson,
  options: { signal?: AbortSignal | undefined; mediation?: 'conditional' },
): Promise<Credential> {
  const { signal } = options
  const credentials = isSupported() ? page.navigator?.credentials : undefined
  if (!credentials) throw new PasskeyError('not_supported', 'The browser does not support passkeys.')
  const begun = performance.now()
  try {
    const credential = await credentials[method]({ ...options, publicKey: publicKey(json) })
    if (!credential) throw new PasskeyError('failed', 'The browser returned no passkey.')
    // The ceremony decides which response the browser returns.
    return credentialJson(credential) as Credential
  } catch (error) {
    if (signal?.aborted || error instanceof PasskeyError) throw error
    const { name, message } = error as Error
    // Browsers report a timeout like a cancellation.
    const isLate = name === 'NotAllowedError' && performance.now() - begun > Number(json.timeout) - 1000
    const [reason, text] = isLate ? timedOut : (reasons[name] ?? ['failed', message])
    throw new PasskeyError(reason, text, error)
  }
}

/** Creates a passkey and returns it as JSON. */
export const createPasskey = (json: WebAuthnJson, signal: AbortSignal | undefined): Promise<Attestation> =>
  ceremony('create', creationOptions, json, { signal })

/** Signs a challenge with a passkey. With `autofill`, the browser offers it in a form field and waits. */
export const usePasskey = (
  json: WebAuthnJson,
  { signal, autofill = false }: { signal?: AbortSignal | undefined; autofill?: boolean | undefined },
): Promise<Assertion> =>
  ceremony('get', requestOptions, json, { signal, ...(autofill ? { mediation: 'conditional' as const } : {}) })
