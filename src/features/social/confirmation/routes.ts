import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { visitOf } from '../../../auth/access/visit.ts'
import { returnOf } from '../flow-request.ts'
import type { LinkOptions } from '../links/options.ts'
import { reportFailure } from '../log-failure.ts'
import { BeginBody, ProviderParams, UrlAnswer } from '../schemas.ts'
import { confirmationFlow } from './request.ts'

/** Confirmation by a new provider sign-in, for users without a password. */
const confirmation: FastifyPluginAsyncTypebox<LinkOptions> = async (app, { begin, providerOf }) => {
  app.post(
    '/auth/:provider/confirm',
    {
      // POST with CSRF protection: a provider with a live session may respond without a click.
      config: { access: { family: 'session', caller: 'required' }, unverified: 'allowed', alsoAnswers: [400, 404] },
      schema: {
        operationId: 'confirmWithProvider',
        tags: ['Social login'],
        summary: 'Start a confirmation by provider, for users without a password',
        description:
          'Redirect the browser to the URL. The provider requires a new sign-in, and the callback counts as a password confirmation. Only OpenID providers that return `auth_time` can confirm.',
        params: ProviderParams,
        body: BeginBody,
        response: { 200: UrlAnswer },
      },
    },
    async (request, reply) => {
      const provider = providerOf(request.params.provider)
      const returnTo = returnOf(request.body.return_to)
      const flow = await confirmationFlow(visitOf(request), provider, { mode: 'browser', returnTo })
      try {
        return { url: await begin(request, reply, provider, flow) }
      } catch (error) {
        throw await reportFailure(visitOf(request), provider, error, { isRecorded: false })
      }
    },
  )
}

export default confirmation
