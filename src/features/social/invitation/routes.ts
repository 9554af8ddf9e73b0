import type { FastifyPluginAsync } from 'fastify'
import { visitOf } from '../../../auth/access/visit.ts'
import { findInvitation, invitationPageOf, invitationPath } from '../../../identity/invitations.ts'
import { continuing } from '../../../pages/after-form.ts'
import { formOf, formRoute } from '../../../pages/form-page.ts'
import { addPages } from '../../../pages/pages.ts'
import { Type } from '../../../platform/json-schema.ts'
import type { LinkOptions } from '../links/options.ts'
import { reportFailure } from '../log-failure.ts'
import { LinkParams } from '../schemas.ts'

const Params = Type.Object({
  token: Type.String({ maxLength: 64, description: 'The token of the mailed link.' }),
  ...LinkParams.properties,
})

/** The buttons of providers on the page of an invitation. */
const invitationRoutes: FastifyPluginAsync<LinkOptions> = async (app, { begin, providerOf }) => {
  await addPages(app)

  formRoute(app, {
    path: `${invitationPath}/providers/:id`,
    operation: 'ProviderInvitation',
    config: { access: { family: 'session', caller: 'guest' }, limit: 'register', alsoAnswers: [404] },
    params: Params,
    summary: 'accept an invitation with an account at a provider',
    description:
      'The response is a page that continues to the provider. After the sign-in there, the callback creates the account with a verified address, links the account at the provider, and signs the browser in. The address at the provider does not matter. An invitation works once.',
    response: { 200: continuing },
    form: formOf('ProviderInvitationForm', {}),
    async send(request, reply) {
      const { token, id } = request.params
      const provider = providerOf(id)
      const page = invitationPageOf(token)
      if (!(await findInvitation(app, token, app.clock.now()))) return page
      const place = {
        mode: 'page',
        isReauthentication: false,
        deviceName: null,
        returnTo: null,
        session: null,
      } as const
      try {
        return await begin(request, reply, provider, { ...place, intent: 'invitation', invitation: token })
      } catch (error) {
        const { code } = await reportFailure(visitOf(request), provider, error, { isRecorded: false })
        return `${page}?error=${code}`
      }
    },
  })
}

export default invitationRoutes
