import type { FastifyInstance } from 'fastify'
import Provider, { type AdapterPayload } from 'oidc-provider'
import type { Clock } from '../../../platform/clock.ts'
import type { CurrentConfig } from '../../../platform/config/current.ts'
import { limitedAddress } from '../../../platform/http/client-address.ts'
import { budgetOfPeer } from '../../../platform/http/peer-budget.ts'
import type { Counters } from '../../../platform/limits/counters.ts'
import { tooManyRequests } from '../../../platform/limits/too-many-requests.ts'
import { requestFactsOf } from './browser.ts'

/** Endpoints that authenticate the client, so that others cannot write records in its name. */
const authenticated = new Set(['device_authorization', 'pushed_authorization_request'])

/**
 * Limits the records that wait for a user: authorization and pushed requests, device codes and anonymous sessions.
 * Anyone can cause them, so they are counted by address and by client; those of signed-in users are counted by user.
 * Uses the counters directly, because only oidc-provider knows whether a request stores a record.
 */
export class PendingLimits {
  readonly #counters: Counters
  readonly #config: CurrentConfig
  readonly #clock: Clock

  constructor({ counters, config, clock }: Pick<FastifyInstance, 'counters' | 'config' | 'clock'>) {
    this.#counters = counters
    this.#config = config
    this.#clock = clock
  }

  /** Counts a record before it is written if it is one that waits; throws 429 when there are too many. */
  async count(kind: string, payload: AdapterPayload & { storedId?: string | undefined }): Promise<void> {
    const { ctx } = Provider
    if (!ctx || !isPending(kind, payload, ctx.oidc.route)) return
    const { client, route } = ctx.oidc
    if (authenticated.has(route) && client && client.clientAuthMethod !== 'none') return
    const { request, signedIn } = requestFactsOf(ctx.req)
    const { authorization, authorization_total } = this.#config.current().rate_limits
    if (signedIn) await this.#hit(`pending:user ${signedIn.user.id}`, authorization)
    else await this.#hit(`pending:${limitedAddress(request.ip)}`, authorization && budgetOfPeer(request, authorization))
    // Each client has its own total of each kind, because a flood that uses the public id of one must not stop the others.
    if (!signedIn) await this.#hit(`pending ${kind} ${client?.clientId ?? ''}`, authorization_total)
  }

  async #hit(name: string, rate: { max: number; window: number } | null): Promise<void> {
    if (rate === null) return
    const now = this.#clock.now()
    const hit = await this.#counters.hit(name, { ...rate, block: 'window' }, now)
    if (hit.allowed) return
    const message = () => 'Too many authorization requests. Please try again later.'
    throw tooManyRequests({ max: rate.max, until: hit.until, now }, { message })
  }
}

/** Whether this is the first save of a record that waits for a user. */
function isPending(kind: string, payload: AdapterPayload & { storedId?: string | undefined }, route: string): boolean {
  if (kind === 'Interaction') return true
  if (kind === 'DeviceCode') return route === 'device_authorization'
  if (kind === 'Session') return payload.accountId === undefined && payload.storedId === undefined
  return kind === 'PushedAuthorizationRequest'
}
