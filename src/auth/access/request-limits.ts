import fastifyRateLimit from '@fastify/rate-limit'
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import type { Rate } from '../../platform/config/units.ts'
import { limitedAddress } from '../../platform/http/client-address.ts'
import { budgetOfPeer } from '../../platform/http/peer-budget.ts'
import { methodsOf, type Step } from '../../platform/http/step.ts'
import type { Counters } from '../../platform/limits/counters.ts'
import { rateLimitStore } from '../../platform/limits/rate-limit-store.ts'
import { limitHeaders, tooManyRequests } from '../../platform/limits/too-many-requests.ts'
import { isSafeMethod } from './cross-site.ts'
import { accessOf, requiresCaller } from './route-access.ts'

/** Return the key under which a limit counts a request; null for a request that the limit does not count. */
const keyGenerators = {
  address: ({ ip }: FastifyRequest) => limitedAddress(ip),
  /** Guests are not counted. */
  user: ({ caller }: FastifyRequest) => (caller?.user ? `user ${caller.user.id}` : null),
  /** The user, or the address of a guest. */
  caller: (request: FastifyRequest) => keyGenerators.user(request) ?? keyGenerators.address(request),
  /** The user, or the client of a machine. Guests are not counted. */
  principal: (request: FastifyRequest) =>
    keyGenerators.user(request) ?? (request.caller?.kind === 'machine' ? `client ${request.caller.clientId}` : null),
}

/** A limit on all requests to a route. Limits with the same name share their counters. */
export interface RequestLimit {
  name: string
  /** A key of `rate_limits`, or a fixed rate. */
  rate: 'register' | 'mail' | 'token' | 'admin' | Rate
  /** svc counts the request under each of these keys, and rejects it if one of them is over the limit. */
  by: readonly (keyof typeof keyGenerators)[]
}

const namedLimits = {
  register: { name: 'register', rate: 'register', by: ['caller'] },
  /** Changes of the username. Each one uses up a name, because svc never assigns a former username again. */
  username: { name: 'username', rate: { max: 3, window: 30 * 86_400_000 }, by: ['user'] },
  admin: { name: 'admin', rate: 'admin', by: ['principal'] },
  token: { name: 'token', rate: 'token', by: ['caller'] },
  /** By user and by address, because a user can have many addresses and an address many users. */
  mail: { name: 'mail', rate: 'mail', by: ['user', 'address'] },
  /** For links from mails. Shares the counters of `mail`, but counts users only by user, because a link sends no mail. */
  link: { name: 'mail', rate: 'mail', by: ['caller'] },
} satisfies Record<string, RequestLimit>

type NamedLimit = keyof typeof namedLimits

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Counts every request to the route. */
    limit?: NamedLimit | RequestLimit
    /** Counts requests with tokens as changes of the user too. Those of sessions always count. */
    isChange?: true
  }
  interface FastifyInstance {
    /** Counts the request like those of routes with this limit. Throws 429 above it. */
    countRequest(request: FastifyRequest, reply: FastifyReply, name: NamedLimit): Promise<void>
  }
}

/**
 * Limits how often a user changes something in a session, at the routes without another limit: each change writes events
 * and calls webhooks.
 */
const changes: Rate = { max: 300, window: 60_000 }

/** A rate that never rejects, in case a reload turns a limit off while the library reads it. */
const unlimited: Rate = { max: 1_000_000_000, window: 1 }

type Check = ReturnType<FastifyInstance['createRateLimit']>

interface CountersOf {
  /** Shared by all replicas. */
  routes: Counters
  /** For `rate_limits.global`, which must not cost a query. */
  global: Counters
}

/**
 * Opens the limits on requests. @fastify/rate-limit counts the requests and decides. svc writes the headers and the 429, so
 * that they are the same for all limits. Limits on failures, mails and stored records use the counters directly: see
 * `auth/sign-in/login-limiter`, `platform/mail/budget` and `features/oauth/protocol`.
 */
