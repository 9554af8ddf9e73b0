import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { requireUser } from '../../access/caller.ts'
import type { Tx } from '../../database/database.ts'
import { unauthenticated, validationFailed } from '../../errors.ts'
import { EmptyAnswer, sendEmpty } from '../../http/empty-answer.ts'
import { emailField, optionalFlag } from '../../http/fields.ts'
import { isSet } from '../../http/flag.ts'
import { MessageAnswer } from '../../http/message.ts'
import { NewPassword, nameField, PasswordConfirmation } from '../../http/validation.ts'
import { authenticateAgain } from '../../login/authenticate.ts'
import { endSessionsOf } from '../../login/end-sessions.ts'
import { requireRecentPassword } from '../../login/recent-password.ts'
import { renewForPassword, sendRenewed, signOut } from '../../login/sign-in.ts'
import { requireStillSignedIn } from '../../login/still-signed-in.ts'
import { undoLink } from '../../users/email-change.ts'
import { eventContext, recordEvent } from '../../users/events.ts'
import { holdAccount } from '../../users/lock.ts'
import { notify } from '../../users/notices.ts'
import { canonicalEmail } from '../../users/user.ts'
import { setPassword } from '../../users/users.ts'
import { sendVerification } from '../../users/verification.ts'
import { deleteUser, updateProfile } from './store.ts'

const ProfileBody = Type.Object(
  {
    name: Type.String({ ...nameField, description: 'The full name.' }),
    email: emailField('The email address. Send the current one to keep it.'),
  },
  { title: 'UpdateProfileRequest', additionalProperties: false },
)

const PasswordBody = Type.Object(
  {
    current_password: Type.String({ minLength: 1, description: 'The current password.' }),
    password: NewPassword,
    password_confirmation: PasswordConfirmation,
    revoke_tokens: optionalFlag(
      'Whether to revoke the API tokens, personal access tokens and grants of applications too.',
    ),
  },
  { title: 'UpdatePasswordRequest', additionalProperties: false },
)

const own = { access: { family: 'session', caller: 'required' } } as const

const taken = () => validationFailed({ email: ['The email has already been taken.'] })

const wrongPassword = () =>
  validationFailed({ current_password: ['The provided password does not match your current password.'] })

interface ProfileOptions {
  /** Deletes the user's data in other features, in the same transaction. */
  forgetUser: (tx: Tx, userId: number) => Promise<void>
  revokeTokens: (tx: Tx, userId: number) => Promise<void>
  /** Ends the access of applications. */
  revokeGrants: (tx: Tx, userId: number) => Promise<void>
}

/** Changes that users make to their own accounts. */
const profile: FastifyPluginAsyncTypebox<ProfileOptions> = async (app, accounts) => {
  app.put(
    '/user/profile-information',
    {
      config: { ...own, unverified: 'allowed', alsoAnswers: [423] },
      schema: {
        operationId: 'updateProfile',
        tags: ['Account'],
        summary: 'Change name and address',
        description:
          'A new address requires a recently confirmed password (423) and counts as a mail. It stays `pending_email` until verified by the mailed link. It takes effect immediately if the old address was never verified, or with `registration.email_change: immediate`. svc notifies the old address.',
        body: ProfileBody,
        response: { 200: EmptyAnswer },
      },
    },
    async (request, reply) => {
      const user = requireUser(request)
      const address = canonicalEmail(request.body.email)
      const email = [user.email, user.pending_email].includes(address) ? null : address
      if (email !== null) {
        requireRecentPassword(request)
        // It sends mail to any address that the caller names.
        await app.countRequest(request, reply, 'mail')
      }
      const origin = eventContext(request)
      const mode = app.config.current().registration.email_change
      const facts = { userId: user.id, name: request.body.name, email, mode, now: origin.now }
      const outcome = await updateProfile(app.database, facts, {
        lock: (tx) => requireStillSignedIn(tx, request),
        also: async (tx, before, change) => {
          if (change === 'taken') throw taken()
          const type = !change ? 'profile_updated' : change.isApplied ? 'email_changed' : 'email_change_requested'
          await recordEvent(tx, origin, { type, userId: user.id })
          if (!change) return
          await sendVerification(app, tx, origin, change.user)
          const undo = change.changeId && undoLink(app, { id: change.changeId, oldEmail: before.email })
          const kind = change.isApplied ? 'email_changed' : 'email_change_requested'
          await notify(app, tx, origin, before, kind, { newEmail: address, ...(undo && { undo }) })
        },
      })
      if (outcome === 'gone') throw unauthenticated()
      if (outcome === 'taken') throw taken()
      return sendEmpty(reply, 200)
    },
  )

  app.put(
    '/user/password',
    {
      config: { ...own },
      schema: {
        operationId: 'updatePassword',
        tags: ['Account'],
        summary: 'Change the password',
        description:
          "Ends the user's other sessions and remembered browsers. This one continues with a new session id and remember-me cookie. svc mails a notice.",
        body: PasswordBody,
        response: { 200: EmptyAnswer },
      },
    },
    async (request, reply) => {
      const user = requireUser(request)
      const { current_password: current, password, revoke_tokens } = request.body
      const found = await authenticateAgain(request, user, current, 'change')
      if (!found) throw wrongPassword()
      const hash = await app.hashing.hash(password, app.loginLimiter.laneOf(request, user.email))
      const origin = eventContext(request)
      const renewed = await app.database.transaction(async (tx) => {
        await requireStillSignedIn(tx, request)
        // The second of two concurrent changes no longer has the current password.
        if (!(await holdAccount(app.database, tx, user.id, { password: found.password }))) return null
        await setPassword(tx, user.id, hash, origin.now)
        await endSessionsOf(app, tx, user.id, request)
        if (isSet(revoke_tokens)) {
          await accounts.revokeTokens(tx, user.id)
          await accounts.revokeGrants(tx, user.id)
        }
        const data = { revoke_tokens: isSet(revoke_tokens) }
        await recordEvent(tx, origin, { type: 'password_changed', userId: user.id, data })
        await notify(app, tx, origin, user, 'password_changed')
        return renewForPassword(tx, request, hash)
      })
      if (!renewed) throw wrongPassword()
      await sendRenewed(request, reply, renewed)
      return sendEmpty(reply, 200)
    },
  )

  app.delete(
    '/user',
    {
      config: { ...own, unverified: 'allowed', recentPassword: () => true },
      schema: {
        operationId: 'deleteUser',
        tags: ['Account'],
        summary: 'Delete the account and all its data',
        description:
          'Requires a recently confirmed password (423). Ends all sessions, revokes all tokens and grants, signs this browser out and mails a notice. Cannot be undone.',
        response: { 200: MessageAnswer },
      },
    },
    async (request, reply) => {
      const user = requireUser(request)
      const origin = eventContext(request)
      await app.database.transaction(async (tx) => {
        await requireStillSignedIn(tx, request)
        await accounts.forgetUser(tx, user.id)
        if (!(await deleteUser(tx, user.id))) return
        const anonymous = { ...origin, ipAddress: null, userAgent: null }
        await recordEvent(tx, anonymous, { type: 'user_deleted', userId: user.id })
        await notify(app, tx, origin, user, 'account_deleted')
      })
      await signOut(request, reply)
      return { message: 'Your account has been deleted.' }
    },
  )
}

export default profile
