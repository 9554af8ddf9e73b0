import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { requireUser } from '../../../auth/access/caller.ts'
import { secondFactorErrors } from '../../../auth/sign-in/second-factor.ts'
import { findTwoFactor } from '../../../identity/two-factor.ts'
import { addAccountPages, ownAccount, sectionAnswers, submitForm } from '../../../pages/account/account-pages.ts'
import { withReturn } from '../../../pages/continuation.ts'
import { pageAnswers } from '../../../pages/pages.ts'
import { type FieldErrors, HttpError } from '../../../platform/errors.ts'
import { formType } from '../../../platform/http/bodies.ts'
import { uncheckedText } from '../../../platform/http/fields.ts'
import { isSet } from '../../../platform/http/flag.ts'
import { returnTarget } from '../../../platform/http/return-to.ts'
import { type Static, Type } from '../../../platform/json-schema.ts'
import { disable, enable } from '../change.ts'
import { setupOf } from '../setup.ts'
import { codesPath, confirmPath, disablePath, recentPassword, section, setupPath, shownCodes } from './section.ts'

const returnField = uncheckedText('Where to continue after the setup.')
const Query = Type.Object({ return_to: returnField })

const StartForm = Type.Object(
  {
    return_to: returnField,
    restart: uncheckedText('`1`: replaces a second factor that is not confirmed.'),
  },
  { title: 'TwoFactorSetupForm', additionalProperties: false },
)

const CodeForm = Type.Object(
  { return_to: returnField, code: uncheckedText('Six digits of the authenticator app.') },
  { title: 'TwoFactorConfirmationForm', additionalProperties: false },
)

/** The section with the authenticator app: its state, setup and removal. */
const twoFactorPages: FastifyPluginAsyncTypebox = async (app) => {
  await addAccountPages(app, 'two-factor')
  const sensitive = { ...ownAccount, recentPassword }

  const factorOf = (request: FastifyRequest) => findTwoFactor(app.database, requireUser(request).id)

  const targetOf = ({ return_to }: Static<typeof Query>) => returnTarget(app.config.current(), return_to)

  async function setupPage(
    request: FastifyRequest,
    reply: FastifyReply,
    returnTo: string | null,
    errors: FieldErrors = {},
    status = 200,
  ): Promise<FastifyReply> {
    const backHref = withReturn(section, returnTo)
    if ((await factorOf(request))?.confirmed) return reply.redirect(backHref, 303)
    const setup = await setupOf(request)
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

  app.get(
    section,
    {
      config: ownAccount,
      schema: {
        operationId: 'showTwoFactor',
        tags: ['Account pages'],
        summary: 'Page: two-factor authentication',
        description:
          'Whether the user has a second factor, and how many recovery codes are left. The guard redirects browsers here if a rule requires a second factor.',
        querystring: Query,
        response: sectionAnswers,
      },
    },
    async (request, reply) => {
      const stored = await factorOf(request)
      const returnTo = targetOf(request.query)
      const state = stored?.confirmed ? 'on' : stored?.secret ? 'pending' : 'off'
      return reply.page('account-two-factor', {
        state,
        codesLeft: stored?.confirmed ? app.secondFactor.recoveryCodesLeft(requireUser(request).id, stored) : 0,
        returnTo,
        setupHref: withReturn(setupPath, returnTo),
        codesHref: codesPath,
        disableHref: disablePath,
      })
    },
  )

  app.get(
    setupPath,
    {
      config: sensitive,
      schema: {
        operationId: 'showTwoFactorSetup',
        tags: ['Account pages'],
        summary: 'Page: set up the second factor',
        description: 'Shows the QR code and the secret until a code confirms them.',
        querystring: Query,
        response: sectionAnswers,
      },
    },
    (request, reply) => setupPage(request, reply, targetOf(request.query)),
  )

  app.post(
    setupPath,
    {
      config: sensitive,
      schema: {
        operationId: 'submitTwoFactorSetup',
        tags: ['Account pages'],
        summary: 'Form: create the secret of the second factor',
        description: 'Like `POST /user/two-factor-authentication`. Never replaces a confirmed second factor.',
        consumes: [formType],
        body: StartForm,
        response: { 303: Type.Null({ description: 'To the page with the QR code.' }) },
      },
    },
    async (request, reply) => {
      await enable(request, requireUser(request), isSet(request.body.restart) ? 'unconfirmed' : 'none')
      return reply.redirect(withReturn(setupPath, targetOf(request.body)), 303)
    },
  )

  app.post(
    confirmPath,
    {
      config: { ...sensitive, alsoAnswers: [404, 429] },
      schema: {
        operationId: 'submitTwoFactorCode',
        tags: ['Account pages'],
        summary: 'Form: confirm the second factor',
        description:
          'Like `POST /user/confirmed-two-factor-authentication`. Shows the recovery codes, which no page shows again.',
        consumes: [formType],
        body: CodeForm,
        response: { 200: pageAnswers.page, 303: Type.Null({ description: 'Already confirmed: to the section.' }) },
      },
    },
    async (request, reply) => {
      const { code } = request.body
      const returnTo = targetOf(request.body)
      const proof = { code: typeof code === 'string' ? code : null }
      try {
        const isConfirmed = await app.secondFactor.confirm(request, requireUser(request), proof)
        if (!isConfirmed) return await setupPage(request, reply, returnTo, secondFactorErrors({}), 422)
      } catch (error) {
        if (!(error instanceof HttpError) || !error.errors) throw error
        return setupPage(request, reply.headers(error.headers), returnTo, error.errors, error.statusCode)
      }
      return reply.page('account-recovery-codes', await shownCodes(request, returnTo ?? section))
    },
  )

  app.get(
    disablePath,
    {
      config: sensitive,
      schema: {
        operationId: 'showTwoFactorRemoval',
        tags: ['Account pages'],
        summary: 'Page: disable the second factor',
        description: 'Asks before it disables the second factor.',
        response: sectionAnswers,
      },
    },
    async (_request, reply) => reply.page('account-two-factor-disable', { action: disablePath, backHref: section }),
  )

  app.post(
    disablePath,
    {
      config: sensitive,
      schema: {
        operationId: 'submitTwoFactorRemoval',
        tags: ['Account pages'],
        summary: 'Form: disable the second factor',
        description: 'Like `DELETE /user/two-factor-authentication`.',
        response: { 303: Type.Null({ description: 'To the section.' }) },
      },
    },
    (request, reply) =>
      submitForm(reply, section, {
        change: async () => {
          await disable(request, requireUser(request))
          return 'two_factor_disabled'
        },
      }),
  )
}

export default twoFactorPages
