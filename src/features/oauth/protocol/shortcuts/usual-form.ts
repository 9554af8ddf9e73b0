import type { IncomingHttpHeaders } from 'node:http'

/** Headers of proofs and assertions, which only the library checks. */
const proofs = ['dpop', 'oauth-client-attestation', 'oauth-client-attestation-pop']

/** Returns the fields of a token request for a grant; null if one is unusual, repeated or empty, or if a header changes its meaning. */
export function usualForm(
  headers: IncomingHttpHeaders,
  form: string,
  { grant, fields: usual }: { grant: string; fields: readonly string[] },
): URLSearchParams | null {
  if (headers['content-type'] !== 'application/x-www-form-urlencoded') return null
  if (proofs.some((name) => headers[name] !== undefined)) return null
  // It would ignore the question mark.
  if (form.startsWith('?')) return null
  const fields = new URLSearchParams(form)
  const seen = new Set<string>()
  for (const [name, value] of fields) {
    if ((name !== 'grant_type' && !usual.includes(name)) || seen.has(name) || value === '') return null
    seen.add(name)
  }
  return fields.get('grant_type') === grant ? fields : null
}
