import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import { callerOf } from '../../../auth/access/caller.ts'
import { visitOf } from '../../../auth/access/visit.ts'
import { tokenExpiry } from '../../../auth/tokens/bearer.ts'
import { tokenOwner } from '../../../auth/tokens/issue.ts'
import { requireRevoked } from '../../../auth/tokens/revoke.ts'
import { listTokens } from '../../../auth/tokens/store.ts'
import { addTokenPages, type TypedToken } from '../../../pages/account/token-pages.ts'
import { validationFailed } from '../../../platform/errors.ts'
import { checkBody } from '../../../platform/http/check-body.ts'
import { textsOf } from '../../../platform/http/texts.ts'
import { createApiToken } from '../create.ts'
import { CreateTokenBody, TokenParams } from '../schemas.ts'
import { abilityChoices, endOf, lifetimeChoices } from './choices.ts'

/** The section with the API tokens. */
const tokenPages: FastifyPluginAsyncTypebox = async (app) => {
  async function list(request: FastifyRequest) {
    const text = textsOf(request)
    const { expiration } = app.config.current()
    const tokens = (await listTokens(app.database, tokenOwner(callerOf(request)))).reverse()
    return tokens.map(({ id, name, abilities, created_at, last_used_at, expires_at }) => {
      const end = tokenExpiry({ expiresAt: expires_at, createdAt: created_at }, expiration)
      return {
        id,
        name,
        abilities: abilities.map((ability) => (ability === '*' ? text('account-token-new.everything') : ability)),
        createdAt: created_at,
        lastUsedAt: last_used_at,
        expiresAt: end === null ? null : new Date(end).toISOString(),
        isExpired: end !== null && end <= app.clock.now(),
      }
    })
  }

  function lifetimes({ lifetime }: TypedToken) {
    const config = app.config.current()
    const choices = lifetimeChoices(config)
    const latest = config.expiration === null ? null : new Date(app.clock.now() + config.expiration)
    return {
      lifetimes: choices,
      lifetime: lifetime === undefined ? (choices.includes(90) ? '90' : '') : String(lifetime ?? ''),
      latestAt: latest?.toISOString() ?? null,
    }
  }

  async function create(request: FastifyRequest, { name, lifetime }: TypedToken, chosen: string[]) {
    const text = textsOf(request)
    const config = app.config.current()
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
      visitOf(request),
      checkBody(request, CreateTokenBody, fields),
    )
    return { name: accessToken.name, token: plainTextToken }
  }

  await addTokenPages(app, {
    name: 'tokens',
    operation: 'Token',
    title: 'API token',
    article: 'an',
    listPath: '/api/tokens',
    createPath: '/api/tokens/create',
    params: TokenParams,
    list,
    choices: (request) => abilityChoices(app.config.current(), textsOf(request)),
    lifetimes,
    create,
    revoke: (request, id) => requireRevoked(visitOf(request), tokenOwner(callerOf(request)), BigInt(id)),
  })
}

export default tokenPages
