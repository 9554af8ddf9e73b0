import type { Caller } from './caller.ts'
import { GuardError } from './errors.ts'
import { Guard } from './guard.ts'
import type { GuardOptions } from './options.ts'
import type { Requirement } from './requirements.ts'
import { isWithoutBody, type ToolRequirement } from './tools.ts'

export { abilities, ability, type Requirement, role } from './requirements.ts'
export { guardTool, type ToolNeeds, type ToolRequirement } from './tools.ts'
export type { Caller, GuardOptions }

type Handler<R, C> = (request: R, context: C & { caller: Caller }) => Response | Promise<Response>

/** A function that wraps handlers of `fetch` requests, such as route handlers of Next.js. */
export interface FetchGuard {
  /** The handler receives `caller` beside the context of the framework. The requirements are checked first. */
  <R extends Request, C extends object>(
    handler: Handler<R, C>,
    ...required: (Requirement | ToolRequirement)[]
  ): (request: R, context: C) => Promise<Response>
  /** Serves the metadata of the API. */
  metadata(): Response
}

/** Creates a guard for handlers that take a `Request` and return a `Response`. */
export function guard(options: GuardOptions): FetchGuard {
  const core = new Guard(options)
  const wrap =
    <R extends Request, C extends object>(handler: Handler<R, C>, ...required: (Requirement | ToolRequirement)[]) =>
    async (request: R, context: C): Promise<Response> => {
      const checked = await check(core, request, required)
      return checked instanceof Response ? checked : handler(request, { ...context, caller: checked })
    }
  const metadata = () =>
    core.metadata.path === null
      ? new Response(null, { status: 404 })
      : new Response(core.metadata.body, { headers: core.metadata.headers })
  return Object.assign(wrap, { metadata })
}

/** Returns the caller, or the answer to a rejected request. */
export async function check(
  core: Guard,
  request: Request,
  required: readonly (Requirement | ToolRequirement)[],
): Promise<Caller | Response> {
  try {
    // `Headers` joins repeated headers with a comma, which no token contains.
    const value = request.headers.get('authorization')
    const proof = request.headers.get('dpop')
    const { pathname } = new URL(request.url)
    const caller = await core.authenticate(value === null ? [] : [value], {
      ...{ proofs: proof === null ? [] : [proof], method: request.method, path: pathname },
    })
    for (const requirement of required) {
      const error = 'checkBody' in requirement ? await checkTools(requirement, caller, request) : requirement(caller)
      if (error) return rejection(error)
    }
    return caller
  } catch (error) {
    if (error instanceof GuardError) return rejection(error)
    throw error
  }
}

/** Checks the tools in the body, which stays readable for the handler. */
export async function checkTools(
  { checkBody }: ToolRequirement,
  caller: Caller,
  request: Request,
  read: () => Promise<string> = () => request.clone().text(),
): Promise<GuardError | null> {
  const text = request.body === null ? '' : await read()
  if (text === '' && isWithoutBody(request.method, null)) return null
  return checkBody(caller, parsed(text))
}

/** JSON of a body; null if it is not JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

export const rejection = (error: GuardError): Response =>
  new Response(error.body, { status: error.status, headers: error.headers })
