import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import { callerOf, kindOf } from '../../auth/access/caller.ts'
import { keyForNewToken } from '../../auth/access/dpop.ts'
import { visitOf } from '../../auth/access/visit.ts'
import { authenticate } from '../../auth/sign-in/authenticate.ts'
import { identifierOf } from '../../auth/sign-in/identifier.ts'
import { secondFactorRefused } from '../../auth/sign-in/second-factor.ts'
import { checkTokenSignIn, type TokenSignInInput } from '../../auth/sign-in/token-sign-in.ts'
import { issueForSignIn, tokenOwner } from '../../auth/tokens/issue.ts'
import { requireRevoked, revokeTokens } from '../../auth/tokens/revoke.ts'
import { addressUnverified, openTokenSignIns } from '../../auth/tokens/sign-in.ts'
import { listTokens } from '../../auth/tokens/store.ts'
import { TokenSchema } from '../../auth/tokens/token-schema.ts'
import { wireDate } from '../../identity/wire-date.ts'
import { HttpError } from '../../platform/errors.ts'
import { MessageAnswer } from '../../platform/http/message.ts'
import { Type } from '../../platform/json-schema.ts'
import { createApiToken } from './create.ts'
import tokenPages from './pages/routes.ts'
import {
  CreateTokenAnswer,
  CreateTokenBody,
  CurrentCredential,
  type DeviceLogin,
  DeviceLoginAnswer,
  deviceLoginBody,
  TokenParams,
} from './schemas.ts'

const wrongCredentials = (field: 'email' | 'username'): HttpError => {
  const text = 'The provided credentials are incorrect.'
  return new HttpError(422, 'invalid_credentials', text, { errors: { [field]: [text] } })
}

/** Signs a device in by password. If a second factor is missing, the app sends the password again with it. */
async function passwordSignIn(request: FastifyRequest, body: DeviceLogin, proof: TokenSignInInput) {
  const credentials = identifierOf(request.server.config.current(), body)
  const visit = visitOf(request)
  const found = await authenticate(visit, { ...credentials, channel: 'token' })
  if (!found) throw wrongCredentials('email' in credentials ? 'email' : 'username')
  const signIn = await checkTokenSignIn(visit, found, { channel: 'token', proof })
  if (signIn === 'email_unverified') throw addressUnverified()
  if (signIn === 'second_factor') throw secondFactorRefused(proof)
  return { token: await issueForSignIn(visit, signIn, body.device_name ?? ''), user: found.user }
}

const guarded = { access: { family: 'hybrid', caller: 'required' }, alsoAnswers: [403] } as const

