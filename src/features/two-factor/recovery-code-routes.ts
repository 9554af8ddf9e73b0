import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { requireUser } from '../../auth/access/caller.ts'
import { visitOf } from '../../auth/access/visit.ts'
import { findTwoFactor } from '../../identity/two-factor.ts'
import { addAccountPages, ownAccount } from '../../pages/account/account-pages.ts'
import { formOf, formPage, sectionAnswers } from '../../pages/form-page.ts'
import { pageAnswers } from '../../pages/pages.ts'
import { constantTimeEqual } from '../../platform/crypto/hash.ts'
import { validationFailed } from '../../platform/errors.ts'
import { formType } from '../../platform/http/bodies.ts'
import { regenerate } from './change.ts'
import { codesPath, downloadPath, recentPassword, section, shownCodes } from './pages/section.ts'

const DownloadForm = formOf('RecoveryCodesForm', { codes: 'The codes of the page, separated by spaces.' })

const outdated = 'These recovery codes are no longer valid. Create new ones.'

/** The pages that replace the recovery codes, show the new ones once, and download them. */
const recoveryCodePages: FastifyPluginAsyncTypebox = async (app) => {
  await addAccountPages(app, 'two-factor')
  const sensitive = { ...ownAccount, recentPassword }

  formPage(app, {
    path: codesPath,
    operation: 'RecoveryCodes',
    config: sensitive,
    show: {
      summary: 'new recovery codes',
      description: 'Asks before it replaces the recovery codes.',
      async page(request, reply) {
        const stored = await findTwoFactor(app.database, requireUser(request).id)
        if (!stored?.confirmed) return reply.redirect(section, 303)
        return reply.page('account-recovery-codes-new', { action: codesPath, backHref: section })
      },
    },
    submit: {
      summary: 'replace the recovery codes',
      description: 'Like `POST /user/two-factor-recovery-codes`. Shows the new codes, which no page shows again.',
      response: { 200: pageAnswers.page },
      next: 'To the section: no second factor.',
      async send(request, reply) {
        const user = requireUser(request)
        if (!(await findTwoFactor(app.database, user.id))?.confirmed) return section
        await regenerate(visitOf(request), user)
        return reply.page('account-recovery-codes', await shownCodes(visitOf(request)))
      },
    },
  })

  app.post(
    downloadPath,
    {
      config: sensitive,
      schema: {
        operationId: 'downloadRecoveryCodes',
        tags: ['Account pages'],
        summary: 'Form: download the recovery codes',
        description:
          'Only the page that shows the codes can call it, because its form contains them. 422 if they are no longer valid.',
        consumes: [formType],
        body: DownloadForm,
        response: {
          200: {
            description: 'A text file.',
            content: { 'text/plain': { schema: { type: 'string' } } },
            headers: { 'Content-Disposition': { type: 'string', description: '`attachment`.' } },
          },
          303: sectionAnswers[303],
        },
      },
    },
    async (request, reply) => {
      const { codes } = await shownCodes(visitOf(request))
      const given = request.body.codes
      const isCurrent = typeof given === 'string' && codes.length > 0 && constantTimeEqual(codes.join(' '), given)
      if (!isCurrent) throw validationFailed({ codes: [outdated] })
      const lines = [app.config.current().app.name, requireUser(request).email, '', ...codes, '']
      return reply
        .type('text/plain; charset=utf-8')
        .header('content-disposition', 'attachment; filename="recovery-codes.txt"')
        .serializer(String)
        .send(lines.join('\r\n'))
    },
  )
}

export default recoveryCodePages
