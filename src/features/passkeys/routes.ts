import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import { requireUser } from '../../auth/access/caller.ts'
import { eventContext, visitOf } from '../../auth/access/visit.ts'
import { addMethod } from '../../auth/sign-in/authentication-methods.ts'
import { continueSignIn } from '../../auth/sign-in/challenge.ts'
import { markConfirmed } from '../../auth/sign-in/recent-password.ts'
import { recordEvents } from '../../identity/events.ts'
import { linkTo } from '../../pages/links.ts'
import { notFound, validationFailed } from '../../platform/errors.ts'
import appRoutes from './app-routes.ts'
import { verifyPasskey } from './assertion.ts'
import conditionalRoutes from './conditional/routes.ts'
import invitationRoutes from './invitation-routes.ts'
import managementRoutes from './management-routes.ts'
import { passkeyMethod } from './method.ts'
import { askingOf, challengeLimit, loginOptions, userOptions } from './options.ts'
import { ConfirmAnswer, ConfirmBody, LoginAnswer, LoginBody, RequestOptionsAnswer } from './schemas.ts'
import secondFactorRoutes from './second-factor-routes.ts'
import { frontEndHome, usedMark } from './used.ts'

const guest = { access: { family: 'session', caller: 'guest' }, alsoAnswers: [404] } as const
const session = { access: { family: 'session', caller: 'required' }, alsoAnswers: [404] } as const

/** Laravel's `boolean` rule: any other value is an error, not false. */
function flagOf(value: unknown): boolean {
  if (value === undefined || value === false || value === 0 || value === '0') return false
  if (value === true || value === 1 || value === '1') return true
  throw validationFailed({ remember: ['The remember field must be true or false.'] })
}

const loginAsking = (request: FastifyRequest) => askingOf(visitOf(request), 'login', null)

/** Passkeys (WebAuthn): sign-in, confirmation, registration and management. */
const passkeys: FastifyPluginAsyncTypebox = async (app) => {
  app.addHook('onRequest', async () => {
    if (!app.config.current().passkeys.enabled) throw notFound()
  })

  app.get(
    '/passkeys/login/options',
    {
      config: { ...guest, limit: challengeLimit },
      schema: {
        operationId: 'getPasskeyLoginOptions',
        tags: ['Passkeys'],
        summary: 'Options for signing in by passkey',
        description:
          'Starts a ceremony in this session. Pass the options to `startAuthentication()`, then send the result to `POST /passkeys/login` within five minutes. 60 requests per minute and address.',
        response: { 200: RequestOptionsAnswer },
      },
    },
    async (request) => ({ options: await loginOptions(visitOf(request), loginAsking(request)) }),
  )

  app.post(
    '/passkeys/login',
    {
      config: guest,
      schema: {
        operationId: 'loginWithPasskey',
        tags: ['Passkeys'],
        summary: 'Sign a browser in by passkey',
        description:
          'Completes the ceremony of `GET /passkeys/login/options`. A passkey with user verification counts as both factors. Otherwise `two_factor: true` asks for a code at `/two-factor-challenge`.',
        body: LoginBody,
        response: { 200: LoginAnswer },
      },
    },
    async (request, reply) => {
      const remember = flagOf(request.body.remember)
      const { user, password, userVerified } = await verifyPasskey(
        visitOf(request),
        request.body.credential,
        loginAsking(request),
      )
      const login = { user, password, remember, method: passkeyMethod(userVerified), channel: 'passkey' } as const
      const outcome = await continueSignIn(request, reply, login)
      app.cookies.set(request, reply, ...usedMark)
      if (outcome === 'signed_in') return { redirect: frontEndHome(app) }
      return { two_factor: true, redirect: linkTo(app.config.current(), 'two_factor') }
    },
  )

  app.get(
    '/passkeys/confirm/options',
    {
      config: session,
      schema: {
        operationId: 'getPasskeyConfirmationOptions',
        tags: ['Passkeys'],
        summary: 'Options for confirming by passkey',
        description:
          'Lists the passkeys of the user. Pass the options to `startAuthentication()`, then send the result to `POST /passkeys/confirm` within five minutes.',
        response: { 200: RequestOptionsAnswer },
      },
    },
    async (request) => ({ options: await userOptions(visitOf(request), 'confirm', requireUser(request)) }),
  )

  app.post(
    '/passkeys/confirm',
    {
      config: session,
      schema: {
        operationId: 'confirmWithPasskey',
        tags: ['Passkeys'],
        summary: 'Confirm by passkey, in place of the password',
        description:
          'Completes the ceremony of `GET /passkeys/confirm/options`, and unlocks routes that answer 423. A user with a second factor needs a passkey with user verification.',
        body: ConfirmBody,
        response: { 200: ConfirmAnswer },
      },
    },
    async (request, reply) => {
      const asking = askingOf(visitOf(request), 'confirm', requireUser(request).id)
      const { user, userVerified } = await verifyPasskey(visitOf(request), request.body.credential, asking)
      const facts = { userId: user.id, data: { method: 'passkey' } }
      await recordEvents(app.database, eventContext(request), { type: 'password_confirmed', ...facts })
      await addMethod(visitOf(request), passkeyMethod(userVerified))
      await markConfirmed(visitOf(request))
      app.cookies.set(request, reply, ...usedMark)
      return { redirect: frontEndHome(app) }
    },
  )

  await app.register(secondFactorRoutes)
  await app.register(managementRoutes)
  await app.register(conditionalRoutes)
  await app.register(invitationRoutes)
  await app.register(appRoutes)
}

export default passkeys
