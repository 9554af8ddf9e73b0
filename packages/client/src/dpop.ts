/** A key pair for DPoP proofs. Its private key cannot leave the device if it is not extractable. */
export interface DpopKey {
  /** A `CryptoKey`. The types of the DOM would not compile everywhere. */
  privateKey: object
  publicKey: object
}

type Key = Parameters<typeof crypto.subtle.exportKey>[1]

const algorithm = { name: 'ECDSA', namedCurve: 'P-256' } as const

/**
 * Creates a key for the option `dpop`. The private key cannot be exported; keep the pair in IndexedDB, which stores it as it
 * is.
 */
export const createDpopKey = (): Promise<DpopKey> => crypto.subtle.generateKey(algorithm, false, ['sign', 'verify'])

const encode = (bytes: ArrayBuffer | Uint8Array<ArrayBuffer>): string =>
  btoa(String.fromCharCode(...new Uint8Array(bytes)))
    .replace(/\+/g, '-')
    .replace(/\//g, '_')
    .replace(/=+$/, '')

const encodeText = (text: string): string => encode(new TextEncoder().encode(text))

/** Returns a proof (RFC 9449 section 4.2) for one request; `token` is the token that the request sends, or null. */
export async function dpopProof(
  { privateKey, publicKey }: DpopKey,
  { method, url, token }: { method: string; url: string; token: string | null },
): Promise<string> {
  const { kty, crv, x, y } = await crypto.subtle.exportKey('jwk', publicKey as Key)
  const { origin, pathname } = new URL(url)
  const hash = token === null ? null : await crypto.subtle.digest('SHA-256', new TextEncoder().encode(token))
  const header = { typ: 'dpop+jwt', alg: 'ES256', jwk: { kty, crv, x, y } }
  const claims = {
    jti: crypto.randomUUID(),
    htm: method,
    htu: origin + pathname,
    iat: Math.floor(Date.now() / 1000),
    ...(hash === null ? {} : { ath: encode(hash) }),
  }
  const text = `${encodeText(JSON.stringify(header))}.${encodeText(JSON.stringify(claims))}`
  const signature = await crypto.subtle.sign(
    { name: 'ECDSA', hash: 'SHA-256' },
    privateKey as Key,
    new TextEncoder().encode(text),
  )
  return `${text}.${encode(signature)}`
}
