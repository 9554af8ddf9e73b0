import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { visitOf } from '../../auth/access/visit.ts'
import { emailCodeMethod } from '../../auth/sign-in/authentication-methods.ts'
import { continueSignIn } from '../../auth/sign-in/challenge.ts'
import { LoginAnswer } from '../../auth/sign-in/login-answer.ts'
import { randomId } from '../../platform/crypto/random.ts'
import { notFound, validationFailed } from '../../platform/errors.ts'
import { emailField, rememberFlag } from '../../platform/http/fields.ts'
import { isSet } from '../../platform/http/flag.ts'
import { Type } from '../../platform/json-schema.ts'
import { appHolder } from './token-proof.ts'
import { wrongCode } from './wrong-code.ts'

const RequestBody = Type.Object(
  { email: emailField(), remember: rememberFlag },
  { title: 'LoginCodeRequest', additionalProperties: false },
)

const AppRequestBody = Type.Object(
  { email: emailField() },
  { title: 'AppLoginCodeRequest', additionalProperties: false },
)

const VerifyBody = Type.Object(
  { code: Type.String({ minLength: 1, maxLength: 32, description: 'The six digits of the mail.' }) },
  { title: 'LoginCode', additionalProperties: false },
)

const CodeRequested = Type.Object(
  {
    status: Type.String({ description: '`login-code-sent`.' }),
    message: Type.String({ description: 'A message for people. Its wording may change.' }),
  },
  { title: 'LoginCodeRequested', description: 'The same for every address.' },
)

const AppCodeRequested = Type.Object(
  {
    ...CodeRequested.properties,
    challenge_token: Type.String({ description: 'Sent back with the code. Works for ten minutes.' }),
  },
  { title: 'AppLoginCodeRequested', description: 'The start of a sign-in by mailed code in an app.' },
)

const sent = {
  status: 'login-code-sent',
  message: 'If this address has an account, we have emailed it a sign-in code.',
}

const loggedInWithoutPassword =
  'Logged in. The password was removed, because it was set before this address was verified.'

/** Sign-in by mailed code, for front ends and apps. */
const emailCode: FastifyPluginAsyncTypebox = async (app) => {
  app.addHook('onRequest', async () => {
    if (!app.config.current().login.email_code) throw notFound()
  })

  app.post(
    '/login/email-code',
    {
      config: { access: { family: 'session', caller: 'guest' }, limit: 'mail', alsoAnswers: [404] },
      schema: {
        operationId: 'requestLoginCode',
        tags: ['Sessions'],
        summary: 'Mail a sign-in code',
        description:
          'The response is the same for every address. The code works in this session only: once, for ten minutes, with five attempts. A new code replaces it. `rate_limits.mail` limits the requests. 404 unless `login.email_code` is set.',
        body: RequestBody,
        response: { 202: CodeRequested },
      },
    },
    async (request, reply) => {
      const { email, remember } = request.body
      const holder = request.session.sessionId
      await app.loginCodes.request(visitOf(request), {
        holder,
        email,
        remember: isSet(remember),
        returnTo: null,
        link: true,
      })
      app.sessions.sendCookies(request, reply)
      return reply.code(202).send(sent)
    },
  )

  app.post(
    '/svc/email-code',
    {
      config: { access: { family: 'none', pages: 'trusted' }, limit: 'mail', alsoAnswers: [404] },
      schema: {
        operationId: 'requestLoginCodeInApp',
        tags: ['Sessions'],
        summary: 'Mail a sign-in code to the user of an app, without cookies',
        description:
          'Like `POST /login/email-code`. Send the code as `email_code`, with the `challenge_token`, to `POST /svc/token`.',
        body: AppRequestBody,
        response: { 202: AppCodeRequested },
      },
    },
    async (request, reply) => {
      const challengeToken = randomId()
      const code = { holder: appHolder(challengeToken), remember: false, returnTo: null, link: false }
      await app.loginCodes.request(visitOf(request), { ...code, email: request.body.email })
      return reply.code(202).send({ ...sent, challenge_token: challengeToken })
    },
  )

  app.post(
    '/login/email-code/verify',
    {
      config: { access: { family: 'session', caller: 'guest' }, alsoAnswers: [401, 404, 429] },
      schema: {
        operationId: 'loginWithCode',
        tags: ['Sessions'],
        summary: 'Sign a browser in by mailed code',
        description:
          'Answers like `POST /login`, and verifies the address. If the address was not verified before, svc first removes every credential of the account, which may belong to another person. 422 on `code` if the code is wrong, expired or used. `rate_limits.login` limits the failures.',
        body: VerifyBody,
        response: { 200: LoginAnswer },
      },
    },
    async (request, reply) => {
      const holder = request.session.sessionId
      const proved = await app.loginCodes.verify(visitOf(request), { holder, code: request.body.code })
      if (!proved) throw validationFailed({ code: [wrongCode] })
      const { user, password, remember, passwordRemoved } = proved
      const login = { user, password, remember, method: emailCodeMethod, channel: 'email_code' } as const
      if ((await continueSignIn(request, reply, login)) === 'challenged') return { two_factor: true }
      return { two_factor: false, user, message: passwordRemoved ? loggedInWithoutPassword : 'Logged in.' }
    },
  )
}

export default emailCode