export async function openRequestLimits(
  app: FastifyInstance,
  counters: CountersOf,
): Promise<{ globalLimit: Step; routeLimit: Step }> {
  const globalRate = () => app.config.current().rate_limits.global
  await app.register(fastifyRateLimit, {
    global: false,
    ...rateOptions(globalRate, 'address'),
    keyGenerator: (request) => `requests:${keyGenerators.address(request)}`,
    store: rateLimitStore(app.clock, counters.global, counters.routes),
  })
  const globalChecks = [app.createRateLimit()]
  const checksOf = ({ name, rate, by }: RequestLimit): Check[] => {
    const current = () => (typeof rate === 'string' ? app.config.current().rate_limits[rate] : rate)
    return by.map((kind) =>
      app.createRateLimit({
        ...rateOptions(current, kind),
        keyGenerator: (request) => `${name}:${keyGenerators[kind](request)}`,
        allowList: (request) => current() === null || keyGenerators[kind](request) === null,
      }),
    )
  }
  const { register, token, mail, link, username, admin } = namedLimits
  const named: Record<NamedLimit, Check[]> = {
    register: checksOf(register),
    token: checksOf(token),
    mail: checksOf(mail),
    link: checksOf(link),
    username: checksOf(username),
    admin: checksOf(admin),
  }
  app.decorate('countRequest', (request, reply, name) => count(request, reply, named[name]))
  const limitAll = (request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void): void => {
    // Without a promise, because it is on the path of every request.
    if (globalRate() === null) done()
    else count(request, reply, globalChecks).then(() => done(), done)
  }
  // In memory, so that it costs no query.
  async function countChange(request: FastifyRequest): Promise<void> {
    const user = keyGenerators.user(request)
    // What a user deletes was created under a limit. A revocation must never wait.
    if (user === null || isSafeMethod(request.method) || request.method === 'DELETE') return
    const now = app.clock.now()
    const hit = await counters.global.hit(`changes:${user}`, { ...changes, block: 'window' }, now)
    if (!hit.allowed) throw tooManyRequests({ max: changes.max, until: hit.until, now })
  }
  return {
    globalLimit: { name: 'global limit', phase: 'onRequest', answers: [429], hooksFor: () => [limitAll] },
    routeLimit: {
      name: 'route limit',
      phase: 'preValidation',
      answers: [429],
      hooksFor: (route) => {
        const { config } = route
        const limit = config?.limit
        if (!limit) return isChange(route) ? [countChange] : null
        const checks = typeof limit === 'string' ? named[limit] : checksOf(limit)
        return [(request: FastifyRequest, reply: FastifyReply) => count(request, reply, checks)]
      },
    },
  }
}

/** Tests whether a route changes something and accepts only the sessions of users, or says that it makes changes. */
function isChange(route: RouteOptions): boolean {
  const access = accessOf(route)
  return (
    route.config?.isChange ||
    (access.family === 'session' && requiresCaller(access) && !methodsOf(route).every(isSafeMethod))
  )
}

const rateOptions = (rate: () => Rate | null, kind: keyof typeof keyGenerators) => ({
  max: (request: FastifyRequest) => {
    const current = rate() ?? unlimited
    const isByAddress = kind === 'address' || (kind === 'caller' && keyGenerators.user(request) === null)
    return (isByAddress ? budgetOfPeer(request, current) : current).max
  },
  timeWindow: () => (rate() ?? unlimited).window,
})

/** Counts the request by each key and adds the headers. Throws 429 above a limit. */
async function count(request: FastifyRequest, reply: FastifyReply, checks: readonly Check[]): Promise<void> {
  let fewest = Number.POSITIVE_INFINITY
  for (const check of checks) {
    const counted = await check(request)
    // The library reports keys that are not counted as allowed.
    if (counted.isAllowed) continue
    const { max, remaining, ttl, isExceeded } = counted
    const now = request.server.clock.now()
    if (isExceeded) throw tooManyRequests({ max, until: now + ttl, now })
    fewest = Math.min(fewest, remaining)
    reply.headers(limitHeaders(max, fewest))
  }
}
