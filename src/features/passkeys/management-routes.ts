import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import { requireUser } from '../../auth/access/caller.ts'
import { visitOf } from '../../auth/access/visit.ts'
import { forbidden, notFound } from '../../platform/errors.ts'
import { Type } from '../../platform/json-schema.ts'
import { recentPassword, remove, rename } from './manage.ts'
import { registrationOptions } from './options.ts'
import { registerPasskey } from './registration.ts'
import {
  CreationOptionsAnswer,
  DeleteAnswer,
  PasskeyParams,
  PasskeyRecord,
  PasskeySignals,
  RegisterAnswer,
  RegisterBody,
  RenameAnswer,
  RenameBody,
} from './schemas.ts'
import { passkeySignals } from './signals.ts'
import { listPasskeys, ownerOf } from './store.ts'

const session = { access: { family: 'session', caller: 'required' }, alsoAnswers: [404] } as const

const management = { ...session, recentPassword, alsoAnswers: [404] }

const confirmedFirst = 'Requires a recently confirmed password (423) with `passkeys.confirm_password`.'

/** Registration and management of the user's passkeys. */
const managementRoutes: FastifyPluginAsyncTypebox = async (app) => {
  /** Rejects other users' passkeys with 403 and unknown ones with 404, before the body is validated. */
  const requireOwn = async (request: FastifyRequest<{ Params: { id: string } }>) => {
    const { id } = request.params
    const owner = /^\d{1,19}$/.test(id) ? await ownerOf(app.database, BigInt(id), requireUser(request).id) : 'none'
    if (owner === 'other') throw forbidden()
    if (owner === 'none') throw notFound()
  }

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
    '/user/passkeys/signals',
    {
      config: session,
      schema: {
        operationId: 'getPasskeySignals',
        tags: ['Passkeys'],
        summary: 'What to tell the browser about your passkeys',
        description:
          'The arguments of `PublicKeyCredential.signalAllAcceptedCredentials()` and `signalCurrentUserDetails()`, after a change of the passkeys, the name or the address. `svc.passkeys.signal()` sends both.',
        response: { 200: PasskeySignals },
      },
    },
    (request) => passkeySignals(visitOf(request)),
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
    async (request) => ({ options: await registrationOptions(visitOf(request), requireUser(request)) }),
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
      const id = await registerPasskey(visitOf(request), requireUser(request), request.body)
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
      const passkey = await rename(visitOf(request), BigInt(request.params.id), request.body.name)
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
      await remove(visitOf(request), BigInt(request.params.id))
      return { status: 'passkey-deleted' }
    },
  )
}

export default managementRoutes
