import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { requireUser } from '../../../../access/caller.ts'
import { addAccountPages, sectionAnswers, sectionPath, verifiedAccount } from '../../../../account/account-pages.ts'
import { ListQuery, listPage } from '../../../../account/list-page.ts'
import { showToken, TokenForm, type TypedToken, textList } from '../../../../account/token-form.ts'
import type { Config } from '../../../../config/schema.ts'
import { type FieldErrors, validationFailed } from '../../../../errors.ts'
import { formType } from '../../../../http/bodies.ts'
import { checkBody } from '../../../../http/check-body.ts'
import { textsOf } from '../../../../http/texts.ts'
import { Type } from '../../../../json-schema.ts'
import { pageAnswers } from '../../../../pages/pages.ts'
import type { OAuthServer } from '../../protocol/oauth-server.ts'
import { ownScopes } from '../../protocol/scopes.ts'
import { createPersonalToken, revokePersonalToken } from '../personal-tokens.ts'
import { PersonalTokenBody, PersonalTokenParams } from '../schemas.ts'
import { listPersonalTokens } from '../store.ts'

const path = sectionPath('personal-tokens')
const newPath = `${path}/new`

const confirmed = { ...verifiedAccount, recentPassword: ({ tokens }: Config) => tokens.confirm_password }

/** The section with the personal access tokens. */
const tokenPages: FastifyPluginAsyncTypebox<{ oauthServer: OAuthServer }> = async (app, { oauthServer }) => {
  await addAccountPages(app, 'personal-tokens')

  app.get(
    path,
    {
      config: verifiedAccount,
      schema: {
        operationId: 'showPersonalTokens',
        tags: ['Account pages'],
        summary: 'Page: personal access tokens',
        description: 'Like `GET /oauth/personal-access-tokens`, newest first.',
        querystring: ListQuery,
        response: sectionAnswers,
      },
    },
    async (request, reply) => {
      const text = textsOf(request)
      const all = await listPersonalTokens(app.database, requireUser(request).id, app.clock.now())
      const { entries, nextHref } = listPage(path, all.reverse(), request.query.after)
      const tokens = entries.map(({ id, name, scopes, created_at, expires_at }) => ({
        action: `${path}/${id}/revoke`,
        name,
        abilities: scopes,
        createdAt: created_at,
        expiresAt: expires_at,
        isExpired: false,
      }))
      return reply.page('account-token-list', {
        title: text('account-personal-tokens.title'),
        lead: text('account-personal-tokens.lead'),
        none: text('account-personal-tokens.none'),
        tokens,
        newHref: newPath,
        nextHref,
      })
    },
  )

  function form(
    request: FastifyRequest,
    reply: FastifyReply,
    typed: TypedToken = {},
    errors: FieldErrors = {},
    status = 200,
  ) {
    const config = app.config.current()
    const chosen = textList(typed.abilities)
    return reply.page(
      'account-token-new',
      {
        title: textsOf(request)('account-personal-tokens.new'),
        action: newPath,
        name: typeof typed.name === 'string' ? typed.name : '',
        choices: ownScopes(config).map(([value, description]) => ({
          value,
          label: description || value,
          hint: description ? value : null,
          isChosen: chosen.includes(value),
        })),
        lifetimes: [],
        lifetime: '',
        latestAt: new Date(app.clock.now() + config.oauth.personal_access_token_ttl).toISOString(),
        errors,
        backHref: path,
      },
      status,
    )
  }

  app.get(
    newPath,
    {
      config: confirmed,
      schema: {
        operationId: 'showPersonalTokenForm',
        tags: ['Account pages'],
        summary: 'Page: create a personal access token',
        description: 'Asks for the password first with `tokens.confirm_password`.',
        response: sectionAnswers,
      },
    },
    async (request, reply) => form(request, reply),
  )

  app.post(
    newPath,
    {
      config: confirmed,
      schema: {
        operationId: 'submitPersonalTokenForm',
        tags: ['Account pages'],
        summary: 'Form: create a personal access token',
        description: 'Like `POST /oauth/personal-access-tokens`. The response shows the token once.',
        consumes: [formType],
        body: TokenForm,
        response: { 200: pageAnswers.page, 303: sectionAnswers[303] },
      },
    },
    (request, reply) =>
      showToken(reply, {
        backHref: path,
        create: async () => {
          const { name, abilities } = request.body
          const scopes = textList(abilities)
          if (scopes.length === 0) {
            throw validationFailed({ scopes: [textsOf(request)('account-token-new.choose')] })
          }
          const body = checkBody(request, PersonalTokenBody, { name, scopes })
          const { accessToken, token } = await createPersonalToken(request, oauthServer, body)
          return { name: token.name, token: accessToken }
        },
        show: (errors, status) => form(request, reply, request.body, errors, status),
      }),
  )

  app.post(
    `${path}/:id/revoke`,
    {
      config: verifiedAccount,
      schema: {
        operationId: 'submitPersonalTokenRevocation',
        tags: ['Account pages'],
        summary: 'Form: revoke a personal access token',
        description: 'Like `DELETE /oauth/personal-access-tokens/{id}`. 404 for tokens of other users.',
        params: PersonalTokenParams,
        response: { 303: Type.Null({ description: 'Back to the page.' }) },
      },
    },
    async (request, reply) => {
      await revokePersonalToken(request, request.params.id)
      return reply.redirect(`${path}?done=token_revoked`, 303)
    },
  )
}

export default tokenPages
