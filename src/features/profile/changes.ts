import type { FastifyReply, FastifyRequest } from 'fastify'
import { requireUser } from '../../auth/access/caller.ts'
import { eventContext, visitOf } from '../../auth/access/visit.ts'
import { authenticateAgain } from '../../auth/sign-in/authenticate.ts'
import { endSessionsOf } from '../../auth/sign-in/end-sessions.ts'
import { requireRecentPassword } from '../../auth/sign-in/recent-password.ts'
import { renewForPassword, signOut } from '../../auth/sign-in/sign-in.ts'
import { requireStillSignedIn } from '../../auth/sign-in/still-signed-in.ts'
import { chosenParts, fieldsField, nameFields } from '../../identity/chosen-names.ts'
import { undoLink } from '../../identity/email-change.ts'
import { recordEvent } from '../../identity/events.ts'
import { changedFields, type Fields } from '../../identity/fields.ts'
import { lockAndCheckAccount } from '../../identity/lock.ts'
import { notify } from '../../identity/notices.ts'
import { canonicalEmail } from '../../identity/user.ts'
import { canonicalUsername, requireUsername, usedUsernames, usernameTaken } from '../../identity/username.ts'
import { setPassword } from '../../identity/users.ts'
import { sendVerification } from '../../identity/verification.ts'
import { unauthenticated, validationFailed } from '../../platform/errors.ts'
import { requireAllowedDomain } from '../../platform/http/allowed-domains.ts'
import { emailField, optionalFlag } from '../../platform/http/fields.ts'
import { isSet } from '../../platform/http/flag.ts'
import { NewPassword, nameField, PasswordConfirmation } from '../../platform/http/validation.ts'
import { type Static, Type } from '../../platform/json-schema.ts'
import { updateProfile } from './store.ts'

export const ProfileBody = Type.Object(
  {
    name: Type.String({ ...nameField, description: 'The full name.' }),
    ...nameFields,
    fields: fieldsField,
    email: emailField('The email address. Send the current one to keep it.'),
  },
  { title: 'UpdateProfileRequest', additionalProperties: false },
)

export const PasswordBody = Type.Object(
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

const taken = () => validationFailed({ email: ['The email has already been taken.'] })

const wrongPassword = () =>
  validationFailed({ current_password: ['The provided password does not match your current password.'] })

/** Returns a new username; undefined to keep the current one. Throws 422 if it cannot be changed, and 429 for too many changes. */
async function newUsername(request: FastifyRequest, reply: FastifyReply, typed: string | null | undefined) {
  const app = request.server
  const { username } = requireUser(request)
  if (!typed || canonicalUsername(typed) === username) return undefined
  if (!app.config.current().users.username.editable) {
    throw validationFailed({ username: ['The username cannot be changed.'] })
  }
  const wanted = requireUsername(typed, 'user')
  if ((await usedUsernames(app.database, [wanted])).has(wanted)) throw usernameTaken()
  await app.countRequest(request, reply, 'username')
  return wanted
}

/** Changes names and address. 422 if the address is taken, 423 if a new one needs a recent password. */
export async function changeProfile(request: FastifyRequest, reply: FastifyReply, body: Static<typeof ProfileBody>) {
  const app = request.server
  const user = requireUser(request)
  const address = canonicalEmail(body.email)
  const email = [user.email, user.pending_email].includes(address) ? null : address
  if (email !== null) {
    requireRecentPassword(visitOf(request))
    requireAllowedDomain(app.config.current(), email)
    // It sends mail to any address that the caller names.
    await app.countRequest(request, reply, 'mail')
  }
  const origin = eventContext(request)
  const mode = app.config.current().registration.email_change
  const parts = chosenParts(app.config.current(), body)
  const username = await newUsername(request, reply, body.username)
  const fields = (before: Fields) => changedFields(app.config.current(), before, body.fields ?? {}, 'user')
  const facts = { userId: user.id, name: body.name, username, parts, fields, email, mode, now: origin.now }
  const outcome = await updateProfile(app.database, facts, {
    lock: (tx) => requireStillSignedIn(tx, visitOf(request)),
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
}

/** Changes the password and ends the other sessions. Returns the session's renewal for `sendRenewed`. */
export async function changePassword(
  request: FastifyRequest,
  { current_password: current, password, revoke_tokens }: Static<typeof PasswordBody>,
) {
  const app = request.server
  const user = requireUser(request)
  const found = await authenticateAgain(visitOf(request), user, current, 'change')
  if (!found) throw wrongPassword()
  const hash = await app.hashing.hash(password, app.loginLimiter.laneOf(visitOf(request), user.email))
  const origin = eventContext(request)
  const renewed = await app.database.transaction(async (tx) => {
    await requireStillSignedIn(tx, visitOf(request))
    // The second of two concurrent changes no longer has the current password.
    if (!(await lockAndCheckAccount(app.database, tx, user.id, { account: found }))) return null
    await setPassword(tx, user.id, hash, origin.now)
    await endSessionsOf(app, tx, user.id, visitOf(request))
    if (isSet(revoke_tokens)) {
      await app.accounts.revokeTokens(tx, user.id)
      await app.accounts.revokeGrants(tx, user.id)
    }
    const data = { revoke_tokens: isSet(revoke_tokens) }
    await recordEvent(tx, origin, { type: 'password_changed', userId: user.id, data })
    await notify(app, tx, origin, user, 'password_changed')
    return renewForPassword(tx, visitOf(request), hash)
  })
  if (!renewed) throw wrongPassword()
  return renewed
}

/** Deletes the account with all its data, and signs this browser out. */
export async function deleteAccount(request: FastifyRequest, reply: FastifyReply) {
  const app = request.server
  const user = requireUser(request)
  const origin = eventContext(request)
  await app.database.transaction(async (tx) => {
    await requireStillSignedIn(tx, visitOf(request))
    await app.accounts.deleteAccount(tx, origin, user)
  })
  await signOut(request, reply)
}
