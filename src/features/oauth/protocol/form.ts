import type { FastifyRequest } from 'fastify'
import { HttpError } from '../../../errors.ts'
import type { Registry } from './clients.ts'

const unreadable = (): HttpError => new HttpError(400, 'malformed_body', 'The request body cannot be read.')

/**
 * The body as form text: a form as it is, or a flat JSON object of strings as the same fields.
 * Null leaves a body of another type to the library's refusal.
 */
export function formOf(body: Buffer, contentType: string | undefined, takesJson: boolean): string | null {
  const type = contentType?.split(';')[0]?.trim().toLowerCase()
  if (type === 'application/x-www-form-urlencoded') return body.toString()
  if (!takesJson || type !== 'application/json') return null
  let fields: unknown
  try {
    fields = JSON.parse(body.toString())
  } catch {
    throw unreadable()
  }
  if (typeof fields !== 'object' || fields === null || Array.isArray(fields)) throw unreadable()
  const form = new URLSearchParams()
  for (const [name, value] of Object.entries(fields)) {
    if (typeof value !== 'string') throw unreadable()
    form.append(name, value)
  }
  return form.toString()
}

/** Grants in which the client names the scopes of its tokens at the token endpoint. */
const scoped = new Set(['client_credentials'])

/** The form with the client's own scopes where it names none: an absent scope is not an empty one. */
export function withDefaultScope(form: string, request: FastifyRequest, registry: Registry): string {
  if (request.routeOptions.url !== '/oauth/token') return form
  const fields = new URLSearchParams(form)
  if (!scoped.has(fields.get('grant_type') ?? '') || fields.has('scope')) return form
  const client = registry.client(fields.get('client_id') ?? basicClient(request.headers.authorization))
  if (!client || client.scopes.length === 0) return form
  return `${form}&scope=${encodeURIComponent(client.scopes.join(' '))}`
}

/** The client that HTTP Basic names (RFC 6749 section 2.3.1). */
function basicClient(authorization: string | undefined): string | undefined {
  const [scheme = '', credentials = ''] = authorization?.split(' ') ?? []
  if (scheme.toLowerCase() !== 'basic') return undefined
  try {
    return decodeURIComponent(Buffer.from(credentials, 'base64').toString().split(':')[0] ?? '')
  } catch {
    return undefined
  }
}
