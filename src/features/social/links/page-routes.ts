import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import { callerOf, requireUser } from '../../../auth/access/caller.ts'
import { visitOf } from '../../../auth/access/visit.ts'
import { confirmationAge } from '../../../auth/sign-in/recent-password.ts'
import { addAccountPages, done, sectionPath, verifiedAccount } from '../../../pages/account/account-pages.ts'
import { continuing } from '../../../pages/after-form.ts'
import { withReturn } from '../../../pages/continuation.ts'
import { formRoute, pageRoute, sectionAnswers } from '../../../pages/form-page.ts'
import { confirmPage } from '../../../pages/links.ts'
import { notFound } from '../../../platform/errors.ts'
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
const linkPages: FastifyPluginAsync<LinkOptions> = async (app, { begin, providerOf }) => {
  await addAccountPages(app, 'providers')

  async function page(request: FastifyRequest, reply: FastifyReply, errors: readonly string[] = [], status = 200) {
    const config = app.config.current()
    const links = await listLinks(app.database, requireUser(request).id)
    const age = confirmationAge(visitOf(request))
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

  pageRoute(app, {
    path,
    operation: 'Providers',
    config: verifiedAccount,
    query: Type.Object({ error: uncheckedText('Why linking failed.') }),
    summary: 'linked provider accounts',
    description: 'Like `GET /user/social-accounts`. Asks for the password before changes.',
    page(request, reply) {
      const { error } = request.query
      const text = textsOf(request)
      if (!isSocialFailure(error)) return page(request, reply)
      const isTaken = error === 'account_exists'
      return page(request, reply, [text(isTaken ? 'account-providers.taken' : 'account-providers.failed')])
    },
  })

  formRoute(app, {
    path: `${path}/:id/link`,
    operation: 'ProviderLink',
    config: { ...confirmed, alsoAnswers: [404] },
    params: LinkParams,
    summary: 'link a provider account',
    description:
      'Like `POST /user/social-accounts/{id}`. The response is a page that continues to the provider, because browsers apply the `form-action` of a page to redirects.',
    response: { 200: continuing, 303: sectionAnswers[303] },
    async send(request, reply) {
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
        return await begin(request, reply, provider, flow)
      } catch (error) {
        const { code } = await reportFailure(visitOf(request), provider, error, { isRecorded: false })
        return `${path}?error=${code}`
      }
    },
  })

  formRoute(app, {
    path: `${path}/:id/unlink`,
    operation: 'ProviderUnlink',
    config: { ...confirmed, alsoAnswers: [404, 422] },
    params: UnlinkParams,
    summary: 'unlink a provider account',
    description:
      'Like `DELETE /user/social-accounts/{id}`. The page says why the last way to sign in cannot be removed.',
    next: 'Back to the page.',
    async send(request) {
      await unlink(visitOf(request), BigInt(request.params.id))
      return done(path, 'unlinked')
    },
    again: (request, reply, { errors, status }) => page(request, reply, Object.values(errors).flat(), status),
  })
}

export default linkPages
