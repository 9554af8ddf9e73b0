import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import { callerOf, requireUser } from '../../auth/access/caller.ts'
import { visitOf } from '../../auth/access/visit.ts'
import { authenticateAgain } from '../../auth/sign-in/authenticate.ts'
import { requireRecentPassword } from '../../auth/sign-in/recent-password.ts'
import { signOut } from '../../auth/sign-in/sign-in.ts'
import type { User } from '../../identity/user.ts'
import { findUserById } from '../../identity/users.ts'
import { isPassword } from '../../platform/crypto/stored-password.ts'
import { validationFailed } from '../../platform/errors.ts'
import { uncheckedText } from '../../platform/http/fields.ts'
import { MessageAnswer } from '../../platform/http/message.ts'
import { Type } from '../../platform/json-schema.ts'
import { endOne, endOthers, ownSessions } from './manage.ts'
import { SessionParams } from './params.ts'

const EndOtherSessionsBody = Type.Object(
  { password: uncheckedText('The password of the user.', ['string', 'null']) },
  { title: 'EndOtherSessionsRequest', additionalProperties: false },
)

const date = (description: string) => Type.String({ format: 'date-time', description })
const nullable = (description: string) => Type.Union([Type.String(), Type.Null()], { description })

const ListedSession = Type.Object(
  {
    id: Type.String({
      description: 'The id of the session, for `DELETE /user/sessions/{id}`. It cannot authenticate.',
    }),
    ip_address: nullable('The address that the user signed in from.'),
    user_agent: nullable('The browser that the user signed in with.'),
    created_at: date('When the user signed in.'),
    last_seen_at: date('When the session was last used, to the minute.'),
    current: Type.Boolean({ description: 'Whether this request uses the session.' }),
    impersonated: Type.Boolean({ description: 'Whether an administrator acts as the user in this session.' }),
    bound: Type.Boolean({ description: 'Whether the session is bound to a key of the browser (`session.bound`).' }),
  },
  { title: 'Session', description: 'A browser session of the user.' },
)

const own = { access: { family: 'session', caller: 'required' } } as const

/** Throws unless the body contains the user's password. A user without a password needs a recent confirmation (423). */
async function requirePassword(request: FastifyRequest<{ Body: { password?: unknown } }>, user: User): Promise<void> {
  const { password } = request.body
  if (
    typeof password === 'string' &&
    password !== '' &&
    (await authenticateAgain(visitOf(request), user, password, 'confirm'))
  )
    return
  const found = await findUserById(request.server.database, user.id)
  if (found && !isPassword(found.password)) return requireRecentPassword(visitOf(request))
  throw validationFailed({ password: ['The provided password was incorrect.'] })
}

/** Management of the user's browser sessions. */
const sessions: FastifyPluginAsyncTypebox = async (app) => {
  app.get(
    '/user/sessions',
    {
      config: own,
      schema: {
        operationId: 'listSessions',
        tags: ['Sessions'],
        summary: 'List your sessions',
        description: 'The 1,000 most recent ones, with this session (`current`), without expired ones.',
        response: { 200: Type.Array(ListedSession) },
      },
    },
    (request) => ownSessions(visitOf(request)),
  )

  app.delete(
    '/user/sessions/:id',
    {
      config: own,
      schema: {
        operationId: 'endSession',
        tags: ['Sessions'],
        summary: 'End one of your sessions',
        description:
          'Its next request gets 401. Also forgets its browser if it was remembered, and notifies OAuth clients. Ending the current session signs out.',
        params: SessionParams,
        response: { 200: MessageAnswer },
      },
    },
    async (request, reply) => {
      const { id } = request.params
      await endOne(visitOf(request), id)
      if (id === callerOf(request).credentialId) await signOut(request, reply)
      return { message: 'Session ended.' }
    },
  )

  app.delete(
    '/user/other-sessions',
    {
      config: { ...own, alsoAnswers: [423] },
      schema: {
        operationId: 'endOtherSessions',
        tags: ['Sessions'],
        summary: 'End all your other sessions',
        description: 'A user without a password must confirm in another way first (423).',
        body: EndOtherSessionsBody,
        response: { 200: MessageAnswer },
      },
    },
    async (request) => {
      const user = requireUser(request)
      await requirePassword(request, user)
      await endOthers(visitOf(request))
      return { message: 'Your other sessions have ended.' }
    },
  )
}

export default sessions
