import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { callerOf, requireUser } from '../../access/caller.ts'
import { isPassword } from '../../crypto/password.ts'
import { notFound, validationFailed } from '../../errors.ts'
import { uncheckedText } from '../../http/fields.ts'
import { MessageAnswer } from '../../http/message.ts'
import { authenticateAgain } from '../../login/authenticate.ts'
import { endSessionsOf } from '../../login/end-sessions.ts'
import { requireRecentPassword } from '../../login/recent-password.ts'
import { signOut } from '../../login/sign-in.ts'
import { requireStillSignedIn } from '../../login/still-signed-in.ts'
import { eventContext, recordEvent } from '../../users/events.ts'
import type { User } from '../../users/user.ts'
import { findUserById } from '../../users/users.ts'
import { endSession, listSessions } from './store.ts'

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
  },
  { title: 'Session', description: 'A browser session of the user.' },
)

const own = { access: { family: 'session', caller: 'required' } } as const

/** Throws unless the body contains the user's password. A user without a password needs a recent confirmation (423). */
async function requirePassword(request: FastifyRequest<{ Body: { password?: unknown } }>, user: User): Promise<void> {
  const { password } = request.body
  if (typeof password === 'string' && password !== '' && (await authenticateAgain(request, user, password, 'confirm')))
    return
  const found = await findUserById(request.server.database, user.id)
  if (found && !isPassword(found.password)) return requireRecentPassword(request)
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
        description: 'Includes this session (`current`), and no expired ones.',
        response: { 200: Type.Array(ListedSession) },
      },
    },
    async (request) => {
      const { lifetime, absolute_lifetime } = app.config.current().session
      const now = app.clock.now()
      return listSessions(app.database, requireUser(request).id, {
        current: callerOf(request).credentialId,
        seenAfter: new Date(now - lifetime * 60_000),
        createdAfter: new Date(now - absolute_lifetime),
      })
    },
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
        params: Type.Object({ id: Type.String({ pattern: '^[\\w-]{43}$' }) }),
        response: { 200: MessageAnswer },
      },
    },
    async (request, reply) => {
      const { id } = request.params
      const user = requireUser(request)
      const isCurrent = id === callerOf(request).credentialId
      const isEnded = await app.database.transaction(async (tx) => {
        await requireStillSignedIn(tx, request)
        if (!(await endSession(app.sessionListener, tx, user.id, id))) return false
        await recordEvent(tx, eventContext(request), { type: 'session_ended', userId: user.id })
        return true
      })
      if (!isEnded) throw notFound()
      if (isCurrent) await signOut(request, reply)
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
      await app.database.transaction(async (tx) => {
        await requireStillSignedIn(tx, request)
        const count = await endSessionsOf(app, tx, user.id, request)
        await recordEvent(tx, eventContext(request), { type: 'sessions_ended', userId: user.id, data: { count } })
      })
      return { message: 'Your other sessions have ended.' }
    },
  )
}

export default sessions
