import type { FastifyInstance } from 'fastify'
import Provider from 'oidc-provider'
import { useOnce } from '../../../../auth/access/used-once.ts'
import { visitOf } from '../../../../auth/access/visit.ts'
import { liveToken } from '../../../../auth/tokens/bearer.ts'
import { revokeToken } from '../../../../auth/tokens/revoke.ts'
import type { Config } from '../../../../platform/config/schema.ts'
import type { AccessTokenClaims } from '../../access-token.ts'
import type { LiveToken } from '../../alive.ts'
import type { RecordStore } from '../../records/store.ts'
import { requestFactsOf } from '../browser.ts'
import { successorKeyOf, successorOf } from '../refresh-successor.ts'
import { patch } from './patch.ts'

/** Marks an API token among the library's access tokens. */
const apiTokenGrant = 'api_token'

/** Functions of svc that the token models call. */
export interface TokenParts {
  store: RecordStore
  app: FastifyInstance
  config: Pick<Config, 'app'>
  /** Valid access token of svc; null for any other. */
  findLive(token: string): Promise<LiveToken | null>
}

/** Parts of a request that the library has read. */
interface Reading {
  route: string
  params?: { token?: unknown }
}

type Find = (value: string, options: object) => Promise<unknown>

/** Fields of a token during its revocation. */
interface Denied {
  jti: string
  exp?: number
  gty?: string
  accountId?: string
}

/** Hides a JWT from the library, which rejects structured tokens, where a client revokes one. No token begins like this. */
const hidden = '\0'

/** Lets the library's models find and revoke JWTs, which svc does not store. */
export function adaptTokenModels(provider: Provider, parts: TokenParts): void {
  const { store, findLive, app, config } = parts
  const successorKey = successorKeyOf(config.app.secret)
  const { AccessToken, ClientCredentials, RefreshToken } = provider

  const payloadOf = (claims: AccessTokenClaims) => ({
    jti: claims.jti,
    iat: claims.iat,
    exp: claims.exp,
    clientId: claims.client_id,
    scope: claims.scope,
    jkt: claims.cnf?.jkt,
  })
  const isMachine = (claims: AccessTokenClaims): boolean => claims.gty === 'client_credentials'

  const findAccessToken = async (value: string) => {
    const claims = (await findLive(unhidden(value)))?.claims
    if (!claims) return apiToken(unhidden(value))
    if (isMachine(claims)) return undefined
    // Revoking an access token ends only that token, so the library does not get its grant there.
    const grantId = currentRoute() === 'revocation' ? undefined : claims.gid
    const asked = await claimsAskedFor(grantId)
    return new AccessToken({ ...payloadOf(claims), accountId: claims.sub, grantId, ...asked } as never)
  }
  patch(
    provider,
    ['AccessToken', 'find'],
    'finds JWTs, which svc does not store, and API tokens',
    () => findAccessToken,
  )
  const findMachine = async (value: string) => {
    const claims = (await findLive(unhidden(value)))?.claims
    return claims && isMachine(claims) ? new ClientCredentials(payloadOf(claims) as never) : undefined
  }
  patch(provider, ['ClientCredentials', 'find'], 'finds JWTs, which svc does not store', () => findMachine)
  for (const model of ['AccessToken', 'ClientCredentials']) {
    // These tokens are not stored. Only their denial is.
    const deny = async function deny(this: Denied) {
      const { ctx } = Provider
      if (this.gty === apiTokenGrant && ctx) {
        await revokeToken(visitOf(requestFactsOf(ctx.req).request), Number(this.accountId), BigInt(this.jti))
        return
      }
      await store.deny(this.jti, ((this.exp ?? 0) + 60) * 1000)
    }
    patch(provider, [`${model}.prototype`, 'destroy'], 'denies a JWT by its id, and deletes an API token', () => deny)
  }
  patch<(this: Reading, key: string, value: object) => void>(
    provider,
    ['OIDCContext.prototype', 'entity'],
    'hides JWTs from revocation, which rejects structured tokens',
    (entity) =>
      function noteEntity(this: Reading, key: string, value: object) {
        entity.call(this, key, value)
        const { route, params } = this
        if (key === 'Client' && params && typeof params.token === 'string' && route === 'revocation') {
          params.token = hidden + params.token
        }
      },
  )
  const findChecked = (findRefresh: Find) => async (value: string, options: object) => {
    // svc itself answers introspection requests.
    if (currentRoute() === 'introspection') return undefined
    const token = await findRefresh(unhidden(value), options)
    if (token instanceof RefreshToken && currentRoute() === 'token') leaveOutOffline(token.scopes)
    return token
  }
  patch(provider, ['RefreshToken', 'find'], 'ignores an offline_access that was not granted', findChecked)

  patch<(this: object) => string>(
    provider,
    ['RefreshToken.prototype', 'generateTokenId'],
    'derives the successor, so that concurrent refreshes get the same one',
    (newId) =>
      function successorOrNew(this: object) {
        const rotated = Provider.ctx?.oidc.entities.RotatedRefreshToken
        return rotated?.jti ? successorOf(successorKey, rotated.jti) : newId.call(this)
      },
  )

  // The library stores a proof for five minutes from now. A proof with the maximum time in the future is valid for
  // twice as long.
  patch(
    provider,
    ['ReplayDetection', 'unique'],
    'uses a jti once, in one statement, on every replica',
    () => (iss: string, jti: string, exp: number) =>
      useOnce(app.database, 'ReplayDetection', `${iss}\0${jti}`, (exp + 360) * 1000),
  )

  /** Individual claims that the authorization granted. The library stores them only on tokens without a resource. */
  async function claimsAskedFor(grantId: string | undefined) {
    if (currentRoute() !== 'userinfo' || grantId === undefined) return {}
    const names = (await provider.Grant.find(grantId))?.getOIDCClaims() ?? []
    return names.length === 0 ? {} : { claims: { userinfo: Object.fromEntries(names.map((name) => [name, null])) } }
  }

  /** API token as an access token of the requesting client. API tokens have no client, but the library requires one. */
  async function apiToken(text: string) {
    const found = currentRoute() === 'revocation' ? await liveToken(text, app) : null
    if (!found) return undefined
    return new AccessToken({
      jti: String(found.row.id),
      clientId: Provider.ctx?.oidc.client?.clientId,
      accountId: String(found.user.id),
      gty: apiTokenGrant,
    } as never)
  }

  /**
   * Ignores `offline_access` in a refresh if the token does not have it. An authorization without consent drops it
   * (OpenID Connect Core section 11), and many clients repeat the scopes that they requested.
   */
  function leaveOutOffline(granted: ReadonlySet<string>): void {
    const params: { scope?: unknown } | undefined = Provider.ctx?.oidc.params
    if (typeof params?.scope !== 'string' || granted.has('offline_access')) return
    params.scope =
      params.scope
        .split(' ')
        .filter((name) => name !== 'offline_access')
        .join(' ') || undefined
  }

  function currentRoute(): string | undefined {
    return Provider.ctx?.oidc.route
  }

  function unhidden(value: string): string {
    return value.startsWith(hidden) ? value.slice(hidden.length) : value
  }
}
