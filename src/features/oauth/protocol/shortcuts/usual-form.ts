import type { IncomingHttpHeaders } from 'node:http'

/** Headers of proofs and assertions, which only the library checks. */
const proofs = ['dpop', 'oauth-client-attestation', 'oauth-client-attestation-pop']

/**
 * Returns the fields of a token request; null if one is unusual, repeated or empty, or if a header changes its meaning.
 * `usual`: the fields by grant type, besides `grant_type`.
 */
export function usualForm(
  headers: IncomingHttpHeaders,
  form: string,
  usual: ReadonlyMap<string, readonly string[]>,
): URLSearchParams | null {
  if (headers['content-type'] !== 'application/x-www-form-urlencoded') return null
  if (proofs.some((name) => headers[name] !== undefined)) return null
  // `URLSearchParams` ignores a leading question mark.
  if (form.startsWith('?')) return null
  const fields = new URLSearchParams(form)
  const names = usual.get(fields.get('grant_type') ?? '')
  if (!names) return null
  const seen = new Set<string>()
  for (const [name, value] of fields) {
    if ((name !== 'grant_type' && !names.includes(name)) || seen.has(name) || value === '') return null
    seen.add(name)
  }
  return fields
}
