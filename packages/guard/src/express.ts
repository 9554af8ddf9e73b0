import type { IncomingMessage, ServerResponse } from 'node:http'
import { Caller } from './caller.ts'
import { GuardError } from './errors.ts'
import { Guard } from './guard.ts'
import { authorizationOf, proofRequestOf } from './node-request.ts'
import type { GuardOptions } from './options.ts'
import * as requirements from './requirements.ts'
import * as tools from './tools.ts'

export type { Caller, GuardOptions }

declare global {
  namespace Express {
    interface Request {
      /** The authenticated caller, after `guard()`. */
      caller: Caller
    }
  }
}

type Incoming = IncomingMessage & { originalUrl?: string; caller?: Caller; body?: unknown }
type Middleware = (request: Incoming, response: ServerResponse, next: (error?: unknown) => void) => void

/**
 * Creates a middleware that authenticates every request that reaches it. Mounted without a path it also serves the metadata
 * of the API; otherwise add `guard(…).metadata` to the app.
 */
export function guard(options: GuardOptions): Middleware & { metadata: Middleware } {
  const core = new Guard(options)
  const metadata: Middleware = (request, response, next) => {
    if (!core.metadata.isFor(request.method, request.originalUrl ?? request.url)) return next()
    response.writeHead(200, core.metadata.headers).end(core.metadata.body)
  }
  const authenticate: Middleware = (request, response, next) => {
    core.authenticate(authorizationOf(request), proofRequestOf(request, request.originalUrl)).then(
      (caller) => {
        request.caller = caller
        next()
      },
      (error) => reject(response, error, next),
    )
  }
  const middleware: Middleware = (request, response, next) =>
    metadata(request, response, () => authenticate(request, response, next))
  return Object.assign(middleware, { metadata })
}

function reject(response: ServerResponse, error: unknown, next: (error?: unknown) => void): void {
  if (error instanceof GuardError) response.writeHead(error.status, error.headers).end(error.body)
  else next(error)
}

function checkTools({ checkBody }: tools.ToolRequirement, caller: Caller, { method, body, headers }: Incoming) {
  if (tools.isWithoutBody(method, body)) return null
  // The body of a JSON request is undefined only without a parser, which checkBody() reports.
  const isJson = /json/i.test(headers['content-type'] ?? '')
  return checkBody(caller, isJson ? body : (body ?? null))
}

function middlewareFor(requirement: requirements.Requirement | tools.ToolRequirement): Middleware {
  return (request, response, next) => {
    const { caller } = request
    if (!(caller instanceof Caller)) {
      return next(new Error('The guard of svc did not authenticate this request. Use guard() first.'))
    }
    try {
      const error = 'checkBody' in requirement ? checkTools(requirement, caller, request) : requirement(caller)
      if (error === null) next()
      else reject(response, error, next)
    } catch (error) {
      next(error)
    }
  }
}

/** A middleware that requires all of the abilities. */
export const abilities = (...names: string[]): Middleware => middlewareFor(requirements.abilities(...names))

/** A middleware that requires one of the abilities. */
export const ability = (...names: string[]): Middleware => middlewareFor(requirements.ability(...names))

/** A middleware that requires one of the roles. */
export const role = (...names: string[]): Middleware => middlewareFor(requirements.role(...names))

/** A middleware that guards tools of an MCP server by the body of the request. Use it after `express.json()`. */
export const guardTool = (name: string, needs: tools.ToolNeeds): Middleware =>
  middlewareFor(tools.guardTool(name, needs))
