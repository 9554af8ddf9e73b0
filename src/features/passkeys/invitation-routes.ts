import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import { eventContext, visitOf } from '../../auth/access/visit.ts'
import { continueSignIn } from '../../auth/sign-in/challenge.ts'
import { invitedAccount } from '../../auth/sign-in/decisions.ts'
import { browserName } from '../../identity/browser-name.ts'
import { recordEvent } from '../../identity/events.ts'
import { acceptInvitation, findInvitation } from '../../identity/invitations.ts'
import { startPage } from '../../pages/links.ts'
import { validationFailed } from '../../platform/errors.ts'
import type { Static } from '../../platform/json-schema.ts'
import { credentialRefused } from './credential.ts'
import { passkeyMethod } from './method.ts'
import { invitationAsking, invitationOptions, invitedHandle } from './options.ts'
import { attestedPasskey } from './registration.ts'
import { CreationOptionsAnswer, InvitationAnswer, InvitationBody, InvitationOptionsBody } from './schemas.ts'
import { insertPasskey, setUserHandle } from './store.ts'

const guest = { access: { family: 'session', caller: 'guest' }, limit: 'register', alsoAnswers: [404] } as const

const invalid = () => validationFailed({ token: ['This invitation is invalid or has expired.'] })
const taken = () => validationFailed({ email: ['The email has already been taken.'] })

/** Accepts invitations by passkey: the account never has a password. */
const invitations: FastifyPluginAsyncTypebox = async (app) => {
  const requireInvitation = async (token: string) => {
    const invitation = await findInvitation(app, token, app.clock.now())
    if (!invitation) throw invalid()
    return invitation
  }

  app.post(
    '/passkeys/invitation/options',
    {
      config: guest,
      schema: {
        operationId: 'getInvitationPasskeyOptions',
        tags: ['Passkeys'],
        summary: 'Options for accepting an invitation by passkey',
        description:
          'Starts a ceremony in this session. Pass the options to `startRegistration()`, then send the result to `POST /passkeys/invitation` within five minutes.',
        body: InvitationOptionsBody,
        response: { 200: CreationOptionsAnswer },
      },
    },
    async (request, reply) => {
      const { token, name } = request.body
      const { email } = await requireInvitation(token)
      const options = await invitationOptions(visitOf(request), token, { email, name })
      app.sessions.sendCookies(request, reply)
      return { options }
    },
  )

  app.post(
    '/passkeys/invitation',
    {
      config: { ...guest, alsoAnswers: [401, 404] },
      schema: {
        operationId: 'acceptInvitationWithPasskey',
        tags: ['Passkeys'],
        summary: 'Accept an invitation by passkey',
        description:
          'Creates the account with a verified address and this passkey, and signs the browser in. An invitation works once.',
        body: InvitationBody,
        response: { 200: InvitationAnswer },
      },
    },
    async (request, reply) => {
      const { email } = await requireInvitation(request.body.token)
      const account = invitedAccount({ name: request.body.name, email, method: 'passkey' })
      await app.decisions.registration(visitOf(request), account)
      const { user, userVerified } = await accept(request, request.body)
      const login = { user, password: null, remember: false, isNewAccount: true } as const
      await continueSignIn(request, reply, { ...login, method: passkeyMethod(userVerified), channel: 'invitation' })
      return { redirect: new URL(startPage(app.config.current()), app.config.current().app.url).href }
    },
  )

  /** Creates the account with the passkey. A refused passkey does not use the invitation up. */
  async function accept(request: FastifyRequest, { token, name, credential }: Static<typeof InvitationBody>) {
    const origin = eventContext(request)
    const label = browserName(origin.userAgent ?? '') ?? 'Passkey'
    const { passkey, userVerified } = await attestedPasskey(
      visitOf(request),
      invitationAsking(visitOf(request), token),
      { name: label, credential },
      async (text) => credentialRefused(text),
    )
    return app.database.transaction(async (tx) => {
      const user = await acceptInvitation(app, tx, origin, { token, name, password: null })
      if (user === 'invalid') throw invalid()
      if (user === 'taken') throw taken()
      await setUserHandle(tx, user.id, invitedHandle(token))
      const id = await insertPasskey(tx, { ...passkey, userId: user.id })
      if (id === null) throw credentialRefused('This passkey is already registered.')
      const data = { passkey_id: Number(id), backed_up: passkey.backedUp }
      await recordEvent(tx, origin, { type: 'passkey_registered', userId: user.id, data })
      return { user, userVerified }
    })
  }
}

export default invitations
