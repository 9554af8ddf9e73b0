import type { FastifyRequest } from 'fastify'
import { decodeJwt } from 'jose'
import { HttpError } from '../../../errors.ts'
import type { Registry } from './clients.ts'
import { protocolRoutes } from './paths.ts'

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

/** Where a client names the scopes of what it asks for. */
const asking = new Set<string | undefined>([
  protocolRoutes.authorization,
  protocolRoutes.device_authorization,
  protocolRoutes.pushed_authorization_request,
])

/**
 * The fields of a request with the client's own scopes where it names none. A field without a value counts as absent
 * (RFC 6749 section 3.1).
 */
export function withDefaultScope(text: string, request: FastifyRequest, registry: Registry): string {
  const fields = new URLSearchParams(text)
  if (fields.getAll('scope').some((scope) => scope !== '')) return text
  const scope = defaultScope(fields, request, registry)
  if (scope === '') return text
  fields.set('scope', scope)
  return fields.toString()
}

function defaultScope(fields: URLSearchParams, request: FastifyRequest, registry: Registry): string {
  const { url } = request.routeOptions
  const isMachine = url === protocolRoutes.token && fields.get('grant_type') === 'client_credentials'
  // What was pushed has its scopes already.
  if (!isMachine && (!asking.has(url) || fields.has('request_uri'))) return ''
  const id = fields.get('client_id') || basicClient(request.headers.authorization) || assertedClient(fields)
  if (registry.client(id) === undefined) return ''
  return isMachine ? (registry.client(id)?.scopes.join(' ') ?? '') : registry.defaultScope(id)
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

/** The client that an assertion names (RFC 7523 section 3); who that is in truth the library checks. */
function assertedClient(fields: URLSearchParams): string | undefined {
  try {
    return decodeJwt(fields.get('client_assertion') ?? '').sub
  } catch {
    return undefined
  }
}
