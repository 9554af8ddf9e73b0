import { createHmac } from 'node:crypto'

const prefix = 'whsec_'

/** Bytes of a secret: `whsec_` and base64, or the text itself. */
const keyOf = (secret: string): Buffer =>
  secret.startsWith(prefix) ? Buffer.from(secret.slice(prefix.length), 'base64') : Buffer.from(secret)

/** Returns the headers that identify and sign a message, with one signature per secret (Standard Webhooks). */
export function signedHeaders(id: string, body: string, secrets: readonly string[], now: number) {
  const timestamp = String(Math.floor(now / 1000))
  const signatures = secrets.map((secret) => {
    const mac = createHmac('sha256', keyOf(secret)).update(`${id}.${timestamp}.${body}`)
    return `v1,${mac.digest('base64')}`
  })
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') }
}
