import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { requireUser } from '../../../auth/access/caller.ts'
import { visitOf } from '../../../auth/access/visit.ts'
import { browserName } from '../../../identity/browser-name.ts'
import { askingOf, registrationOptions } from '../options.ts'
import { registerPasskey } from '../registration.ts'
import { ConditionalBody, CreationOptionsAnswer, RegisterAnswer } from '../schemas.ts'
import { requireFreshPassword, startOnce } from './eligible.ts'

const config = { access: { family: 'session', caller: 'required' }, alsoAnswers: [403, 404, 423] } as const

const rule = '423 unless the user signed in by password less than five minutes ago.'

/** Conditional registration (WebAuthn Level 3): the password manager creates a passkey without a dialogue. */
const conditionalRoutes: FastifyPluginAsyncTypebox = async (app) => {
  app.get(
    '/user/passkeys/conditional/options',
    {
      config,
      schema: {
        operationId: 'getConditionalPasskeyOptions',
        tags: ['Passkeys'],
        summary: 'Options for creating a passkey without a dialogue',
        description: `Pass the options to \`startRegistration()\` with \`useAutoRegister: true\`, then send the result to \`POST /user/passkeys/conditional\` within five minutes. ${rule} 403 if the user has a passkey, or if the session requested these options before.`,
        response: { 200: CreationOptionsAnswer },
      },
    },
    async (request) => {
      const user = requireUser(request)
      await startOnce(visitOf(request), user.id)
      return {
        options: await registrationOptions(visitOf(request), user, askingOf(visitOf(request), 'conditional', user.id)),
      }
    },
  )

  app.post(
    '/user/passkeys/conditional',
    {
      config,
      schema: {
        operationId: 'registerPasskeyConditionally',
        tags: ['Passkeys'],
        summary: 'Register a passkey that was created without a dialogue',
        description: `Completes the ceremony of \`GET /user/passkeys/conditional/options\`. The authenticator may have created the passkey without asking the user. The passkey is named after the browser. ${rule} 403 if the user has a passkey. svc mails a notice.`,
        body: ConditionalBody,
        response: { 200: RegisterAnswer },
      },
      preValidation: async (request) => requireFreshPassword(visitOf(request)),
    },
    async (request) => {
      const user = requireUser(request)
      const name = browserName(request.headers['user-agent'] ?? '') ?? 'Passkey'
      const { credential } = request.body
      const id = await registerPasskey(
        visitOf(request),
        user,
        { name, credential },
        askingOf(visitOf(request), 'conditional', user.id),
      )
      return { id: String(id), name, status: 'passkey-registered' }
    },
  )
}

export default conditionalRoutes
