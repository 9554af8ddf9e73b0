import { isLoopback } from '../../platform/config/hosts.ts'
import { type Check, failure, ok, warning } from './check.ts'
import type { ProbeResponse } from './probe.ts'

const day = 24 * 60 * 60 * 1_000

/** The check warns about a certificate that expires within this time, in milliseconds. */
const renewal = 14 * day

const unknownAuthority =
  'An unknown authority signed the certificate, so clients reject it. Use a certificate of a public authority, or have clients trust yours.'

const meanings: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'The certificate has expired. Renew it.',
  CERT_NOT_YET_VALID: 'The certificate is not valid yet. Check the clocks.',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'The certificate is self-signed. Clients reject it.',
  SELF_SIGNED_CERT_IN_CHAIN: unknownAuthority,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: unknownAuthority,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    'The chain of the certificate is incomplete, or its authority is unknown. The proxy must send the intermediate certificates too.',
  ERR_TLS_CERT_ALTNAME_INVALID: 'The certificate is for another host name.',
}

/** Checks the certificate: its validity, expiry and chain. */
export function checkTls(url: URL, { tls }: ProbeResponse, now: number): Check {
  if (!tls) {
    if (isLoopback(url.hostname)) return warning('tls', 'Plain http, which is acceptable on loopback only.', 'app.url')
    return failure('tls', 'The deployment answers plain http. Passwords and cookies need https.', 'app.url')
  }
  if (tls.invalid !== null) {
    const hint = 'For a private authority, set NODE_EXTRA_CA_CERTS to its certificate.'
    return failure('tls', `${meanings[tls.invalid] ?? `The certificate is invalid (${tls.invalid}).`} ${hint}`)
  }
  const days = Math.floor((tls.validTo - now) / day)
  if (tls.validTo - now < renewal)
    return warning('tls', `The certificate expires in ${days} days. Check that its automatic renewal works.`)
  return ok('tls', `${tls.protocol}, the certificate is valid for ${days} more days.`)
}

/** Difference that tokens and signed requests tolerate, in milliseconds. */
const tolerance = 30_000

/** Compares the `Date` header with this machine. The header has whole seconds and is sent during the request. */
export function checkClock({ headers }: ProbeResponse, before: number, after: number): Check {
  const date = Date.parse(headers.date ?? '')
  if (Number.isNaN(date)) return warning('clock', 'The response has no Date header, so clocks cannot be compared.')
  const difference = date + 999 < before ? date + 999 - before : date > after ? date - after : 0
  const seconds = Math.round(Math.abs(difference) / 1_000)
  if (Math.abs(difference) <= tolerance) return ok('clock', `The clock agrees with this machine (${seconds} s).`)
  const side = difference > 0 ? 'ahead of' : 'behind'
  return failure('clock', `The clock is ${seconds} seconds ${side} this machine. Synchronise both with NTP.`)
}
