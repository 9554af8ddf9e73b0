import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import type {
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  HTTPMethods,
  preParsingHookHandler,
  RouteOptions,
} from 'fastify'
import findMyWay from 'find-my-way'
import { methodNotAllowed, notFound } from '../errors.ts'
import { refuseDeep } from './input.ts'
import { markRefused } from './route-pattern.ts'
import { methodsOf, type Step, type StepHook } from './step.ts'

/** Methods that get 405 if the path supports others. Other methods get 404. */
const knownMethods: HTTPMethods[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'TRACE', 'QUERY']
const overridable = new Set(['PUT', 'PATCH', 'DELETE'])

const isOverridable = (methods: ReadonlySet<string>) => [...methods].some((method) => overridable.has(method))

/** Replays the body of a request that is routed a second time. */
const replay: preParsingHookHandler = (request, _reply, payload, done) => {
  const body = replayed.get(request.raw)
  done(null, body ? Readable.from([body]) : payload)
}

/** Bodies of requests that are routed a second time. */
const replayed = new WeakMap<IncomingMessage, Buffer>()

/** Applies `X-HTTP-Method-Override` of a POST before routing. */
export function applyMethodHeader(raw: IncomingMessage): void {
  const header = raw.headers['x-http-method-override']
  const method = typeof header === 'string' ? header.toUpperCase() : ''
  // Both methods are unsafe, so they pass the same checks.
  if (raw.method === 'POST' && overridable.has(method)) raw.method = method
}

/** Returns the method that a form, multipart or JSON body names. */
function bodyMethod(body: unknown): string | null {
  if (typeof body !== 'object' || body === null || !('_method' in body)) return null
  const method = typeof body._method === 'string' ? body._method.toUpperCase() : ''
  return overridable.has(method) ? method : null
}

const refusal = (methods: ReadonlySet<string>) => methodNotAllowed([...methods].sort())

const isOpen = (segment = '') => /[:*]/.test(segment)

/**
 * Tests whether the router tries the pattern `other` for paths of the pattern `url`, after the routes of `url`: it prefers
 * the pattern whose first different segment has no parameter. Both are split at slashes.
 */
function isFallback(other: readonly string[], url: readonly string[]): boolean {
  if (!isOpen(other[other.findIndex((segment, i) => segment !== url[i])])) return false
  const reaches = url.length === other.length || (url.length > other.length && /\*/.test(other.at(-1) ?? ''))
  return reaches && other.every((segment, i) => segment === url[i] || isOpen(segment) || isOpen(url[i]))
}

/** Finds the pattern that matches a path. The router is filled when it is first needed. */
function lookup(methodsByUrl: ReadonlyMap<string, unknown>): (path: string) => string | null {
  let router: ReturnType<typeof findMyWay> | undefined
  return (path) => {
    if (!router) {
      // Paths with overlong parameters match too, so that they get 405 like others.
      router = findMyWay({ maxParamLength: Number.MAX_SAFE_INTEGER })
      for (const url of methodsByUrl.keys()) router.on('GET', url, () => {}, url)
    }
    return router.find('GET', path)?.store ?? null
  }
}

interface MethodRules {
  /** Replays the body of a request that is routed a second time. */
  replayBody: Step
  /** Routes a POST again under the method in its `_method` field. */
  methodOverride: Step
  /** Adds 405 responses of paths that other routes match too. Call it after the last route. */
  complete(): void
}

/**
 * Method handling: 405 for unsupported methods, and PUT, PATCH or DELETE for a POST with `_method`. An overridden
 * request is routed again with the same body, so that the guard, CSRF check and validation of the real route apply.
 */
export function openMethodRules(app: FastifyInstance): MethodRules {
  const methodsByUrl = new Map<string, Set<string>>()
  let isComplete = false

  async function override(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const method = bodyMethod(request.body)
    const { raw } = request
    if (method === null || replayed.has(raw)) return
    const allowed = methodsByUrl.get(request.routeOptions.url ?? '') ?? new Set()
    if (!allowed.has(method)) throw methodNotAllowed([...allowed])
    refuseDeep(request.body)
    replayed.set(raw, Buffer.from(JSON.stringify(request.body)))
    raw.method = method
    raw.headers['content-type'] = 'application/json'
    delete raw.headers['content-length']
    delete raw.headers['transfer-encoding']
    raw.headers['content-length'] = String(replayed.get(raw)?.length)
    reply.hijack()
    app.routing(raw, reply.raw)
  }

  /** Returns a test whether a request to a URL would reach the route of another pattern, for example of `/tokens/:id`. */
  function otherRoutes(): (url: string) => (method: string) => boolean {
    const open = [...methodsByUrl]
      .filter(([url]) => isOpen(url))
      .map(([url, methods]) => ({ other: url.split('/'), methods }))
    return (url) => {
      const segments = url.split('/')
      const fallbacks = open.filter(({ other }) => isFallback(other, segments))
      return (method) =>
        fallbacks.some(({ methods }) => methods.has(method) || (method === 'POST' && isOverridable(methods)))
    }
  }

  const findPattern = lookup(methodsByUrl)
  app.addHook('onRequest', (request, _reply, done) => {
    if (!request.is404) return done()
    const url = knownMethods.includes(request.method) ? findPattern(request.url) : null
    // Answered in `onRequest`, before the body is read.
    if (url === null) return done(notFound())
    markRefused(request, url)
    done(refusal(methodsByUrl.get(url) ?? new Set()))
  })

  app.addHook('onRoute', (route: RouteOptions) => {
    if (isComplete) return
    methodsByUrl.set(route.url, new Set([...(methodsByUrl.get(route.url) ?? []), ...methodsOf(route)]))
  })

  const ifMethod = (hook: StepHook, isMeant: (method: string) => boolean) => (route: RouteOptions) =>
    !isComplete && methodsOf(route).some(isMeant) ? [hook] : null

  return {
    replayBody: {
      name: 'replay body',
      phase: 'preParsing',
      answers: [],
      hooksFor: ifMethod(replay, (method) => overridable.has(method)),
    },
    methodOverride: {
      name: 'method override',
      phase: 'preValidation',
      answers: [],
      hooksFor: ifMethod(override, (method) => method === 'POST'),
    },
    complete() {
      isComplete = true
      const othersOf = otherRoutes()
      for (const [url, methods] of methodsByUrl) {
        const reachesOther = othersOf(url)
        const missing = knownMethods.filter((method) => !methods.has(method))
        const isOverridden = missing.includes('POST') && isOverridable(methods)
        const shared = {
          url,
          config: { access: { family: 'none' as const } },
          schema: { hide: true },
          handler: () => {
            throw refusal(methods)
          },
        }
        if (isOverridden) app.route({ ...shared, method: 'POST', preValidation: override })
        const taken = missing.filter((method) => reachesOther(method) && !(isOverridden && method === 'POST'))
        if (taken.length > 0) app.route({ ...shared, method: taken, onRequest: shared.handler, exposeHeadRoute: false })
      }
    },
  }
}
