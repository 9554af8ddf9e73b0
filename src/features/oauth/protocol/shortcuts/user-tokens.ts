import type { FastifyRequest } from 'fastify'
import type { JWTPayload } from 'jose'
import { claimsAbout } from '../../../../identity/claims.ts'
import type { Config } from '../../../../platform/config/schema.ts'
import { constantTimeEqual, sha256Base64url } from '../../../../platform/crypto/hash.ts'
import type { MacKey } from '../../../../platform/crypto/mac.ts'
import { randomId } from '../../../../platform/crypto/random.ts'
import { isMissingUser } from '../../../../platform/database/missing-user.ts'
import type { Metrics } from '../../../../platform/observability/metrics/metrics.ts'
import { secondsOf } from '../../clients/choose-target.ts'
import { idTokenClaimsOf } from '../../clients/claims.ts'
import type { RegisteredClient } from '../../clients/clients.ts'
import type { Algorithm } from '../../keys/jwk.ts'
import type { NewRecord } from '../../records/records.ts'
import { type RecordStore, recordId } from '../../records/store.ts'
import type { StatusLists } from '../../status-lists/status-lists.ts'
import { statusOf } from '../../status-lists/status-of.ts'
import { recordOf } from '../record-of.ts'
import { granted, recordTokens } from '../recorded-tokens.ts'
import { successorKeyOf, successorOf } from '../refresh-successor.ts'
import { accessTokenClaims } from '../user-claims.ts'
import { authenticatedClient, type SecretParts } from './client-secret.ts'
import { type Exchangeable, type ExchangeableParts, findExchangeable } from './exchangeable.ts'
import { noteLostRace } from './lost-races.ts'
import { usualForm } from './usual-form.ts'

interface UserTokenParts extends SecretParts, ExchangeableParts {
  config: Config
  store: RecordStore
  statusLists: StatusLists
  metrics: Metrics | null
  /** With Redis, the database has no codes. */
  redis: object | null
  sign(claims: JWTPayload, algorithm: Algorithm, typ?: string | null): Promise<string>
}

/** What a write did: whether it extended the grant. */
interface Saved {
  isExtended: boolean
}

/** Tokens of a response, and their scopes (RFC 6749 section 5.1). */
interface Issued {
  access_token: string
  expires_in: number
  id_token: string | undefined
  refresh_token: string | undefined
  scope: string
  token_type: 'Bearer'
}

const lasting: Saved = { isExtended: false }
const authentication = ['client_id', 'client_secret']
const refreshGrant = 'refresh_token'
const codeGrant = 'authorization_code'
const usual = new Map([
  [refreshGrant, [...authentication, 'refresh_token']],
  [codeGrant, [...authentication, 'code', 'redirect_uri', 'code_verifier']],
])

/**
 * Exchanges refresh tokens (RFC 6749 section 6) and codes (section 4.1.3) in the usual form. It never rejects a request: the
 * library handles every request that this class does not answer. The library takes several times as long.
 */
export class UserTokens {
  readonly #parts: UserTokenParts
  readonly #successorKey: MacKey

  constructor(parts: UserTokenParts) {
    this.#parts = parts
    this.#successorKey = successorKeyOf(parts.config.app.secret)
  }

