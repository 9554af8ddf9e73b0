/** How a client authenticates by its secret. */
export interface Credentials {
  id: string
  secret: string
  method: 'client_secret_basic' | 'client_secret_post'
}

/** Credentials of an `Authorization: Basic` header (RFC 6749 section 2.3.1). */
export function basicOf(authorization: string): Credentials | null {
  const [, encoded = ''] = /^basic ([a-z0-9+/]+={0,2})$/i.exec(authorization) ?? []
  if (encoded.length % 4 !== 0) return null
  const [, id, secret] = /^([^:]*):(.*)$/s.exec(Buffer.from(encoded, 'base64').toString()) ?? []
  if (!id || !secret) return null
  try {
    return { id: decoded(id), secret: decoded(secret), method: 'client_secret_basic' }
  } catch {
    return null
  }
}

const decoded = (text: string): string => decodeURIComponent(text.replaceAll('+', '%20'))
