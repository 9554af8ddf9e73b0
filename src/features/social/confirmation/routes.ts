import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { callerOf } from '../../../access/caller.ts'
import { isPassword } from '../../../crypto/password.ts'
import { HttpError, unauthenticated } from '../../../errors.ts'
import { findUserById } from '../../../users/users.ts'
import { type FlowRequest, returnOf } from '../flow-request.ts'
import { reportFailure } from '../log-failure.ts'
import type { SocialProvider } from '../provider.ts'
import { BeginBody, ProviderParams, UrlAnswer } from '../schemas.ts'
import { isLinked } from '../store.ts'

interface ConfirmationOptions {
  providerOf: (id: string) => SocialProvider
  /** Starts a flow and returns the URL for the browser. */
  begin: (
    request: FastifyRequest,
    reply: FastifyReply,
    provider: SocialProvider,
    flowRequest: FlowRequest,
  ) => Promise<string>
}

const texts = {
  hasPassword: 'This account has a password. Confirm it with POST /user/confirm-password.',
  noTime: 'This provider does not prove when its user signed in. Confirm in another way.',
  notLinked: 'No account at this provider is linked to yours.',
} as const

const refused = (why: keyof typeof texts) => new HttpError(400, 'access_denied', texts[why])

/** Confirmation by a new provider sign-in, for users without a password. */
const confirmation: FastifyPluginAsyncTypebox<ConfirmationOptions> = async (app, { begin, providerOf }) => {
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
      const { user, credentialId } = callerOf(request)
      const found = user && (await findUserById(app.database, user.id))
      if (!found) throw unauthenticated()
      if (isPassword(found.password)) throw refused('hasPassword')
      if (!provider.provesTime) throw refused('noTime')
      if (!(await isLinked(app.database, found.user.id, provider.id))) throw refused('notLinked')
      const returnTo = returnOf(request.body.return_to)
      const flowRequest = { intent: 'confirm', mode: 'browser', isAnew: true, deviceName: null, returnTo } as const
      try {
        return { url: await begin(request, reply, provider, { ...flowRequest, session: credentialId }) }
      } catch (error) {
        throw await reportFailure(request, provider, error, { isRecorded: false })
      }
    },
  )
}

export default confirmation
