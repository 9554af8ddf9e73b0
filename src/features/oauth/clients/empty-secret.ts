import type { Registry } from './clients.ts'

/**
 * Returns the public client that `Basic <id>:` with an empty secret names, which some libraries send; null for any
 * other header. oidc-provider reads the id of a public client only from the body.
 */
export function publicClientOf(authorization: string | undefined, registry: Registry): string | null {
  const [, encoded] = /^basic +([a-z0-9+/=]+)$/i.exec(authorization ?? '') ?? []
  if (encoded === undefined) return null
  const [, name] = /^([^:]+):$/.exec(Buffer.from(encoded, 'base64').toString()) ?? []
  try {
    const id = decodeURIComponent((name ?? '').replaceAll('+', ' '))
    return registry.client(id)?.type === 'public' ? id : null
  } catch {
    return null
  }
}

/** Adds the client's id to the form, unless the form already has one. */
export function withClientId(form: string, id: string): string {
  if (new URLSearchParams(form).has('client_id')) return form
  return `${form}${form === '' ? '' : '&'}client_id=${encodeURIComponent(id)}`
}
