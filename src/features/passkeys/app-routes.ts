import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import { callerOf } from '../../auth/access/caller.ts'
import { visitOf } from '../../auth/access/visit.ts'
import { authenticateAgain } from '../../auth/sign-in/authenticate.ts'
import type { User } from '../../identity/user.ts'
import { randomId } from '../../platform/crypto/random.ts'
import { forbidden, validationFailed } from '../../platform/errors.ts'
import { challengeLimit, loginOptions, registrationOptions, tokenAsking } from './options.ts'
import { registerPasskey } from './registration.ts'
import {
  AppCreationOptionsAnswer,
  AppOptionsAnswer,
  AppRegisterBody,
  AppRegistrationBody,
  RegisterAnswer,
} from './schemas.ts'

const guarded = { access: { family: 'hybrid', caller: 'required' }, alsoAnswers: [403, 404] } as const

/** Returns the user of an app. Throws 403 for tokens with limited abilities, because a passkey opens the whole account. */
function appUser(request: FastifyRequest): User {
  const caller = callerOf(request)
  if (caller.kind !== 'api_token' || !caller.user || caller.cant('*')) throw forbidden()
  return caller.user
}

/** A stolen token must not be able to add a passkey. Throws 422 for a wrong password. */
async function confirmPassword(request: FastifyRequest, user: User, password: string | null | undefined) {
  if (!request.server.config.current().passkeys.confirm_password) return
  if (!password) throw validationFailed({ password: ['The password field is required.'] })
  if (await authenticateAgain(visitOf(request), user, password, 'confirm')) return
  throw validationFailed({ password: ['The provided password was incorrect.'] })
}

/** Passkeys in apps: ceremonies without cookies, whose challenges are bound to a challenge token. */
const appRoutes: FastifyPluginAsyncTypebox = async (app) => {
  app.post(
    '/svc/passkeys/options',
    {
      config: {
        access: { family: 'none', pages: 'trusted' },
        limit: challengeLimit,
        needsDatabase: true,
        alsoAnswers: [404],
      },
      schema: {
        operationId: 'createAppPasskeyOptions',
        tags: ['Passkeys'],
        summary: 'Options for signing in an app by passkey, without cookies',
        description:
          'For apps. Pass the options to the platform, then send its response as `credential` with the `challenge_token` to `POST /svc/token` within five minutes. The challenge token works once. 60 requests per minute and address.',
        response: { 200: AppOptionsAnswer },
      },
    },
    async (request) => {
      const challengeToken = randomId()
      return {
        options: await loginOptions(visitOf(request), tokenAsking(challengeToken)),
        challenge_token: challengeToken,
      }
    },
  )

  app.post(
    '/svc/passkeys/registration-options',
    {
      config: { ...guarded, limit: challengeLimit },
      schema: {
        operationId: 'createAppPasskeyRegistrationOptions',
        tags: ['Passkeys'],
        summary: 'Options for registering a passkey in an app',
        description:
          'For apps with an API token that has every ability. Pass the options to the platform, then send its response to `POST /svc/passkeys` within five minutes. With `passkeys.confirm_password`, the body needs the `password` of the user; `rate_limits.login` limits the failures.',
        body: AppRegistrationBody,
        response: { 200: AppCreationOptionsAnswer },
      },
    },
    async (request) => {
      const user = appUser(request)
      await confirmPassword(request, user, request.body.password)
      const challengeToken = randomId()
      const options = await registrationOptions(visitOf(request), user, tokenAsking(challengeToken, user.id))
      return { options, challenge_token: challengeToken }
    },
  )

  app.post(
    '/svc/passkeys',
    {
      config: guarded,
      schema: {
        operationId: 'registerPasskeyInApp',
        tags: ['Passkeys'],
        summary: 'Register a passkey in an app',
        description: 'Completes the ceremony of `POST /svc/passkeys/registration-options`. svc mails a notice.',
        body: AppRegisterBody,
        response: { 200: RegisterAnswer },
      },
    },
    async (request) => {
      const user = appUser(request)
      const { challenge_token, ...passkey } = request.body
      const id = await registerPasskey(visitOf(request), user, passkey, tokenAsking(challenge_token, user.id))
      return { id: String(id), name: passkey.name, status: 'passkey-registered' }
    },
  )
}

export default appRoutes
