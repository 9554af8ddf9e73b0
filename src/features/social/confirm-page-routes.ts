import type { FastifyPluginAsync } from 'fastify'
import { visitOf } from '../../auth/access/visit.ts'
import { ownAccount, remedyOf } from '../../pages/account/account-pages.ts'
import { continuing } from '../../pages/after-form.ts'
import { withReturn } from '../../pages/continuation.ts'
import { formOf, formRoute } from '../../pages/form-page.ts'
import { accountPage, confirmPage } from '../../pages/links.ts'
import { addPages } from '../../pages/pages.ts'
import { HttpError } from '../../platform/errors.ts'
import { confirmationFlow } from './confirmation/request.ts'
import { returnOf } from './flow-request.ts'
import type { LinkOptions } from './links/options.ts'
import { reportFailure } from './log-failure.ts'
import { LinkParams } from './schemas.ts'

/** The buttons of linked providers on the confirmation page. */
const confirmPageRoutes: FastifyPluginAsync<LinkOptions> = async (app, { begin, providerOf }) => {
  await addPages(app, { redirectFor: (error, request) => remedyOf(error, request, accountPage) })

  formRoute(app, {
    path: `${confirmPage}/providers/:id`,
    operation: 'ProviderConfirmation',
    config: { ...ownAccount, alsoAnswers: [404] },
    params: LinkParams,
    summary: 'confirm with a linked provider',
    description: 'Like `POST /auth/{provider}/confirm`. The response is a page that continues to the provider.',
    response: { 200: continuing },
    next: 'Back to the page, with `error`.',
    form: formOf('ProviderConfirmationForm', { return_to: 'The path of svc to continue to.' }),
    async send(request, reply) {
      const provider = providerOf(request.params.id)
      const returnTo = returnOf(request.body.return_to) ?? accountPage
      try {
        const flow = await confirmationFlow(visitOf(request), provider, { mode: 'page', returnTo })
        return await begin(request, reply, provider, flow)
      } catch (error) {
        if (error instanceof HttpError && error.statusCode === 401) throw error
        const { code } = await reportFailure(visitOf(request), provider, error, { isRecorded: false })
        return withReturn(confirmPage, returnTo, { error: code })
      }
    },
  })
}

export default confirmPageRoutes
