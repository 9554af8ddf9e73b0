import type { FastifyRequest } from 'fastify'
import { unauthenticated } from '../../platform/errors.ts'
import type { Caller } from './caller.ts'
import { ownTarget, type ProofTarget } from './dpop.ts'

/**
 * Returns the caller of a bearer token, or null for an invalid one. `audience` is the audience of another API whose tokens
 * count too.
 */
type BearerCheck = (
  bearer: string,
  request: Pick<FastifyRequest, 'server'>,
  audience?: string,
) => Promise<Caller | null>

/** Returns the caller of a DPoP-bound token (RFC 9449 section 7.1). Throws 401 for an invalid one. */
export type BoundCheck = (
  token: string,
  request: FastifyRequest,
  expected: { target: ProofTarget; audience: string | undefined },
) => Promise<Caller>

/** Checks by the format of the token: a JWT, or an API token (`<id>|<secret>`, and legacy secrets without an id). */
export interface ByFormat<Check> {
  jwt: Check
  apiToken: Check
}

export type BearerChecks = ByFormat<BearerCheck>

/** Tests for the format of a JWT. */
export const isJwt = (text: string): boolean => /^[\w-]+\.[\w-]+\.[\w-]+$/.test(text)

/** Returns the text after the last `Bearer ` (any case), up to a comma, or null. */
export function bearerOf(authorization: string | undefined): string | null {
  if (authorization === undefined) return null
  const start = authorization.toLowerCase().lastIndexOf('bearer ')
  if (start < 0) return null
  const text = authorization.slice(start + 7)
  const comma = text.indexOf(',')
  const bearer = (comma < 0 ? text : text.slice(0, comma)).trim()
  return bearer === '' ? null : bearer
}

/** Returns the token of an `Authorization: DPoP` header, or null. */
const boundTokenOf = (authorization: string | undefined): string | null =>
  authorization === undefined ? null : (/^dpop +([^\s,]+)$/i.exec(authorization)?.[1] ?? null)

/** Returns the caller of the bearer token, or null without one. Throws 401 `invalid_token` for an invalid token. */
export async function bearerCaller(
  bearer: string | null,
  request: Pick<FastifyRequest, 'server'>,
  checks: BearerChecks,
  audience?: string,
): Promise<Caller | null> {
  if (bearer === null) return null
  const check = isJwt(bearer) ? checks.jwt : checks.apiToken
  const caller = await check(bearer, request, audience)
  if (!caller) throw unauthenticated('invalid')
  return caller
}

/** Returns the caller of a DPoP-bound token, or null without one. Throws 401 for an invalid token or proof. */
export async function boundCaller(
  request: FastifyRequest,
  checks: ByFormat<BoundCheck>,
  { target = ownTarget(request), audience }: { target?: ProofTarget | undefined; audience?: string | undefined } = {},
): Promise<Caller | null> {
  const token = boundTokenOf(request.headers.authorization)
  if (token === null) return null
  return (isJwt(token) ? checks.jwt : checks.apiToken)(token, request, { target, audience })
}
