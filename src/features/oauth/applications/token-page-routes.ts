import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import { requireUser } from '../../../auth/access/caller.ts'
import { visitOf } from '../../../auth/access/visit.ts'
import { addTokenPages, type TypedToken } from '../../../pages/account/token-pages.ts'
import { validationFailed } from '../../../platform/errors.ts'
import { checkBody } from '../../../platform/http/check-body.ts'
import { languageOf } from '../../../platform/http/language.ts'
import { textsOf } from '../../../platform/http/texts.ts'
import { describeScope, ownScopes } from '../clients/scopes.ts'
import { createPersonalToken, revokePersonalToken } from './personal-tokens.ts'
import { PersonalTokenBody, PersonalTokenParams } from './schemas.ts'
import { listPersonalTokens } from './store.ts'

/** The section with the personal access tokens. */
const tokenPages: FastifyPluginAsyncTypebox = async (app) => {
  const oauthServer = app.oauth
  async function list(request: FastifyRequest) {
    const tokens = await listPersonalTokens(app.database, requireUser(request).id, app.clock.now())
    return tokens.reverse().map(({ id, name, scopes, created_at, expires_at }) => ({
      id,
      name,
      abilities: scopes,
      createdAt: created_at,
      expiresAt: expires_at,
      isExpired: false,
    }))
  }

  const choices = (request: FastifyRequest) =>
    ownScopes(app.config.current()).map(([value]) => {
      const label = describeScope(app.config.current(), value, languageOf(request))
      return { value, label, hint: label === value ? null : value }
    })

  function lifetimes() {
    const { personal_access_token_ttl: ttl } = app.config.current().oauth
    return { lifetimes: [], lifetime: '', latestAt: new Date(app.clock.now() + ttl).toISOString() }
  }

  async function create(request: FastifyRequest, { name }: TypedToken, scopes: string[]) {
    if (scopes.length === 0) throw validationFailed({ scopes: [textsOf(request)('account-token-new.choose')] })
    const body = checkBody(request, PersonalTokenBody, { name, scopes })
    const { accessToken, token } = await createPersonalToken(visitOf(request), oauthServer, body)
    return { name: token.name, token: accessToken }
  }

  await addTokenPages(app, {
    name: 'personal-tokens',
    operation: 'PersonalToken',
    title: 'personal access token',
    article: 'a',
    listPath: '/oauth/personal-access-tokens',
    createPath: '/oauth/personal-access-tokens',
    params: PersonalTokenParams,
    list,
    choices,
    lifetimes,
    create,
    revoke: (request, id) => revokePersonalToken(visitOf(request), id),
  })
}

export default tokenPages