  /** Returns the response, or null for a request that the library must decide. */
  async answer(request: FastifyRequest, form: string): Promise<object | null> {
    if (this.#parts.config.hooks.before_token || request.url.includes('?')) return null
    const fields = usualForm(request.headers, form, usual)
    if (!fields) return null
    const isRefresh = fields.get('grant_type') === refreshGrant
    const grant = isRefresh ? refreshGrant : codeGrant
    const authenticated = authenticatedClient(request, fields, this.#parts)
    const { client, noteUse } = authenticated ?? {}
    if (!client?.grants.includes(grant) || client.dpop || client.fapi) return null
    const issued = isRefresh ? await this.#refresh(fields, client) : await this.#exchangeCode(request, fields, client)
    if (!issued) return null
    noteUse?.()
    this.#note(request, { grant, clientId: client.client_id, issued })
    return issued
  }

  async #refresh(fields: URLSearchParams, client: RegisteredClient): Promise<Issued | null> {
    const value = fields.get('refresh_token') ?? ''
    const found = await findExchangeable('RefreshToken', value, client, this.#parts)
    if (!found) return null
    const { source, row } = found
    const next = successorOf(this.#successorKey, value)
    const gty = source.gty?.endsWith(refreshGrant) ? source.gty : `${source.gty ?? ''} ${refreshGrant}`.trim()
    const rotations = (source.rotations ?? 0) + 1
    const record = this.#refreshTokenOf(next, found, { gty, rotations, iiat: source.iiat })
    const { store, clock } = this.#parts
    const save = async () => {
      await store.rotate(row.id, clock.now(), record)
      return lasting
    }
    return this.#issue(found, client, { refreshToken: next, record, save })
  }

  async #exchangeCode(
    request: FastifyRequest,
    fields: URLSearchParams,
    client: RegisteredClient,
  ): Promise<Issued | null> {
    if (this.#parts.redis) return null
    const value = fields.get('code') ?? ''
    const found = await findExchangeable('AuthorizationCode', value, client, this.#parts)
    if (!found || found.source.redirectUri !== fields.get('redirect_uri')) return null
    if (!isProven(found.source, fields.get('code_verifier'))) return null
    const { store, clock } = this.#parts
    const { id } = found.row
    const noteRace = <Result>(result: Result | null) => {
      if (result === null) noteLostRace(request.raw)
      return result
    }
    if (!client.grants.includes(refreshGrant))
      return this.#issue(found, client, {
        save: async () => noteRace((await store.consume(id, clock.now())) ? lasting : null),
      })
    const refreshToken = randomId()
    const record = this.#refreshTokenOf(refreshToken, found, { gty: codeGrant, rotations: 0 })
    const until = this.#untilOf(record, client)
    const save = async () => noteRace(await store.exchange(id, clock.now(), record, { id: found.grant.id, until }))
    return this.#issue(found, client, { refreshToken, record, save })
  }

  /** Row of a refresh token that follows a code or another refresh token. */
  #refreshTokenOf(
    id: string,
    { source }: Exchangeable,
    facts: { gty: string; rotations: number; iiat?: number | undefined },
  ): NewRecord {
    const { registry, clock, seal } = this.#parts
    const { redirectUri: _uri, codeChallenge: _challenge, codeChallengeMethod: _method, ...kept } = source
    const lifetime = secondsOf(registry.refreshTtl(source.clientId))
    const iat = Math.floor(Date.now() / 1000)
    const own = { ...facts, iat, exp: iat + lifetime, iiat: facts.iiat ?? iat, jti: id, kind: 'RefreshToken' }
    return recordOf({ kind: 'RefreshToken', id }, { ...kept, ...own }, clock.now() + lifetime * 1000, seal)
  }

  /** Signs the tokens, and then saves: a failure must not use up what the client has. Null if the library must decide. */
  async #issue(
    found: Exchangeable,
    client: RegisteredClient,
    given: { refreshToken?: string; record?: NewRecord; save(): Promise<Saved | null> },
  ): Promise<Issued | null> {
    const { refreshToken, record, save } = given
    const [access_token, id_token] = await Promise.all([this.#accessToken(found, client), this.#idToken(found, client)])
    const saved = await save().catch((error) => {
      // The library has its own answer for a user who was deleted meanwhile.
      if (isMissingUser(error)) return null
      throw error
    })
    if (!saved) return null
    if (record) await this.#extend(found, this.#untilOf(record, client), saved)
    return {
      access_token,
      expires_in: secondsOf(found.target.ttl),
      id_token,
      refresh_token: refreshToken,
      scope: found.scopes.join(' '),
      token_type: 'Bearer',
    }
  }

  /** Until when a grant must last: the end of the last token of a refresh token, in Unix ms. */
  #untilOf({ expiresAt }: NewRecord, { client_id }: RegisteredClient): number {
    return (expiresAt ?? 0) + this.#parts.registry.maxAccessTtl(client_id)
  }

  async #extend({ source, grant, session }: Exchangeable, until: number, { isExtended }: Saved): Promise<void> {
    const { store } = this.#parts
    if (!isExtended && (grant.expiresAt ?? 0) < until) await store.extendGrant(grant.id, until)
    const { expiresWithSession, sessionUid } = source
    if (expiresWithSession && sessionUid && (session?.expiresAt ?? 0) < until)
      await store.extendSession(recordId('uid', sessionUid), until)
  }

