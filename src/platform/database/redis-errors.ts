import { connect } from 'node:net'
import { certificateHint } from '../crypto/tls-errors.ts'

/** The address of Redis, and whether a connection to it worked before. */
export interface RedisState {
  url: string | null
  worked: boolean
}

/** Adds hints about TLS to the text about failed connections. */
export function explainRedisErrors(text: string, errors: readonly Error[], state: RedisState): string {
  const hints = new Set(errors.map((error) => hintFor(error, state)).filter((hint) => hint !== null))
  return [text.trim().replace(/\.$/, ''), ...hints].join('. ')
}

/** How long svc waits for the first words of a server, in milliseconds. */
const patience = 500

/**
 * Returns what a server says before it closes a connection without TLS, such as a Redis in protected mode; null if it says
 * nothing. The library cannot read it, because its own first command resets the connection.
 */
export function firstWords(text: string): Promise<string | null> {
  const { protocol, hostname, port } = new URL(text)
  if (protocol !== 'redis:') return Promise.resolve(null)
  return new Promise((resolve) => {
    const socket = connect({ host: hostname.replace(/^\[|\]$/g, ''), port: Number(port || 6379), timeout: patience })
    const end = (words: string | null) => {
      socket.destroy()
      resolve(words)
    }
    socket.once('data', (data) => end(/^-([^\r\n.]{1,300})/.exec(data.toString())?.[1] ?? null))
    for (const event of ['error', 'close', 'timeout']) socket.once(event, () => end(null))
  })
}

function hintFor(error: NodeJS.ErrnoException, { url, worked }: RedisState): string | null {
  const hint = certificateHint(error, 'NODE_EXTRA_CA_CERTS')
  if (hint !== null) return hint
  const { code = '', message } = error
  // An outage causes the same errors, so there is no hint if a connection worked before.
  if (worked || !/ETIMEDOUT|ECONNRESET|EPIPE|CERTIFICATE_REQUIRED|no answer/.test(`${code} ${message}`)) return null
  return url?.startsWith('rediss:')
    ? 'With rediss://, Redis and the sentinels must use TLS, and must not require client certificates (tls-auth-clients no)'
    : 'If Redis or the sentinels require TLS, use rediss://'
}
