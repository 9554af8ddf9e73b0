const untrusted = new Set([
  'SELF_SIGNED_CERT_IN_CHAIN',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
])

/** Returns how to fix a certificate that was not accepted; null for other errors. `setting` names the authority's file. */
export function certificateHint(error: unknown, setting: string): string | null {
  if (!(error instanceof Error)) return null
  const code = 'code' in error ? String(error.code) : ''
  // The mail library has its own codes, and the message of Node.js.
  const isUntrusted = untrusted.has(code) || /self-signed certificate|unable to (get|verify)/.test(error.message)
  if (isUntrusted) return `svc does not trust the certificate: set ${setting} to the file of its certificate authority`
  const isOtherName = code === 'ERR_TLS_CERT_ALTNAME_INVALID' || /does not match certificate/.test(error.message)
  return isOtherName ? 'Use a host name that the certificate has' : null
}