  async #accessToken({ source, user, target, scopes }: Exchangeable, { client_id }: RegisteredClient): Promise<string> {
    const { config, registry, statusLists, sign } = this.#parts
    const { audience, algorithm, ttl } = target
    const iat = Math.floor(Date.now() / 1000)
    const times = { iat, exp: iat + secondsOf(ttl) }
    const jti = randomId()
    const { accountId, grantId: gid, acr, authTime: auth_time } = source
    const own = {
      ...{ scopes, gid, acr, auth_time },
      ...accessTokenClaims(user, config, registry, { clientId: client_id, aud: audience, scopes: new Set(scopes) }),
    }
    const facts = { jti, ...times, clientId: client_id, accountId, resourceServer: { audience } }
    const status = await statusOf(statusLists, facts, own)
    const standard = { jti, sub: accountId, ...times, scope: scopes.join(' '), client_id }
    return sign({ ...own, ...status, ...standard, iss: config.app.url, aud: audience }, algorithm)
  }

  /** ID token (OpenID Connect Core section 2); undefined without the scope `openid`. */
  async #idToken({ source, user, identity }: Exchangeable, client: RegisteredClient): Promise<string | undefined> {
    if (identity.length === 0) return undefined
    const { config, registry, sign } = this.#parts
    const { client_id } = client
    const { acr, amr, authTime: auth_time, nonce, sid } = source
    const available: Record<string, unknown> = {
      ...idTokenClaimsOf(config, user, registry, client_id),
      acr,
      amr,
      auth_time,
    }
    const names = identity.flatMap((scope) => registry.claimsByScope[scope] ?? [])
    const iat = Math.floor(Date.now() / 1000)
    const claims = {
      ...Object.fromEntries(names.map((name) => [name, available[name]])),
      ...{ nonce, sid },
      ...claimsAbout(user, config, client.claims),
      ...{ aud: client_id, exp: iat + secondsOf(client.access_token_ttl ?? config.oauth.access_token_ttl), iat },
      ...{ iss: config.app.url, sub: source.accountId },
    }
    return sign(claims, client.id_token_signed_response_alg, null)
  }

  #note(
    { server }: FastifyRequest,
    { grant, clientId, issued }: { grant: string; clientId: string; issued: Issued },
  ): void {
    const { metrics } = this.#parts
    for (const kind of ['access_token', 'refresh_token', 'id_token'] as const)
      if (issued[kind]) metrics?.token(kind, grant)
    recordTokens(server, () => ({
      ...{ endpoint: 'token', clientId, grant, isAsked: false, verdict: granted },
      scopes: issued.scope.split(' '),
      resources: [],
    }))
  }
}

/** Tests the proof of a code (RFC 7636 section 4.6). False for a code without a challenge, which the library handles. */
function isProven({ codeChallenge, codeChallengeMethod }: Exchangeable['source'], verifier: string | null): boolean {
  if (codeChallenge === undefined || codeChallengeMethod !== 'S256' || verifier === null) return false
  return /^[\w.~-]{43,128}$/.test(verifier) && constantTimeEqual(sha256Base64url(verifier), codeChallenge)
}
