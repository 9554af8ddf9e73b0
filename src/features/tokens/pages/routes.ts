import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { callerOf } from '../../../access/caller.ts'
import { addAccountPages, sectionAnswers, sectionPath, verifiedAccount } from '../../../account/account-pages.ts'
import { ListQuery, listPage } from '../../../account/list-page.ts'
import { showToken, TokenForm, type TypedToken, textList } from '../../../account/token-form.ts'
import type { Config } from '../../../config/schema.ts'
import { type FieldErrors, validationFailed } from '../../../errors.ts'
import { formType } from '../../../http/bodies.ts'
import { checkBody } from '../../../http/check-body.ts'
import { textsOf } from '../../../http/texts.ts'
import { Type } from '../../../json-schema.ts'
import { pageAnswers } from '../../../pages/pages.ts'
import { endOfToken } from '../../../tokens/bearer.ts'
import { tokenOwner } from '../../../tokens/issue.ts'
import { requireRevoked } from '../../../tokens/revoke.ts'
import { listTokens } from '../../../tokens/store.ts'
import { createApiToken } from '../create.ts'
import { CreateTokenBody, TokenParams } from '../schemas.ts'
import { abilityChoices, endOf, lifetimeChoices } from './choices.ts'

const path = sectionPath('tokens')
const newPath = `${path}/new`

const confirmed = { ...verifiedAccount, recentPassword: ({ tokens }: Config) => tokens.confirm_password }

/** The section with the API tokens. */
const tokenPages: FastifyPluginAsyncTypebox = async (app) => {
  await addAccountPages(app, 'tokens')

  app.get(
    path,
    {
      config: verifiedAccount,
      schema: {
        operationId: 'showTokens',
        tags: ['Account pages'],
        summary: 'Page: API tokens',
        description: 'Like `GET /api/tokens`, newest first.',
        querystring: ListQuery,
        response: sectionAnswers,
      },
    },
    async (request, reply) => {
      const text = textsOf(request)
      const { expiration } = app.config.current()
      const all = (await listTokens(app.database, tokenOwner(callerOf(request)))).reverse()
      const { entries, nextHref } = listPage(path, all, request.query.after)
      const tokens = entries.map(({ id, name, abilities, created_at, last_used_at, expires_at }) => {
        const end = endOfToken({ expiresAt: expires_at, createdAt: created_at }, expiration)
        return {
          action: `${path}/${id}/revoke`,
          name,
          abilities: abilities.map((ability) => (ability === '*' ? text('account-token-new.everything') : ability)),
          createdAt: created_at,
          lastUsedAt: last_used_at,
          expiresAt: end === null ? null : new Date(end).toISOString(),
          isExpired: end !== null && end <= app.clock.now(),
        }
      })
      return reply.page('account-token-list', {
        title: text('account-tokens.title'),
        lead: text('account-tokens.lead'),
        none: text('account-tokens.none'),
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
    const text = textsOf(request)
    const config = app.config.current()
    const chosen = textList(typed.abilities)
    const lifetimes = lifetimeChoices(config)
    const latest = config.expiration === null ? null : new Date(app.clock.now() + config.expiration)
    return reply.page(
      'account-token-new',
      {
        title: text('account-tokens.new'),
        action: newPath,
        name: typeof typed.name === 'string' ? typed.name : '',
        choices: abilityChoices(config, text).map((choice) => ({ ...choice, isChosen: chosen.includes(choice.value) })),
        lifetimes,
        lifetime: typed.lifetime === undefined ? (lifetimes.includes(90) ? '90' : '') : String(typed.lifetime ?? ''),
        latestAt: latest?.toISOString() ?? null,
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
        operationId: 'showTokenForm',
        tags: ['Account pages'],
        summary: 'Page: create an API token',
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
        operationId: 'submitTokenForm',
        tags: ['Account pages'],
        summary: 'Form: create an API token',
        description: 'Like `POST /api/tokens/create`. The response shows the token once.',
        consumes: [formType],
        body: TokenForm,
        response: { 200: pageAnswers.page, 303: sectionAnswers[303] },
      },
    },
    (request, reply) =>
      showToken(reply, {
        backHref: path,
        create: async () => {
          const { name, abilities, lifetime } = request.body
          const text = textsOf(request)
          const config = app.config.current()
          const chosen = textList(abilities)
          if (chosen.length === 0) throw validationFailed({ abilities: [text('account-token-new.choose')] })
          const known = abilityChoices(config, text).map(({ value }) => value)
          const days = lifetimeChoices(config).find((days) => String(days) === lifetime) ?? null
          if (!chosen.every((ability) => known.includes(ability))) {
            throw validationFailed({ abilities: ['The selected abilities is invalid.'] })
          }
          if (days === null && typeof lifetime === 'string' && lifetime !== '') {
            throw validationFailed({ expires_at: ['The selected expires at is invalid.'] })
          }
          const fields = { token_name: name, abilities: chosen, expires_at: endOf(days, app.clock.now()) }
          const { accessToken, plainTextToken } = await createApiToken(
            request,
            checkBody(request, CreateTokenBody, fields),
          )
          return { name: accessToken.name, token: plainTextToken }
        },
        show: (errors, status) => form(request, reply, request.body, errors, status),
      }),
  )

  app.post(
    `${path}/:id/revoke`,
    {
      config: verifiedAccount,
      schema: {
        operationId: 'submitTokenRevocation',
        tags: ['Account pages'],
        summary: 'Form: revoke an API token',
        description: 'Like `DELETE /api/tokens/{id}`. 404 for tokens of other users.',
        params: TokenParams,
        response: { 303: Type.Null({ description: 'Back to the page.' }) },
      },
    },
    async (request, reply) => {
      await requireRevoked(request, tokenOwner(callerOf(request)), BigInt(request.params.id))
      return reply.redirect(`${path}?done=token_revoked`, 303)
    },
  )
}

export default tokenPages
