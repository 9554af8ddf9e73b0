import type { FastifyRequest } from 'fastify'
import { basicOf, type Credentials } from '../../clients/basic-credentials.ts'
import type { ClientLimits } from '../../clients/client-limits.ts'
import type { RegisteredClient, Registry } from '../../clients/clients.ts'
import type { SecretUses } from '../../clients/secret-uses.ts'

export interface SecretParts {
  registry: Registry
  limits: ClientLimits
  secretUses: SecretUses
}

/** A client that proved who it is. */
interface Authenticated {
  client: RegisteredClient
  /** Notes that the client uses this secret. Not before svc answers: the library notes the requests that it handles. */
  noteUse(): void
}

/** Fields that mean another authentication method. */
const otherMethods = ['client_assertion', 'client_assertion_type']

const printable = /^[\x20-\x7e]+$/

/**
 * Returns the client that authenticates with the right secret, in the usual form. Returns null for everything else, which
 * the library handles: other methods, failures with their limits, and requests of web pages. APIs introspect each of
 * their requests, and the library would take two thirds of the time.
 */
export function clientBySecret(
  { headers, ip }: FastifyRequest,
  fields: URLSearchParams,
  { registry, limits, secretUses }: SecretParts,
): Authenticated | null {
  if (headers.origin !== undefined || otherMethods.some((name) => fields.has(name))) return null
  const found = credentialsOf(headers.authorization, fields)
  if (!found || !printable.test(found.id) || !printable.test(found.secret)) return null
  const client = registry.client(found.id)
  if (!client || limits.isSuspectPair(found.id, ip)) return null
  const only = client.token_endpoint_auth_method
  if (only !== null && only !== found.method) return null
  const index = registry.secretIndex(found.id, found.secret)
  if (index === null) return null
  return { client, noteUse: () => secretUses.note(registry, found.id, index) }
}

/** Returns the client of a request like `clientBySecret`, or the public client that it names (RFC 6749 section 2.1). */
export function authenticatedClient(
  request: FastifyRequest,
  fields: URLSearchParams,
  parts: SecretParts,
): Authenticated | null {
  const { headers, ip } = request
  if (fields.has('client_secret') || headers.authorization !== undefined) return clientBySecret(request, fields, parts)
  const { registry, limits } = parts
  const client = registry.client(fields.get('client_id') ?? undefined)
  if (client?.type !== 'public' || headers.origin !== undefined) return null
  return limits.isSuspectPair(client.client_id, ip) ? null : { client, noteUse: () => {} }
}

/** Credentials from the header or from the body; null if they are missing, repeated or not in the usual form. */
function credentialsOf(authorization: string | undefined, fields: URLSearchParams): Credentials | null {
  const ids = fields.getAll('client_id')
  const secrets = fields.getAll('client_secret')
  if (ids.length > 1 || secrets.length > 1) return null
  const [id] = ids
  const [secret] = secrets
  if (authorization === undefined) return id && secret ? { id, secret, method: 'client_secret_post' } : null
  const basic = secret === undefined ? basicOf(authorization) : null
  return basic && (id === undefined || id === basic.id) ? basic : null
}
