import type { FastifySessionObject } from '@fastify/session'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { type EventContext, userRef } from '../../identity/events.ts'
import { clientAddress } from '../../platform/http/client-address.ts'
import { languageOf } from '../../platform/http/language.ts'
import { budgetOfPeer } from '../../platform/http/peer-budget.ts'
import type { Caller } from './caller.ts'
import type { CookiePrefix } from './cookies.ts'

/** What the server offers to domain code. */
export type Services = FastifyInstance

declare module 'fastify' {
  interface FastifyRequest {
    /** Thumbprint of the key that the client proved to have, to bind a new token to it. Null by default. */
    keyThumbprint: string | null
  }
}

/** What domain code knows of a request. Tests make one of plain values. */
export interface Visit {
  readonly app: Services
  /** Address, browser, language and time, for events and notices. */
  readonly origin: EventContext
  readonly caller: Caller | null
  /** The session of the browser, on routes that read it. */
  readonly session: FastifySessionObject
  /** The address of the client, for limits. */
  readonly address: string
  /** Thumbprint of the key that the client proved to have, to bind a new token to it. */
  readonly keyThumbprint: string | null
  /** Value of a cookie by its name without prefix. */
  cookie(name: string): string | undefined
  cookiePrefix(name: string): CookiePrefix
  /** Returns the budget of the address: private ones have a larger one. */
  budget<Budget extends { max: number }>(budget: Budget): Budget
}

class RequestVisit implements Visit {
  readonly #request: FastifyRequest

  constructor(request: FastifyRequest) {
    this.#request = request
  }

  get app(): Services {
    return this.#request.server
  }

  get origin(): EventContext {
    return eventContext(this.#request)
  }

  get caller(): Caller | null {
    return this.#request.caller
  }

  get session(): FastifySessionObject {
    return this.#request.session
  }

  get address(): string {
    return this.#request.ip
  }

  get keyThumbprint(): string | null {
    return this.#request.keyThumbprint
  }

  cookie(name: string): string | undefined {
    return this.#request.cookies?.[name]
  }

  cookiePrefix(name: string): CookiePrefix {
    return this.#request.cookiePrefixes?.get(name) ?? ''
  }

  budget<Budget extends { max: number }>(budget: Budget): Budget {
    return budgetOfPeer(this.#request, budget)
  }
}

/** The part of a visit that a change needs: the services, and the origin of its event. */
export type Act = Pick<Visit, 'app' | 'origin'>

/** Returns what domain code knows of a request. */
export const visitOf = (request: FastifyRequest): Visit => new RequestVisit(request)

/** Returns the origin of events that this request causes. */
export const eventContext = (request: FastifyRequest): EventContext => ({
  actor: request.caller?.kind === 'session' && request.caller.actor ? userRef(Number(request.caller.actor)) : null,
  ...callerFacts(request),
  reason: null,
  ipAddress: clientAddress(request),
  userAgent: request.headers['user-agent']?.slice(0, 512) ?? null,
  requestId: request.id,
  language: languageOf(request),
  log: request.log,
  metrics: request.server.metrics,
  subscriber: request.server.subscriber,
  now: request.server.clock.now(),
})

const credentialKinds = { session: 'session', api_token: 'token', user_jwt: 'jwt', machine: 'jwt' } as const

/** Returns who authenticated, and with which credential. */
function callerFacts({ caller }: FastifyRequest): Pick<EventContext, 'caller' | 'credential' | 'clientId'> {
  if (!caller) return { caller: null, credential: null, clientId: null }
  const clientId = caller.kind === 'session' ? null : (caller.clientId ?? null)
  const name = caller.user ? userRef(caller.user.id) : clientId && `client:${clientId}`
  return { caller: name, credential: `${credentialKinds[caller.kind]}:${caller.credentialId}`, clientId }
}
