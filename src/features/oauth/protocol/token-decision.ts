import { errors, type KoaContextWithOIDC } from 'oidc-provider'
import { visitOf } from '../../../auth/access/visit.ts'
import { isDeniedByPolicy } from '../../../auth/sign-in/decisions.ts'
import type { User } from '../../../identity/user.ts'
import { requestFactsOf } from './browser.ts'

type Claims = Readonly<Record<string, unknown>>

/** What the hook before_token answered to a request, by the context of the library. */
const decided = new WeakMap<object, Claims>()

/** The access token that a request asks for; `user` is null for a machine. */
interface Asked {
  user: User | null
  scopes: Iterable<string>
  audience: string
}

const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code'

/** Error code of a refusal (RFC 6749 section 5.2, RFC 8628 section 3.5). */
function codeOf({ oidc }: KoaContextWithOIDC, { user }: Asked): string {
  if (oidc.params?.grant_type === deviceGrant) return 'access_denied'
  return user ? 'invalid_grant' : 'unauthorized_client'
}

/** Asks the hook before_token about a token request, once. Call it before the request uses up a code or refresh token. */
export async function decideToken(ctx: KoaContextWithOIDC, asked: Asked): Promise<void> {
  if (decided.has(ctx)) return
  const { client, params } = ctx.oidc
  const visit = visitOf(requestFactsOf(ctx.req).request)
  const { user, scopes, audience } = asked
  try {
    const facts = { user, clientId: client?.clientId ?? '', grant: String(params?.grant_type) }
    decided.set(ctx, await visit.app.decisions.token(visit, { ...facts, scopes: [...scopes], audience }))
  } catch (error) {
    throw isDeniedByPolicy(error) ? new errors.CustomOIDCProviderError(codeOf(ctx, asked), error.message) : error
  }
}

/** Tests whether the hook has answered to this request. */
export const isTokenDecided = (ctx: object): boolean => decided.has(ctx)

/** The claims that the hook adds to the tokens of this request. */
export const decidedClaims = (ctx: object | undefined): Claims => (ctx && decided.get(ctx)) ?? {}
