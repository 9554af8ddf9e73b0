import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { requireUser } from '../../access/caller.ts'
import type { RequestLimit } from '../../access/request-limits.ts'
import type { Config } from '../../config/schema.ts'
import { forbidden, notFound, validationFailed } from '../../errors.ts'
import { addMethod } from '../../login/authentication-methods.ts'
import { continueSignIn } from '../../login/challenge.ts'
import { markConfirmed } from '../../login/recent-password.ts'
import { requireStillSignedIn } from '../../login/still-signed-in.ts'
import { linkTo } from '../../pages/links.ts'
import { eventContext, recordEvent, recordEvents } from '../../users/events.ts'
import { notify } from '../../users/notices.ts'
import { hasWayIn } from '../../users/ways-in.ts'
import { verifyPasskey } from './assertion.ts'
import { passkeyMethod } from './method.ts'
import { confirmOptions, loginOptions, registrationOptions } from './options.ts'
import { registerPasskey } from './registration.ts'
import {
  ConfirmAnswer,
  ConfirmBody,
  CreationOptionsAnswer,
  DeleteAnswer,
  LoginAnswer,
  LoginBody,
  PasskeyParams,
  PasskeyRecord,
  RegisterAnswer,
  RegisterBody,
  RenameAnswer,
  RenameBody,
  RequestOptionsAnswer,
} from './schemas.ts'
import { deletePasskey, listPasskeys, ownerOf, renamePasskey } from './store.ts'

const guest = { access: { family: 'session', caller: 'guest' }, alsoAnswers: [404] } as const
const session = { access: { family: 'session', caller: 'required' }, alsoAnswers: [404] } as const

/** An attacker at an unlocked browser must not be able to add or remove a passkey. */
const management = {
  ...session,
  recentPassword: (config: Config) => config.passkeys.confirm_password,
  alsoAnswers: [404],
}

const confirmedFirst = 'Requires a recently confirmed password (423) with `passkeys.confirm_password`.'

/** Anyone can request options, and each request stores a challenge. */
const challengeLimit: RequestLimit = { name: 'passkey-options', rate: { max: 60, window: 60_000 }, by: ['address'] }

const lastWayIn = 'This passkey is the only way into the account. Set a password or add another passkey first.'

/** Laravel's `boolean` rule: any other value is an error, not false. */
function flagOf(value: unknown): boolean {
  if (value === undefined || value === false || value === 0 || value === '0') return false
  if (value === true || value === 1 || value === '1') return true
  throw validationFailed({ remember: ['The remember field must be true or false.'] })
}

