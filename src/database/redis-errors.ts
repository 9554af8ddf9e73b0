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
