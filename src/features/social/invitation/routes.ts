import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { findInvitation, invitationPageOf, invitationPath } from '../../../identity/invitations.ts'
import { continuing } from '../../../pages/after-form.ts'
import { addPages } from '../../../pages/pages.ts'
import { formType } from '../../../platform/http/bodies.ts'
import { Type } from '../../../platform/json-schema.ts'
import type { LinkOptions } from '../links/options.ts'
import { reportFailure } from '../log-failure.ts'
import { LinkParams } from '../schemas.ts'

const Params = Type.Object({
  token: Type.String({ maxLength: 64, description: 'The token of the mailed link.' }),
  ...LinkParams.properties,
})

const Form = Type.Object({}, { title: 'ProviderInvitationForm', additionalProperties: false })

/** The buttons of providers on the page of an invitation. */
const invitationRoutes: FastifyPluginAsyncTypebox<LinkOptions> = async (app, { begin, providerOf }) => {
  await addPages(app)

  app.post(
    `${invitationPath}/providers/:id`,
    {
      config: { access: { family: 'session', caller: 'guest' }, limit: 'register', alsoAnswers: [404] },
      schema: {
        operationId: 'acceptInvitationWithProvider',
        tags: ['Pages'],
        summary: 'Form: accept an invitation with an account at a provider',
        description:
          'The response is a page that continues to the provider. After the sign-in there, the callback creates the account with a verified address, links the account at the provider, and signs the browser in. The address at the provider does not matter. An invitation works once.',
        params: Params,
        consumes: [formType],
        body: Form,
        response: { 200: continuing },
      },
    },
    async (request, reply) => {
      const { token, id } = request.params
      const provider = providerOf(id)
      const page = invitationPageOf(token)
      if (!(await findInvitation(app, token, app.clock.now()))) return reply.redirect(page, 303)
      const place = {
        mode: 'page',
        isReauthentication: false,
        deviceName: null,
        returnTo: null,
        session: null,
      } as const
      try {
        const href = await begin(request, reply, provider, { ...place, intent: 'invitation', invitation: token })
        return reply.redirect(href, 303)
      } catch (error) {
        const { code } = await reportFailure(request, provider, error, { isRecorded: false })
        return reply.redirect(`${page}?error=${code}`, 303)
      }
    },
  )
}

export default invitationRoutes