/** API tokens: mobile login, creation, listing and revocation. */
const tokens: FastifyPluginAsyncTypebox = async (app) => {
  await app.register(tokenPages)
  /** What `POST /svc/token` accepts besides the password. */
  const added = await Promise.all(app.features.flatMap(({ tokenProof }) => tokenProof?.() ?? []))
  const proofs = added.sort((a, b) => (a.name < b.name ? -1 : 1))

  const signIns = openTokenSignIns(app)

  for (const prefix of app.config.current().compat.prefixes) {
    app.post(
      `/${prefix}/token`,
      {
        // 401 if the account is deleted meanwhile; the others are errors of identity providers.
        config: { access: { family: 'none', pages: 'trusted' }, alsoAnswers: [400, 401, 403, 409] },
        schema: {
          operationId: 'issueDeviceToken',
          tags: ['API tokens'],
          summary: 'Sign a device in: an API token for a password or another proof',
          description:
            'For mobile apps and scripts, without cookies. The proof is an email and password, or the fields of another sign-in. The token has `tokens.default_abilities`. For a user with 1,000 API tokens, it replaces an expired or the least recently used one. If a second factor is required, the response is 422 on `code`: with a password, send everything again with `code` or `recovery_code`; otherwise send the `challenge` of the response with one of them. svc mails a notice, and `rate_limits.login` limits the failures.',
          headers: Type.Object({
            dpop: Type.Optional(
              Type.String({
                description: 'A DPoP proof (RFC 9449). The token then works only with proofs of its key.',
              }),
            ),
          }),
          body: deviceLoginBody(proofs),
          response: { 200: DeviceLoginAnswer },
        },
        preHandler: async (request) => {
          request.keyThumbprint = await keyForNewToken(request)
        },
      },
      async (request, reply) => {
        const { body } = request
        const { code, recovery_code, challenge, terms } = body
        const factor = { code, recovery_code, terms }
        const deviceName = body.device_name ?? ''
        if (challenge) return signIns.resume(visitOf(request), challenge, factor)
        const chosen = proofs.find(({ name }) => Object(body)[name] != null)
        if (!chosen) return passwordSignIn(request, body, factor)
        if (chosen.limit) await app.countRequest(request, reply, chosen.limit)
        return signIns.finish(visitOf(request), await chosen.verify(visitOf(request), body), deviceName, factor)
      },
    )
  }

  for (const path of ['/tokens/create', '/api/tokens/create']) {
    app.post(
      path,
      {
        config: {
          ...guarded,
          isChange: true,
          recentPassword: ({ tokens }) => tokens.confirm_password,
          alsoAnswers: [403, 423],
        },
        schema: {
          operationId: path === '/api/tokens/create' ? 'createToken' : 'createTokenAtOldPath',
          tags: ['API tokens'],
          summary: 'Create an API token',
          description:
            'An API token may create only with abilities that it has and no later expiry than its own. With `tokens.confirm_password` it needs a session with a recently confirmed password (423). The ability `svc:admin` is only for administrators, with the same confirmation; `*` does not include it. 422 for a user with 1,000 API tokens. svc mails a notice.',
          body: CreateTokenBody,
          response: { 200: CreateTokenAnswer },
        },
        preValidation: async (request) => {
          tokenOwner(callerOf(request))
        },
      },
      async (request) => {
        const { plainTextToken } = await createApiToken(visitOf(request), request.body)
        return { token: plainTextToken, message: 'Token created. Copy it now: it is not shown again.' }
      },
    )
  }

  app.get(
    '/api/tokens',
    {
      config: guarded,
      schema: {
        operationId: 'listTokens',
        tags: ['API tokens'],
        summary: 'List your API tokens',
        description: 'Requires a session or an API token; OAuth tokens get 403. Secrets are not included.',
        response: { 200: Type.Array(TokenSchema) },
      },
    },
    async (request) => listTokens(app.database, tokenOwner(callerOf(request))),
  )

  app.get(
    '/api/tokens/current',
    {
      // Every caller may read what its own credential may do.
      config: { access: { family: 'hybrid', caller: 'required' } },
      schema: {
        operationId: 'getCurrentToken',
        tags: ['API tokens'],
        summary: 'What the credential of the request may do',
        description: 'Works with a session, an API token or an access token. The ability `*` allows everything.',
        response: { 200: CurrentCredential },
      },
    },
    async (request) => {
      const caller = callerOf(request)
      return {
        kind: kindOf(caller),
        id: caller.credentialId,
        name: caller.name,
        abilities: [...caller.abilities],
        expires_at: wireDate(caller.expiresAt === null ? null : new Date(caller.expiresAt)),
      }
    },
  )

  app.delete(
    '/api/tokens/current',
    {
      config: { ...guarded, alsoAnswers: [403, 409] },
      schema: {
        operationId: 'revokeCurrentToken',
        tags: ['API tokens'],
        summary: 'Revoke the token in use',
        description: 'The next request with it gets 401. A request with a session gets 409.',
        response: { 200: MessageAnswer },
      },
    },
    async (request) => {
      const caller = callerOf(request)
      tokenOwner(caller)
      if (caller.kind === 'session') {
        throw new HttpError(409, 'no_current_token', 'The request was not authenticated by a token.')
      }
      await caller.revoke(visitOf(request))
      return { message: 'Token revoked.' }
    },
  )

  app.delete(
    '/api/tokens/:id',
    {
      config: guarded,
      schema: {
        operationId: 'revokeToken',
        tags: ['API tokens'],
        summary: 'Revoke one of your API tokens',
        description:
          'The next request with it gets 401. Requires a session or any API token of the user. 404 for tokens of other users.',
        params: TokenParams,
        response: { 200: MessageAnswer },
      },
    },
    async (request) => {
      const userId = tokenOwner(callerOf(request))
      await requireRevoked(visitOf(request), userId, BigInt(request.params.id))
      return { message: 'Token revoked.' }
    },
  )

  app.delete(
    '/api/tokens',
    {
      config: guarded,
      schema: {
        operationId: 'revokeTokens',
        tags: ['API tokens'],
        summary: 'Revoke all your API tokens',
        description:
          'Includes the token that authenticates the request. Sessions, personal access tokens and OAuth tokens stay valid.',
        response: { 200: MessageAnswer },
      },
    },
    async (request) => {
      await revokeTokens(visitOf(request), tokenOwner(callerOf(request)))
      return { message: 'All tokens revoked.' }
    },
  )
}

export default tokens
