import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { callerOf, requireUser } from '../../../auth/access/caller.ts'
import type { RequestLimit } from '../../../auth/access/request-limits.ts'
import { visitOf } from '../../../auth/access/visit.ts'
import { claimsAbout } from '../../../identity/claims.ts'
import { validationFailed } from '../../../platform/errors.ts'
import { Type } from '../../../platform/json-schema.ts'
import { sessionOrigin } from '../alive.ts'
import { firstPartyClient } from '../clients/clients.ts'
import { ownScopes } from '../clients/scopes.ts'
import { settledResource } from '../clients/targets.ts'
import { signedInOf } from '../protocol/browser.ts'
import { claimsOfApi } from '../protocol/user-claims.ts'
import { connectedApplications, disconnect } from './authorizations.ts'
import { signOwnToken } from './own-token.ts'
import { createPersonalToken, revokePersonalToken } from './personal-tokens.ts'
import {
  Authorization,
  AuthorizationParams,
  FreshTokenAnswer,
  FreshTokenBody,
  PersonalToken,
  PersonalTokenAnswer,
  PersonalTokenBody,
  PersonalTokenParams,
  Scope,
} from './schemas.ts'
import { listPersonalTokens } from './store.ts'

/** A page needs one token per API and lifetime. Each one may take a row of a status list. */
const freshTokenLimit: RequestLimit = { name: 'fresh-token', rate: { max: 60, window: 60_000 }, by: ['user'] }

const own = { access: { family: 'session', caller: 'required' } } as const

const gone = Type.Null({ description: 'Done.' })

/** The user's own OAuth data: personal access tokens, connected applications, and the token of this session. */
const applications: FastifyPluginAsyncTypebox = async (app) => {
  const oauthServer = app.oauth
  app.get(
    '/oauth/scopes',
    {
      config: own,
      schema: {
        operationId: 'listScopes',
        tags: ['Personal access tokens'],
        summary: 'List the API scopes',
        description:
          'The scopes that personal access tokens and OAuth clients can get, with the descriptions of the consent page.',
        response: { 200: Type.Array(Scope) },
      },
    },
    async () => ownScopes(app.config.current()).map(([id, description]) => ({ id, description })),
  )

  app.get(
    '/oauth/personal-access-tokens',
    {
      config: own,
      schema: {
        operationId: 'listPersonalAccessTokens',
        tags: ['Personal access tokens'],
        summary: 'List your personal access tokens',
        description: 'Oldest first, without expired ones. The JWTs are not included.',
        response: { 200: Type.Array(PersonalToken) },
      },
    },
    async (request) => listPersonalTokens(app.database, requireUser(request).id, app.clock.now()),
  )

  app.post(
    '/oauth/personal-access-tokens',
    {
      config: { ...own, recentPassword: ({ tokens }) => tokens.confirm_password },
      schema: {
        operationId: 'createPersonalAccessToken',
        tags: ['Personal access tokens'],
        summary: 'Create a personal access token: a JWT for the APIs',
        description:
          'Requires a recently confirmed password (423) with `tokens.confirm_password`. The token expires after `oauth.personal_access_token_ttl` (90 days). 422 for a user with 1,000 valid tokens. svc mails a notice.',
        body: PersonalTokenBody,
        response: { 200: PersonalTokenAnswer },
      },
    },
    (request) => createPersonalToken(visitOf(request), oauthServer, request.body),
  )

  app.delete(
    '/oauth/personal-access-tokens/:id',
    {
      config: own,
      schema: {
        operationId: 'revokePersonalAccessToken',
        tags: ['Personal access tokens'],
        summary: 'Revoke one of your personal access tokens',
        description:
          'svc rejects the token from the next request on. Other APIs that only verify JWTs accept it until it expires. 404 for tokens of other users.',
        params: PersonalTokenParams,
        response: { 204: gone },
      },
    },
    async (request, reply) => {
      await revokePersonalToken(visitOf(request), request.params.id)
      return reply.code(204).send(null)
    },
  )

  app.get(
    '/oauth/tokens',
    {
      config: own,
      schema: {
        operationId: 'listAuthorizations',
        tags: ['Authorized applications'],
        summary: 'List your connected applications',
        description: 'Without applications that need no consent. At most 1,000 entries.',
        response: { 200: Type.Array(Authorization) },
      },
    },
    (request) => connectedApplications(app, oauthServer, requireUser(request).id),
  )

  app.delete(
    '/oauth/tokens/:id',
    {
      config: own,
      schema: {
        operationId: 'revokeAuthorization',
        tags: ['Authorized applications'],
        summary: 'Disconnect an application',
        description:
          'The tokens of this entry stop working immediately. The next authorization of the application asks for consent again. 404 for authorizations of other users.',
        params: AuthorizationParams,
        response: { 204: gone },
      },
    },
    async (request, reply) => {
      await disconnect(visitOf(request), oauthServer, request.params.id)
      return reply.code(204).send(null)
    },
  )

  app.post(
    '/oauth/token/fresh',
    {
      config: { ...own, limit: freshTokenLimit },
      schema: {
        operationId: 'issueFreshToken',
        tags: ['Authorized applications'],
        summary: 'Get an access token for the APIs that ends with the session',
        description:
          'For single-page applications that call other APIs. `resource` selects an API of the configuration. The JWT has all scopes of the API and expires after its `token_ttl`: request a new one then. Without `resource`, it has all scopes that belong to no API, and expires after `oauth.access_token_ttl` (15 minutes). A user gets at most 60 tokens per minute.',
        body: FreshTokenBody,
        response: { 200: FreshTokenAnswer },
      },
    },
    async (request) => {
      const targets = oauthServer.registry().targets(firstPartyClient)
      const resource = settledResource(request.body.resource ?? undefined, targets)
      const target = targets.find((one) => one.resource === resource) ?? (resource === undefined ? targets[0] : null)
      if (!target) throw validationFailed({ resource: ['The selected resource is invalid.'] })
      const { audience, algorithm, scopes, ttl, claims } = target
      const issuedAt = app.clock.now()
      const user = requireUser(request)
      const config = app.config.current()
      const { accessToken } = await signOwnToken(visitOf(request), await oauthServer.signingKey(algorithm), {
        clientId: firstPartyClient,
        user,
        gid: sessionOrigin(callerOf(request).credentialId),
        scopes,
        signedIn: signedInOf(request),
        audience,
        claims: {
          ...claimsAbout(user, config, claims),
          ...claimsOfApi(user, config, target, { clientId: firstPartyClient, scopes: new Set(scopes) }),
        },
        issuedAt,
        expiresAt: issuedAt + ttl,
      })
      const expires_in = Math.floor(ttl / 1000)
      return { access_token: accessToken, token_type: 'Bearer' as const, expires_in }
    },
  )
}

export default applications
