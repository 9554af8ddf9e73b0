import { type Caller, challengesOf } from './caller.ts'
import { forbidden, type GuardError } from './errors.ts'
import { checkedNames } from './requirements.ts'

/** What a tool requires of the caller. */
export interface ToolNeeds {
  /** All of these abilities. */
  abilities?: readonly string[]
  /** One of these roles. */
  roles?: readonly string[]
  /** A sign-in with a second factor, which only access tokens of users prove. */
  secondFactor?: boolean
}

/** Returns the error if a caller may not call the tools that the body of a request names, or null. */
export interface ToolRequirement {
  readonly checkBody: (caller: Caller, body: unknown) => GuardError | null
}

/** Authentication context classes of svc with a second factor. */
const secondFactors: readonly unknown[] = ['2', 'phr']

/** Methods whose requests usually have no body. */
const bodiless: readonly string[] = ['GET', 'HEAD', 'DELETE', 'OPTIONS']

/** Tests for a request without a body, which calls no tool. */
export const isWithoutBody = (method: string | undefined, body: unknown): boolean =>
  bodiless.includes(method ?? '') && (body === undefined || body === null)

/** Maximum length of the name of a tool. */
const maxName = 256

/**
 * Guards tools of an MCP server by the body of the request (`tools/call`). In the name, `*` matches any text. Other requests
 * pass.
 */
export function guardTool(name: string, needs: ToolNeeds): ToolRequirement {
  const { abilities = [], roles = [], secondFactor = false } = needs
  if (abilities.length === 0 && roles.length === 0 && !secondFactor) {
    throw new TypeError('guardTool() requires abilities, roles or secondFactor.')
  }
  if (abilities.length > 0) checkedNames('guardTool()', abilities)
  const pattern = new RegExp(`^${name.split('*').map(escaped).join('.*')}$`, 's')
  const refuse = (caller: Caller): GuardError | null => {
    const challenges = challengesOf(caller)
    // Names the scopes that the token has too, because clients request exactly these in their next authorization.
    if (!abilities.every((ability) => caller.can(ability))) {
      return challenges.insufficientScope([...new Set([...scopesOf(caller), ...abilities])])
    }
    if (roles.length > 0 && (caller.role === null || !roles.includes(caller.role))) return forbidden()
    return secondFactor && !secondFactors.includes(caller.claims.acr) ? challenges.weakSignIn() : null
  }
  return {
    checkBody(caller, body) {
      const names = toolsOf(body)
      if (names === null) return challengesOf(caller).invalidRequest('The request is not a valid JSON-RPC message')
      return names.some((one) => pattern.test(one)) ? refuse(caller) : null
    },
  }
}

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')

const scopesOf = ({ claims, kind }: Caller): string[] =>
  kind === 'jwt' && typeof claims.scope === 'string' ? claims.scope.split(' ').filter((scope) => scope !== '') : []

/** Names of the tools that a message or a batch calls; null if a call has no name. */
function toolsOf(body: unknown): string[] | null {
  if (!isParsed(body)) throw new Error('guardTool() needs the parsed JSON body. Add the body parser before it.')
  const messages: unknown[] = Array.isArray(body) ? body : [body]
  const names: string[] = []
  for (const message of messages) {
    if (typeof message !== 'object' || message === null || Array.isArray(message)) return null
    const { method, params } = message as { method?: unknown; params?: { name?: unknown } | null }
    if (method !== 'tools/call') continue
    if (typeof params?.name !== 'string' || params.name.length > maxName) return null
    names.push(params.name)
  }
  return names
}

/** Tests for the result of a JSON parser, in contrast to a buffer or a stream that the handler would parse. */
function isParsed(body: unknown): boolean {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return body !== undefined
  const prototype: unknown = Object.getPrototypeOf(body)
  return prototype === null || prototype === Object.prototype
}
