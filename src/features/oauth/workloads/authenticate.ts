import type { FastifyRequest } from 'fastify'
import { isJwt } from '../../../auth/access/bearer-token.ts'
import { logAdvice } from '../../../platform/http/advice.ts'
import type { ClientLimits } from '../clients/client-limits.ts'
import type { Registry } from '../clients/clients.ts'
import { WorkloadRefused, type Workloads } from './workloads.ts'

/** A client that a token of its platform authenticated. */
export interface AuthenticatedWorkload {
  clientId: string
  /** `sub` of the token. */
  subject: string
  /** Whether the token came as the subject of an exchange. */
  isExchanged: boolean
}

interface Parts {
  registry: Registry
  limits: ClientLimits
  workloads: Workloads
}

const assertionType = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'
const exchangeType = 'urn:ietf:params:oauth:grant-type:token-exchange'

/** Types of subject tokens that are not access tokens of svc (RFC 8693 section 3). */
const foreignTypes = ['urn:ietf:params:oauth:token-type:jwt', 'urn:ietf:params:oauth:token-type:id_token']

/** Fields and headers of other ways to authenticate. */
const otherWays = ['client_secret', 'client_assertion', 'client_assertion_type']

/**
 * Authenticates a request by the token of a platform, in `client_assertion` or as the subject token of an exchange, with
 * `client_id` beside it. Returns null for a request that has no such token, and `refused` for one whose token is invalid.
 */
export async function authenticateWorkload(
  request: FastifyRequest,
  fields: URLSearchParams,
  parts: Parts,
): Promise<AuthenticatedWorkload | 'refused' | null> {
  const { registry, limits, workloads } = parts
  const client = registry.client(single(fields, 'client_id'))
  const found = client && client.federated.length > 0 ? tokenOf(request, fields) : null
  if (!client || !found) return null
  const name = limits.nameOf(client.client_id, request.ip)
  await limits.check(name)
  try {
    const subject = await workloads.subjectOf(client, found.token)
    const clientId = client.client_id
    request.log.info(
      { client: clientId, workload: subject },
      `Client ${clientId} authenticated by its platform: ${subject}`,
    )
    return { clientId, subject, isExchanged: found.isExchanged }
  } catch (error) {
    if (!(error instanceof WorkloadRefused)) throw error
    const event = `Token of a workload refused (client ${client.client_id})`
    const key = `clients[client_id=${client.client_id}].federated`
    logAdvice(request.log, event, { message: error.message, key }, { client: client.client_id })
    await limits.attempt(name, false)
    return 'refused'
  }
}

/** A field that is there once and has a value. */
function single(fields: URLSearchParams, name: string): string | undefined {
  const [value, ...others] = fields.getAll(name)
  return others.length > 0 || value === '' ? undefined : value
}

function tokenOf({ headers }: FastifyRequest, fields: URLSearchParams): { token: string; isExchanged: boolean } | null {
  if (headers.authorization !== undefined || fields.has('client_secret')) return null
  const assertion = single(fields, 'client_assertion')
  if (assertion !== undefined && isJwt(assertion)) {
    return single(fields, 'client_assertion_type') === assertionType ? { token: assertion, isExchanged: false } : null
  }
  if (otherWays.some((way) => fields.has(way)) || single(fields, 'grant_type') !== exchangeType) return null
  const subject = single(fields, 'subject_token')
  const isForeign = foreignTypes.includes(single(fields, 'subject_token_type') ?? '')
  return subject !== undefined && isJwt(subject) && isForeign ? { token: subject, isExchanged: true } : null
}

/** Returns the form of an authenticated request, in which a placeholder takes the place of the client's secret. */
export function withWorkload(fields: URLSearchParams): string {
  for (const name of otherWays) fields.delete(name)
  fields.set('client_secret', '-')
  return fields.toString()
}
