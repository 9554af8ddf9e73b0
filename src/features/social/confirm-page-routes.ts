import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { ownAccount, remedyOf } from '../../pages/account/account-pages.ts'
import { continuing } from '../../pages/after-form.ts'
import { withReturn } from '../../pages/continuation.ts'
import { accountPage, confirmPage } from '../../pages/links.ts'
import { addPages } from '../../pages/pages.ts'
import { HttpError } from '../../platform/errors.ts'
import { formType } from '../../platform/http/bodies.ts'
import { uncheckedText } from '../../platform/http/fields.ts'
import { Type } from '../../platform/json-schema.ts'
import { confirmationFlow } from './confirmation/request.ts'
import { returnOf } from './flow-request.ts'
import type { LinkOptions } from './links/options.ts'
import { reportFailure } from './log-failure.ts'
import { LinkParams } from './schemas.ts'

const Form = Type.Object(
  { return_to: uncheckedText('The path of svc to continue to.') },
  { title: 'ProviderConfirmationForm', additionalProperties: false },
)

/** The buttons of linked providers on the confirmation page. */
const confirmPageRoutes: FastifyPluginAsyncTypebox<LinkOptions> = async (app, { begin, providerOf }) => {
  await addPages(app, { redirectFor: (error, request) => remedyOf(error, request, accountPage) })

  app.post(
    `${confirmPage}/providers/:id`,
    {
      config: { ...ownAccount, alsoAnswers: [404] },
      schema: {
        operationId: 'submitProviderConfirmation',
        tags: ['Account pages'],
        summary: 'Form: confirm with a linked provider',
        description: 'Like `POST /auth/{provider}/confirm`. The response is a page that continues to the provider.',
        params: LinkParams,
        consumes: [formType],
        body: Form,
        response: { 200: continuing, 303: Type.Null({ description: 'Back to the page, with `error`.' }) },
      },
    },
    async (request, reply) => {
      const provider = providerOf(request.params.id)
      const returnTo = returnOf(request.body.return_to) ?? accountPage
      try {
        const flow = await confirmationFlow(request, provider, { mode: 'page', returnTo })
        const href = await begin(request, reply, provider, flow)
        return reply.redirect(href, 303)
      } catch (error) {
        if (error instanceof HttpError && error.statusCode === 401) throw error
        const { code } = await reportFailure(request, provider, error, { isRecorded: false })
        return reply.redirect(withReturn(confirmPage, returnTo, { error: code }), 303)
      }
    },
  )
}

export default confirmPageRoutes
