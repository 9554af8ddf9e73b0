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
import { methodNotAllowed } from '../errors.ts'
import { refuseDeep } from './input.ts'

const answered: HTTPMethods[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']
const overridable = new Set(['PUT', 'PATCH', 'DELETE'])

/** Gives a request that is routed a second time the body that the first time read. */
const replay: preParsingHookHandler = (request, _reply, payload, done) => {
  const body = replayed.get(request.raw)
  done(null, body ? Readable.from([body]) : payload)
}

/** The body of a request that is routed a second time. */
const replayed = new WeakMap<IncomingMessage, Buffer>()

/** The method that a POST asks to be treated as, from `X-HTTP-Method-Override`: applied before routing. */
export function applyMethodHeader(raw: IncomingMessage): void {
  const header = raw.headers['x-http-method-override']
  const method = typeof header === 'string' ? header.toUpperCase() : ''
  // Only from one unsafe method to another: what is checked for a POST is checked for these.
  if (raw.method === 'POST' && overridable.has(method)) raw.method = method
}

/** The method that a form, multipart or JSON body asks for. */
function bodyMethod(body: unknown): string | null {
  if (typeof body !== 'object' || body === null || !('_method' in body)) return null
  const method = typeof body._method === 'string' ? body._method.toUpperCase() : ''
  return overridable.has(method) ? method : null
}

/**
 * Answers 405 on every path for the methods it does not have, and lets POST stand for PUT, PATCH and DELETE by `_method`.
 * Call `complete` after the last route. The request is routed again under its real method, with the same body, so that
 * route's own guard, CSRF check and validation decide.
 */
export function addMethodRules(app: FastifyInstance): { complete(): void } {
  const methodsOf = new Map<string, Set<string>>()
  let isComplete = false

  async function override(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const method = bodyMethod(request.body)
    const { raw } = request
    if (method === null || replayed.has(raw)) return
    if (!methodsOf.get(request.routeOptions.url ?? '')?.has(method)) throw methodNotAllowed([...allowed(request)])
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

  const allowed = (request: FastifyRequest): Set<string> => methodsOf.get(request.routeOptions.url ?? '') ?? new Set()

  app.addHook('onRoute', (route: RouteOptions) => {
    if (isComplete) return
    const methods = methodsOf.get(route.url) ?? new Set()
    for (const method of [route.method].flat()) methods.add(method)
    methodsOf.set(route.url, methods)
    const own = [route.method].flat()
    if (own.some((method) => overridable.has(method))) route.preParsing = [replay, ...[route.preParsing ?? []].flat()]
    if (own.includes('POST')) {
      route.preValidation = [override, ...[route.preValidation ?? []].flat()]
    }
  })

  return {
    complete() {
      isComplete = true
      for (const [url, methods] of methodsOf) {
        const refuse = () => {
          throw methodNotAllowed([...methods].sort())
        }
        const isOverridden = [...methods].some((method) => overridable.has(method))
        const missing = answered.filter((method) => !methods.has(method))
        const shared = { url, config: { access: { family: 'none' as const } }, schema: { hide: true }, handler: refuse }
        const plain = missing.filter((method) => method !== 'POST' || !isOverridden)
        if (plain.length > 0) app.route({ ...shared, method: plain, onRequest: refuse, exposeHeadRoute: false })
        if (missing.includes('POST') && isOverridden) app.route({ ...shared, method: 'POST', preValidation: override })
      }
    },
  }
}
