import type { MiddlewareHandler } from 'hono'
import { Caller } from './caller.ts'
import { check, checkTools, rejection } from './fetch.ts'
import { Guard } from './guard.ts'
import type { GuardOptions } from './options.ts'
import * as requirements from './requirements.ts'
import * as tools from './tools.ts'

export type { Caller, GuardOptions }

declare module 'hono' {
  interface ContextVariableMap {
    /** The authenticated caller, after `guard()`. */
    caller: Caller
  }
}

/**
 * Creates a middleware that authenticates every request that reaches it. Used for all paths it also serves the metadata of
 * the API; otherwise use `guard(…).metadata` for all paths.
 */
export function guard(options: GuardOptions): MiddlewareHandler & { metadata: MiddlewareHandler } {
  const core = new Guard(options)
  const { headers, body } = core.metadata
  const isMetadata = (request: Request): boolean => {
    const { pathname, search } = new URL(request.url)
    return core.metadata.isFor(request.method, `${pathname}${search}`)
  }
  const metadata: MiddlewareHandler = async (context, next) =>
    isMetadata(context.req.raw) ? new Response(body, { headers }) : next()
  const middleware: MiddlewareHandler = async (context, next) => {
    if (isMetadata(context.req.raw)) return new Response(body, { headers })
    const checked = await check(core, context.req.raw, [])
    if (checked instanceof Response) return checked
    context.set('caller', checked)
    await next()
  }
  return Object.assign(middleware, { metadata })
}

function middlewareFor(requirement: requirements.Requirement | tools.ToolRequirement): MiddlewareHandler {
  return async (context, next) => {
    const caller = context.get('caller')
    if (!(caller instanceof Caller)) {
      throw new Error('The guard of svc did not authenticate this request. Use guard() first.')
    }
    const { raw } = context.req
    const error =
      'checkBody' in requirement
        ? await checkTools(requirement, caller, raw, raw.bodyUsed ? () => context.req.text() : undefined)
        : requirement(caller)
    if (error !== null) return rejection(error)
    await next()
  }
}

/** A middleware that requires all of the abilities. */
export const abilities = (...names: string[]): MiddlewareHandler => middlewareFor(requirements.abilities(...names))

/** A middleware that requires one of the abilities. */
export const ability = (...names: string[]): MiddlewareHandler => middlewareFor(requirements.ability(...names))

/** A middleware that requires one of the roles. */
export const role = (...names: string[]): MiddlewareHandler => middlewareFor(requirements.role(...names))

/** A middleware that guards tools of an MCP server by the body of the request. */
export const guardTool = (name: string, needs: tools.ToolNeeds): MiddlewareHandler =>
  middlewareFor(tools.guardTool(name, needs))