/** Sign-in, confirmation, registration and management. */
const ceremonies: FastifyPluginAsyncTypebox = async (app) => {
  app.addHook('onRequest', async () => {
    if (!app.config.current().passkeys.enabled) throw notFound()
  })

  const home = () => new URL('/', app.config.current().app.frontend_url).href

  /** Rejects other users' passkeys with 403 and unknown ones with 404, before the body is validated. */
  const requireOwn = async (request: FastifyRequest<{ Params: { id: string } }>) => {
    const { id } = request.params
    const owner = /^\d{1,19}$/.test(id) ? await ownerOf(app.database, BigInt(id), requireUser(request).id) : 'none'
    if (owner === 'other') throw forbidden()
    if (owner === 'none') throw notFound()
  }

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
    async (request) => ({ options: await loginOptions(request) }),
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
      const { user, password, userVerified } = await verifyPasskey(request, request.body.credential, null)
      const login = { user, password, remember, method: passkeyMethod(userVerified), channel: 'passkey' } as const
      const outcome = await continueSignIn(request, reply, login)
      if (outcome === 'signed_in') return { redirect: home() }
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
    async (request) => ({ options: await confirmOptions(request, requireUser(request)) }),
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
    async (request) => {
      const { user, userVerified } = await verifyPasskey(request, request.body.credential, requireUser(request).id)
      const facts = { userId: user.id, data: { method: 'passkey' } }
      await recordEvents(app.database, eventContext(request), { type: 'password_confirmed', ...facts })
      await addMethod(request, passkeyMethod(userVerified))
      await markConfirmed(request)
      return { redirect: home() }
    },
  )

  app.get(
    '/user/passkeys',
    {
      config: session,
      schema: {
        operationId: 'listPasskeys',
        tags: ['Passkeys'],
        summary: 'List your passkeys',
        description: 'Passkeys that the user can sign in with, without their public keys.',
        response: { 200: Type.Array(PasskeyRecord) },
      },
    },
    async (request) => listPasskeys(app.database, requireUser(request).id),
  )

  app.get(
    '/user/passkeys/options',
    {
      config: management,
      schema: {
        operationId: 'getPasskeyRegistrationOptions',
        tags: ['Passkeys'],
        summary: 'Options for registering a passkey',
        description: `Pass the options to \`startRegistration()\`, then send the result to \`POST /user/passkeys\` within five minutes. ${confirmedFirst}`,
        response: { 200: CreationOptionsAnswer },
      },
    },
    async (request) => ({ options: await registrationOptions(request, requireUser(request)) }),
  )

  app.post(
    '/user/passkeys',
    {
      config: management,
      schema: {
        operationId: 'registerPasskey',
        tags: ['Passkeys'],
        summary: 'Register a passkey',
        description: `Completes the ceremony of \`GET /user/passkeys/options\`. ${confirmedFirst} svc mails a notice.`,
        body: RegisterBody,
        response: { 200: RegisterAnswer },
      },
    },
    async (request) => {
      const id = await registerPasskey(request, requireUser(request), request.body)
      return { id: String(id), name: request.body.name, status: 'passkey-registered' }
    },
  )

  app.put(
    '/user/passkeys/:id',
    {
      config: { ...management, alsoAnswers: [403, 404] },
      schema: {
        operationId: 'renamePasskey',
        tags: ['Passkeys'],
        summary: 'Rename one of your passkeys',
        description: `${confirmedFirst} 403 for passkeys of other users.`,
        params: PasskeyParams,
        body: RenameBody,
        response: { 200: RenameAnswer },
      },
      preValidation: requireOwn,
    },
    async (request) => {
      const [id, userId, { name }] = [BigInt(request.params.id), requireUser(request).id, request.body]
      const passkey = await app.database.transaction(async (tx) => {
        await requireStillSignedIn(tx, request)
        const renamed = await renamePasskey(tx, { id, userId, name, now: app.clock.now() })
        const facts = { userId, data: { passkey_id: Number(id) } }
        if (renamed) await recordEvent(tx, eventContext(request), { type: 'passkey_renamed', ...facts })
        return renamed
      })
      if (!passkey) throw notFound()
      return { passkey }
    },
  )

  app.delete(
    '/user/passkeys/:id',
    {
      config: { ...management, alsoAnswers: [403, 404, 422] },
      schema: {
        operationId: 'deletePasskey',
        tags: ['Passkeys'],
        summary: 'Delete one of your passkeys',
        description: `${confirmedFirst} The last sign-in method cannot be removed (422). svc mails a notice.`,
        params: PasskeyParams,
        response: { 200: DeleteAnswer },
      },
      preValidation: requireOwn,
    },
    async (request) => {
      const [id, user] = [BigInt(request.params.id), requireUser(request)]
      await app.database.transaction(async (tx) => {
        await requireStillSignedIn(tx, request)
        if (!(await deletePasskey(tx, { id, userId: user.id }))) throw notFound()
        if (!(await hasWayIn(app, tx, user.id))) {
          throw validationFailed({ passkey: [lastWayIn] })
        }
        const origin = eventContext(request)
        await recordEvent(tx, origin, {
          type: 'passkey_deleted',
          userId: user.id,
          data: { passkey_id: Number(id) },
        })
        await notify(app, tx, origin, user, 'passkey_removed')
      })
      return { status: 'passkey-deleted' }
    },
  )
}

/** Passkeys (WebAuthn). The scripts are public even if passkeys are disabled. */
const passkeys: FastifyPluginAsyncTypebox = async (app) => {
  await app.register(ceremonies)
}

export default passkeys
