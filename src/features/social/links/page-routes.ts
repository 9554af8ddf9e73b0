import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { callerOf, requireUser } from '../../../auth/access/caller.ts'
import { confirmationAge } from '../../../auth/sign-in/recent-password.ts'
import { addAccountPages, sectionAnswers, sectionPath, verifiedAccount } from '../../../pages/account/account-pages.ts'
import { continuing } from '../../../pages/after-form.ts'
import { withReturn } from '../../../pages/continuation.ts'
import { confirmPage } from '../../../pages/links.ts'
import { HttpError, notFound } from '../../../platform/errors.ts'
import { uncheckedText } from '../../../platform/http/fields.ts'
import { textsOf } from '../../../platform/http/texts.ts'
import { Type } from '../../../platform/json-schema.ts'
import { brandingOf } from '../buttons.ts'
import { isSocialFailure } from '../failure.ts'
import { reportFailure } from '../log-failure.ts'
import { findProvider, listProviders } from '../providers/provider.ts'
import { LinkParams, UnlinkParams } from '../schemas.ts'
import { listLinks } from '../store.ts'
import { unlink } from '../unlink.ts'
import type { LinkOptions } from './options.ts'

const path = sectionPath('providers')

/** An attacker at an unattended browser must not be able to add or remove a way to sign in. */
const confirmed = { ...verifiedAccount, recentPassword: () => true }

/** The section with the linked provider accounts. */
const linkPages: FastifyPluginAsyncTypebox<LinkOptions> = async (app, { begin, providerOf }) => {
  await addAccountPages(app, 'providers')

  async function page(request: FastifyRequest, reply: FastifyReply, errors: readonly string[] = [], status = 200) {
    const config = app.config.current()
    const links = await listLinks(app.database, requireUser(request).id)
    const age = confirmationAge(request)
    return reply.page(
      'account-providers',
      {
        links: links.map(({ id, provider, email, name, created_at, last_used_at }) => ({
          action: `${path}/${id}/unlink`,
          label: findProvider(config, provider)?.label ?? provider,
          account: email ?? name,
          createdAt: created_at,
          lastUsedAt: last_used_at,
        })),
        providers: listProviders(config)
          .filter((provider) => provider.config.link)
          .map((provider) => ({ action: `${path}/${provider.id}/link`, ...brandingOf(provider) })),
        confirmHref: age === null || age > config.passwords.confirm_timeout ? withReturn(confirmPage, path) : null,
        errors: { link: errors },
      },
      status,
    )
  }

  app.get(
    path,
    {
      config: verifiedAccount,
      schema: {
        operationId: 'showProviders',
        tags: ['Account pages'],
        summary: 'Page: linked provider accounts',
        description: 'Like `GET /user/social-accounts`. Asks for the password before changes.',
        querystring: Type.Object({ error: uncheckedText('Why linking failed.') }),
        response: sectionAnswers,
      },
    },
    (request, reply) => {
      const { error } = request.query
      const text = textsOf(request)
      if (!isSocialFailure(error)) return page(request, reply)
      const isTaken = error === 'account_exists'
      return page(request, reply, [text(isTaken ? 'account-providers.taken' : 'account-providers.failed')])
    },
  )

  app.post(
    `${path}/:id/link`,
    {
      config: { ...confirmed, alsoAnswers: [404] },
      schema: {
        operationId: 'submitProviderLink',
        tags: ['Account pages'],
        summary: 'Form: link a provider account',
        description:
          'Like `POST /user/social-accounts/{id}`. The response is a page that continues to the provider, because browsers apply the `form-action` of a page to redirects.',
        params: LinkParams,
        response: { 200: continuing, 303: sectionAnswers[303] },
      },
    },
    async (request, reply) => {
      const provider = providerOf(request.params.id)
      if (!provider.config.link) throw notFound()
      const { credentialId: session } = callerOf(request)
      const flow = {
        intent: 'link',
        mode: 'page',
        isReauthentication: false,
        deviceName: null,
        returnTo: path,
        session,
      } as const
      try {
        const href = await begin(request, reply, provider, flow)
        return reply.redirect(href, 303)
      } catch (error) {
        const { code } = await reportFailure(request, provider, error, { isRecorded: false })
        return reply.redirect(`${path}?error=${code}`, 303)
      }
    },
  )

  app.post(
    `${path}/:id/unlink`,
    {
      config: { ...confirmed, alsoAnswers: [404, 422] },
      schema: {
        operationId: 'submitProviderUnlink',
        tags: ['Account pages'],
        summary: 'Form: unlink a provider account',
        description:
          'Like `DELETE /user/social-accounts/{id}`. The page says why the last way to sign in cannot be removed.',
        params: UnlinkParams,
        response: { 303: Type.Null({ description: 'Back to the page.' }) },
      },
    },
    async (request, reply) => {
      try {
        await unlink(request, BigInt(request.params.id))
        return reply.redirect(`${path}?done=unlinked`, 303)
      } catch (error) {
        if (!(error instanceof HttpError) || !error.errors) throw error
        return page(request, reply, Object.values(error.errors).flat(), error.statusCode)
      }
    },
  )
}

export default linkPages
