import type { FastifyInstance } from 'fastify'
import type Provider from 'oidc-provider'
import type { KoaContextWithOIDC } from 'oidc-provider'
import { basicOf } from '../clients/basic-credentials.ts'
import { splitScopes } from '../clients/choose-target.ts'
import { requestFactsOf } from './browser.ts'

/** What a decision of the OAuth server depended on besides the configuration, and the verdict. */
export interface TokenFacts {
  endpoint: 'authorization' | 'token'
  clientId: string
  /** Grant type at the token endpoint. */
  grant?: string
  redirectUri?: string
  /** Scopes of the request, or without any those of the tokens. */
  scopes: readonly string[]
  /** Whether the request named the scopes. svc then refuses one that the client may not have, and otherwise leaves it out. */
  isAsked: boolean
  resources: readonly string[]
  /** `200`, or the status and the error code. */
  verdict: string
}

/** Verdict about a request that succeeded. */
export const granted = '200'

const texts = (given: unknown): string[] => [given ?? []].flat().filter((one) => typeof one === 'string')

/** Records a decision, if `audit.decisions` says so. */
export function recordTokens({ decisionLog }: Pick<FastifyInstance, 'decisionLog'>, facts: () => TokenFacts): void {
  if (!decisionLog.wants()) return
  const recorded = facts()
  decisionLog.record('token', recorded, { isKnown: recorded.verdict === granted })
}

/** Records the decisions of the library about tokens and about authorization requests. */
export function recordTokenDecisions(provider: Provider): void {
  const record = (endpoint: TokenFacts['endpoint'], ctx: KoaContextWithOIDC, verdict: string): void => {
    recordTokens(requestFactsOf(ctx.req).request.server, () => factsOf(endpoint, ctx, verdict))
  }
  // An outage is no decision.
  const refused =
    (endpoint: TokenFacts['endpoint']) => (ctx: KoaContextWithOIDC, error: { error: string; status?: number }) => {
      const { status = 400 } = error
      if (status < 500) record(endpoint, ctx, `${status} ${error.error}`)
    }
  provider.on('grant.success', (ctx) => record('token', ctx, granted))
  provider.on('grant.error', refused('token'))
  provider.on('authorization.success', (ctx) => record('authorization', ctx, granted))
  provider.on('authorization.error', refused('authorization'))
}

/** Tests whether the request itself named scopes. The library adds the default scopes to its parameters. */
function isAsked({ query, oidc }: KoaContextWithOIDC): boolean {
  const sent: object = { ...query, ...oidc.body }
  return ['scope', 'request', 'request_uri'].some((name) => name in sent)
}

function factsOf(endpoint: TokenFacts['endpoint'], ctx: KoaContextWithOIDC, verdict: string): TokenFacts {
  const { params = {}, client } = ctx.oidc
  // The library does not say which unknown client the header names.
  const named = basicOf(ctx.headers.authorization ?? '')?.id ?? params.client_id
  const [clientId = ''] = texts(client?.clientId ?? named)
  const asked = splitScopes(params.scope)
  const { body }: { body?: unknown } = ctx
  const given = typeof body === 'object' && body !== null ? splitScopes(Reflect.get(body, 'scope')) : []
  const [grant] = texts(params.grant_type)
  const [asUri] = texts(params.redirect_uri)
  // The query of a registered URI is known; another one may be personal.
  const redirectUri = asUri && client?.redirectUris?.includes(asUri) ? asUri : asUri?.split(/[?#]/)[0]
  return {
    ...{ endpoint, clientId, verdict },
    ...(endpoint === 'token' && grant !== undefined ? { grant } : {}),
    ...(endpoint === 'authorization' && redirectUri !== undefined ? { redirectUri } : {}),
    scopes: asked.length > 0 ? asked : given,
    isAsked: isAsked(ctx),
    resources: texts(params.resource),
  }
}
