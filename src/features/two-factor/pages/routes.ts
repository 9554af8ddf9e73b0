import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import { requireUser } from '../../../auth/access/caller.ts'
import { visitOf } from '../../../auth/access/visit.ts'
import { secondFactorErrors } from '../../../auth/sign-in/second-factor.ts'
import { listTrustedBrowsers } from '../../../auth/sign-in/trusted-browsers.ts'
import { browserName } from '../../../identity/browser-name.ts'
import { findTwoFactor } from '../../../identity/two-factor.ts'
import { addAccountPages, done, ownAccount } from '../../../pages/account/account-pages.ts'
import { withReturn } from '../../../pages/continuation.ts'
import { formOf, formPage, formRoute, fresh, pageRoute } from '../../../pages/form-page.ts'
import { pageAnswers } from '../../../pages/pages.ts'
import { idParameter, uncheckedText } from '../../../platform/http/fields.ts'
import { isSet } from '../../../platform/http/flag.ts'
import { returnTarget } from '../../../platform/http/return-to.ts'
import { type Static, Type } from '../../../platform/json-schema.ts'
import { disable, enable } from '../change.ts'
import { setupOf } from '../setup.ts'
import { distrust } from '../trusted-browser-routes.ts'
import { codesPath, confirmPath, disablePath, recentPassword, section, setupPath, shownCodes } from './section.ts'

const returnTo = 'Where to continue after the setup.'
const Query = Type.Object({ return_to: uncheckedText(returnTo) })

/** Tests for a browser that opens a page from another page of svc, not in advance (Fetch Metadata). */
const opensFromOwnPage = (headers: IncomingHttpHeaders): boolean =>
  headers['sec-fetch-site'] === 'same-origin' &&
  headers['sec-fetch-mode'] === 'navigate' &&
  headers['sec-fetch-dest'] === 'document' &&
  headers['sec-purpose'] === undefined

/** The section with the authenticator app: its state, setup and removal. */
const twoFactorPages: FastifyPluginAsync = async (app) => {
  await addAccountPages(app, 'two-factor')
  const sensitive = { ...ownAccount, recentPassword }

  const factorOf = (request: FastifyRequest) => findTwoFactor(app.database, requireUser(request).id)

  const targetOf = ({ return_to }: Static<typeof Query>) => returnTarget(app.config.current(), return_to)

  async function setupPage(
    request: FastifyRequest,
    reply: FastifyReply,
    returnTo: string | null,
    { errors, status } = fresh,
  ): Promise<FastifyReply> {
    const backHref = withReturn(section, returnTo)
    if ((await factorOf(request))?.confirmed) return reply.redirect(backHref, 303)
    // A link on a page of svc starts the setup, which has no effect until a code confirms it.
    const isOwnLink = request.method === 'GET' && opensFromOwnPage(request.headers)
    const started = await setupOf(visitOf(request))
    if (!started && isOwnLink) await enable(visitOf(request), requireUser(request), 'none')
    const setup = started ?? (await setupOf(visitOf(request)))
    return reply.page(
      'account-two-factor-setup',
      {
        action: setupPath,
        confirmAction: confirmPath,
        setup: setup && { qrCode: setup.svg, secret: setup.secret, url: setup.url },
        returnTo,
        errors,
        backHref,
      },
      status,
    )
  }

  pageRoute(app, {
    path: section,
    operation: 'TwoFactor',
    config: ownAccount,
    query: Query,
    summary: 'two-factor authentication',
    description:
      'Whether the user has a second factor, and how many recovery codes are left. The guard redirects browsers here if a rule requires a second factor.',
    async page(request, reply) {
      const stored = await factorOf(request)
      const returnTo = targetOf(request.query)
      const browsers = await listTrustedBrowsers(app.database, requireUser(request).id, app.clock.now())
      const state = stored?.confirmed ? 'on' : stored?.secret ? 'pending' : 'off'
      return reply.page('account-two-factor', {
        state,
        codesLeft: stored?.confirmed ? app.secondFactor.recoveryCodesLeft(requireUser(request).id, stored) : 0,
        returnTo,
        setupHref: withReturn(setupPath, returnTo),
        codesHref: codesPath,
        disableHref: disablePath,
        browsers: browsers.map(({ id, user_agent, ip_address, last_used_at }) => ({
          action: `${section}/browsers/${id}/revoke`,
          ...{ userAgent: browserName(user_agent ?? ''), ipAddress: ip_address, usedAt: last_used_at },
        })),
      })
    },
  })

  formRoute(app, {
    path: `${section}/browsers/:id/revoke`,
    operation: 'TrustedBrowserRevocation',
    config: { ...ownAccount, alsoAnswers: [404] },
    params: Type.Object({ id: idParameter('The id of the browser.') }),
    summary: 'end the trust in a browser',
    description: 'Like `DELETE /user/trusted-browsers/{id}`.',
    next: 'Back to the page.',
    async send(request) {
      await distrust(visitOf(request), request.params.id)
      return done(section, 'saved')
    },
  })

  formPage(app, {
    path: setupPath,
    operation: 'TwoFactorSetup',
    config: sensitive,
    show: {
      query: Query,
      summary: 'set up the second factor',
      description:
        'Shows the QR code and the secret until a code confirms them. Creates the secret if a page of svc leads here; otherwise a button does.',
      page: (request, reply) => setupPage(request, reply, targetOf(request.query)),
    },
    submit: {
      summary: 'create the secret of the second factor',
      description: 'Like `POST /user/two-factor-authentication`. Never replaces a confirmed second factor.',
      next: 'To the page with the QR code.',
      form: formOf('TwoFactorSetupForm', {
        return_to: returnTo,
        restart: '`1`: replaces a second factor that is not confirmed.',
      }),
      async send(request) {
        await enable(visitOf(request), requireUser(request), isSet(request.body.restart) ? 'unconfirmed' : 'none')
        return withReturn(setupPath, targetOf(request.body))
      },
    },
  })

  formRoute(app, {
    path: confirmPath,
    operation: 'TwoFactorCode',
    config: { ...sensitive, alsoAnswers: [404, 429] },
    summary: 'confirm the second factor',
    description:
      'Like `POST /user/confirmed-two-factor-authentication`. Shows the recovery codes, which no page shows again.',
    response: { 200: pageAnswers.page },
    next: 'Already confirmed: to the section.',
    form: formOf('TwoFactorConfirmationForm', { return_to: returnTo, code: 'Six digits of the authenticator app.' }),
    async send(request, reply) {
      const { code } = request.body
      const returnTo = targetOf(request.body)
      const proof = { code: typeof code === 'string' ? code : null }
      if (await app.secondFactor.confirm(visitOf(request), requireUser(request), proof))
        return reply.page('account-recovery-codes', await shownCodes(visitOf(request), returnTo ?? section))
      return setupPage(request, reply, returnTo, { errors: secondFactorErrors({}), status: 422 })
    },
    again: (request, reply, state) => setupPage(request, reply, targetOf(request.body), state),
  })

  formPage(app, {
    path: disablePath,
    operation: 'TwoFactorRemoval',
    config: sensitive,
    show: {
      summary: 'disable the second factor',
      description: 'Asks before it disables the second factor.',
      page: (_request, reply) => reply.page('account-two-factor-disable', { action: disablePath, backHref: section }),
    },
    submit: {
      summary: 'disable the second factor',
      description: 'Like `DELETE /user/two-factor-authentication`.',
      next: 'To the section.',
      async send(request) {
        await disable(visitOf(request), requireUser(request))
        return done(section, 'two_factor_disabled')
      },
    },
  })
}

export default twoFactorPages
