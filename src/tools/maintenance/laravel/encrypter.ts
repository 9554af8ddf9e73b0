import { createDecipheriv, createHmac, timingSafeEqual } from 'node:crypto'

/** The fields of an encrypted value. */
interface Envelope {
  iv: Buffer
  value: Buffer
  /** HMAC of `signed`, with AES-CBC. */
  mac: Buffer
  /** The base64 texts of `iv` and `value`. */
  signed: string
  /** Authentication tag, with AES-GCM. */
  tag: Buffer
}

/** Reads `APP_KEY` of Laravel, such as `base64:…`; null unless it has 16 or 32 bytes. */
export function laravelKey(text: string): Buffer | null {
  const key = text.startsWith('base64:') ? Buffer.from(text.slice('base64:'.length), 'base64') : Buffer.from(text)
  return key.length === 16 || key.length === 32 ? key : null
}

/**
 * Decrypts text that Laravel encrypted with `encrypt()`: AES-CBC with HMAC-SHA256, or AES-GCM. Returns null if no key
 * fits or the value was modified.
 */
export function decryptLaravel(encrypted: string, keys: readonly Buffer[]): string | null {
  const envelope = envelopeOf(encrypted)
  if (!envelope) return null
  for (const key of keys) {
    const text = envelope.tag.length > 0 ? openGcm(envelope, key) : openCbc(envelope, key)
    if (text !== null) return unserialized(text)
  }
  return null
}

function envelopeOf(encrypted: string): Envelope | null {
  try {
    const { iv, value, mac, tag } = JSON.parse(Buffer.from(encrypted, 'base64').toString())
    if (typeof iv !== 'string' || typeof value !== 'string') return null
    const [hex, tagText] = [typeof mac === 'string' ? mac : '', typeof tag === 'string' ? tag : '']
    return {
      iv: Buffer.from(iv, 'base64'),
      value: Buffer.from(value, 'base64'),
      mac: Buffer.from(hex, 'hex'),
      signed: `${iv}${value}`,
      tag: Buffer.from(tagText, 'base64'),
    }
  } catch {
    return null
  }
}

function openCbc({ iv, value, mac, signed }: Envelope, key: Buffer): string | null {
  const expected = createHmac('sha256', key).update(signed).digest()
  if (mac.length !== expected.length || !timingSafeEqual(mac, expected)) return null
  return opened(() => {
    const decipher = createDecipheriv(`aes-${key.length * 8}-cbc`, key, iv)
    return Buffer.concat([decipher.update(value), decipher.final()])
  })
}

function openGcm({ iv, value, tag }: Envelope, key: Buffer): string | null {
  return opened(() => {
    const cipher = key.length === 32 ? 'aes-256-gcm' : 'aes-128-gcm'
    const decipher = createDecipheriv(cipher, key, iv, { authTagLength: 16 }).setAuthTag(tag)
    return Buffer.concat([decipher.update(value), decipher.final()])
  })
}

function opened(decrypt: () => Buffer): string | null {
  try {
    return decrypt().toString()
  } catch {
    // Another key, or a malformed value.
    return null
  }
}

/** Returns a string as PHP's `serialize` wrote it, `s:<bytes>:"…";`, or the text of `encryptString()` itself. */
function unserialized(text: string): string | null {
  const [, length, content] = /^s:(\d+):"(.*)";$/s.exec(text) ?? []
  if (content === undefined) return /^[a-zA-Z]:/.test(text) ? null : text
  return Buffer.byteLength(content) === Number(length) ? content : null
}
