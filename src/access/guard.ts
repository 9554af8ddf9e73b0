import type { FastifyRequest } from 'fastify'
import { unauthenticated } from '../errors.ts'
import type { Caller } from './caller.ts'

/** Answers the caller of a bearer, `null` for a bad one, `undefined` when the shape is not its own. */
export type BearerCheck = (bearer: string, request: FastifyRequest) => Promise<Caller | null> | undefined

/** Answers the caller of a token that is bound to a key and came with `DPoP` (RFC 9449 section 7.1); throws 401 for one that is not good. */
export type BoundCheck = (token: string, request: FastifyRequest) => Promise<Caller>

/** The text after the last `Bearer ` (any case), up to a comma; null when there is none. */
export function bearerOf(authorization: string | undefined): string | null {
  if (authorization === undefined) return null
  const start = authorization.toLowerCase().lastIndexOf('bearer ')
  if (start < 0) return null
  const text = authorization.slice(start + 7)
  const comma = text.indexOf(',')
  const bearer = (comma < 0 ? text : text.slice(0, comma)).trim()
  return bearer === '' ? null : bearer
}

/** The token of an `Authorization: DPoP`; null when there is none. */
export const boundTokenOf = (authorization: string | undefined): string | null =>
  authorization === undefined ? null : (/^dpop +([^\s,]+)$/i.exec(authorization)?.[1] ?? null)

/** The caller of a bearer, or null without one; a bad one throws 401 `invalid_token`. */
export async function bearerCaller(
  bearer: string | null,
  request: FastifyRequest,
  checks: readonly BearerCheck[],
): Promise<Caller | null> {
  if (bearer === null) return null
  for (const check of checks) {
    const found = check(bearer, request)
    if (found === undefined) continue
    const caller = await found
    if (caller) return caller
    break
  }
  throw unauthenticated('invalid')
}
