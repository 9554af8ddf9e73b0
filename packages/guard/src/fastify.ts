import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Caller } from './caller.ts'
import { GuardError } from './errors.ts'
import { Guard } from './guard.ts'
import { authorizationOf, proofRequestOf } from './node-request.ts'
import type { GuardOptions } from './options.ts'
import * as requirements from './requirements.ts'
import * as tools from './tools.ts'

export type { Caller, GuardOptions }

declare module 'fastify' {
  interface FastifyRequest {
    /** The authenticated caller; undefined outside the scope of the guard. */
    readonly caller: Caller
  }
}

type Plugin = (app: FastifyInstance) => Promise<void>
type Hook = (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>

const callers = new WeakMap<FastifyRequest, Caller>()

/** Marks scopes whose `request.caller` is the one of this package. */
const decorated = Symbol('@svc/guard')

// Turns off encapsulation, so that the plugin guards the scope that registers it.
const asPlugin = (plugin: Plugin): Plugin =>
  Object.assign(plugin, { [Symbol.for('skip-override')]: true, [Symbol.for('fastify.display-name')]: '@svc/guard' })

/**
 * Creates a plugin that authenticates every request of the scope that registers it. In a scope without a prefix it also
 * serves the metadata of the API; otherwise register `guard(…).metadata` in the root scope.
 */
export function guard(options: GuardOptions): Plugin & { metadata: Plugin } {
  let log: (error: unknown) => void = () => undefined
  const core = new Guard({ onError: (error) => log(error), ...options })
  const { metadata } = core

  const metadataRoute: Plugin = async (app) => {
    const { path } = metadata
    if (path === null || app.hasRoute({ method: 'GET', url: path })) return
    app.get(path, (_request, reply) => reply.headers(metadata.headers).send(metadata.body))
  }

  const plugin: Plugin = async (app) => {
    log = (error) => app.log.error({ err: error }, 'svc is unavailable')
    if (!app.hasRequestDecorator(decorated)) {
      app.decorateRequest(decorated, null)
      // Throws if the application has its own `request.caller`, which handlers would read instead.
      app.decorateRequest('caller', { getter: callerOf })
    }
    app.addHook('onRequest', async (request, reply) => {
      if (metadata.isFor(request.method, request.routeOptions.url)) return
      try {
        callers.set(request, await core.authenticate(authorizationOf(request.raw), proofRequestOf(request.raw)))
      } catch (error) {
        return reject(reply, error)
      }
    })
    if (app.prefix === '') await metadataRoute(app)
  }
  return Object.assign(asPlugin(plugin), { metadata: asPlugin(metadataRoute) })
}

function callerOf(this: FastifyRequest): Caller {
  const caller = callers.get(this)
  if (caller === undefined)
    throw new Error('The guard of svc did not authenticate this request. Register guard() first.')
  return caller
}

function reject(reply: FastifyReply, error: unknown): FastifyReply {
  if (!(error instanceof GuardError)) throw error
  return reply.code(error.status).headers(error.headers).send(error.body)
}

function hookFor(requirement: requirements.Requirement): Hook {
  return async (request, reply) => {
    const error = requirement(callerOf.call(request))
    if (error !== null) return reject(reply, error)
  }
}

/** An `onRequest` or `preHandler` hook that requires all of the abilities. */
export const abilities = (...names: string[]): Hook => hookFor(requirements.abilities(...names))

/** A hook that requires one of the abilities. */
export const ability = (...names: string[]): Hook => hookFor(requirements.ability(...names))

/** A hook that requires one of the roles. */
export const role = (...names: string[]): Hook => hookFor(requirements.role(...names))

/** A `preHandler` hook that guards tools of an MCP server by the body of the request. */
export function guardTool(name: string, needs: tools.ToolNeeds): Hook {
  const { checkBody } = tools.guardTool(name, needs)
  return async (request, reply) => {
    const { method, body } = request
    const error = tools.isWithoutBody(method, body) ? null : checkBody(callerOf.call(request), body ?? null)
    if (error !== null) return reject(reply, error)
  }
}
