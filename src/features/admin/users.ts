import { randomBytes } from 'node:crypto'
import { accountsOf } from '../../auth/accounts.ts'
import { endSessionsOf } from '../../auth/sign-in/end-sessions.ts'
import { revokeTrustedBrowsers } from '../../auth/sign-in/trusted-browsers.ts'
import { unlockAccount } from '../../auth/sign-in/unlock-account.ts'
import { type EventContext, recordEvent } from '../../identity/events.ts'
import { changedFields } from '../../identity/fields.ts'
import { changeGroups, requireGroups, requireRoleIsNoGroup } from '../../identity/groups.ts'
import { heldAddresses } from '../../identity/import.ts'
import { notify } from '../../identity/notices.ts'
import { canonicalEmail, type User } from '../../identity/user.ts'
import {
  createUser,
  findUserById,
  type NewUser,
  setPassword,
  type UserChanges,
  updateUser,
} from '../../identity/users.ts'
import { linkTo } from '../../pages/links.ts'
import type { Tx } from '../../platform/database/database.ts'
import { type HttpError, notFound, validationFailed } from '../../platform/errors.ts'
import { replaceReset } from '../password-reset/store.ts'
import { type Admin, lockForAdmin } from './admin.ts'

/** Throws unless the user, whom no other transaction can change, is as expected. */
type UserCheck = (user: User) => void

/** Runs a change of one account in a transaction, with the user locked. Throws 404 for an unknown user. */
function changeAccount<T>(
  admin: Admin,
  userId: number,
  change: (tx: Tx, user: User) => Promise<T>,
  check?: UserCheck,
): Promise<T> {
  return admin.database.transaction(async (tx) => {
    await lockForAdmin(admin, tx, [userId])
    const found = await findUserById({ prisma: tx }, userId)
    if (!found) throw notFound('User not found.')
    check?.(found.user)
    return change(tx, found.user)
  })
}

/** Says until when an address is held. */
export const heldText = (until: Date): string =>
  `The email is held until ${until.toISOString()}, because its former account can still undo a change of its address.`

/** 422 for an address that has an account, or that an undo link may give back. */
export async function addressTaken(tx: Tx, email: string, now: number): Promise<HttpError> {
  const address = canonicalEmail(email)
  const until = (await heldAddresses({ prisma: tx }, [address], now)).get(address)
  return validationFailed({ email: [until ? heldText(until) : 'The email has already been taken.'] })
}

/** Creates a user. Throws 422 if the address is taken, or a group does not exist. */
export async function addUser(
  { config, database }: Pick<Admin, 'config' | 'database'>,
  tx: Tx,
  origin: EventContext,
  { groups = [], ...facts }: Omit<NewUser, 'now'> & { groups?: readonly string[] | undefined },
): Promise<User> {
  await requireGroups({ prisma: tx }, config.current(), groups)
  await requireRoleIsNoGroup(tx, config.current(), facts.role)
  const created = await createUser(tx, { ...facts, now: origin.now })
  if (!created) throw await addressTaken(tx, facts.email, origin.now)
  await recordEvent(tx, origin, { type: 'user_created', userId: created.id })
  if (groups.length === 0) return created
  const add = { add: groups, source: 'admin' } as const
  return { ...created, groups: await changeGroups(tx, database, origin, config.current(), created.id, add) }
}

/**
 * Changes a user. Disabling also revokes sessions, tokens and grants. `changes` may be a function that decides within the
 * transaction, while the user is locked; it returns null to change nothing.
 */
export function changeUser(
  admin: Admin,
  origin: EventContext,
  userId: number,
  wanted: UserChanges | ((tx: Tx, user: User) => Promise<UserChanges | null>),
  check?: UserCheck,
): Promise<User> {
  const change = async (tx: Tx, before: User) => {
    const changes = typeof wanted === 'function' ? await wanted(tx, before) : wanted
    if (changes === null) return before
    if (changes.role !== undefined && changes.role !== before.role) {
      await requireRoleIsNoGroup(tx, admin.config.current(), changes.role)
    }
    const { fields: given, ...others } = changes
    const fields = given && changedFields(admin.config.current(), before.fields ?? {}, given, 'admin')
    const parts = fields ? { parts: { ...changes.parts, fields } } : {}
    const updated = await updateUser(tx, before, { ...others, ...parts }, origin.now)
    const data = { changed: Object.keys(changes).join(' ') }
    await recordEvent(tx, origin, { type: 'user_updated', userId, data })
    if (updated.disabled !== before.disabled)
      await recordEvent(tx, origin, { type: updated.disabled ? 'user_disabled' : 'user_enabled', userId })
    if (updated.email !== before.email) {
      await recordEvent(tx, origin, { type: 'email_changed', userId })
      await notify(admin, tx, origin, before, 'email_changed', { newEmail: updated.email })
    }
    if (changes.resetTwoFactor && before.two_factor_enabled) {
      await recordEvent(tx, origin, { type: 'two_factor_disabled', userId })
      await notify(admin, tx, origin, updated, 'two_factor_reset')
    }
    if (changes.disabled) await accountsOf(admin).revokeAccess(tx, userId)
    return updated
  }
  return changeAccount(admin, userId, change, check)
}

/** Sets the password, ends the sessions, and ends the access of applications, as a password reset does. */
export function replacePassword(admin: Admin, origin: EventContext, userId: number, hash: string): Promise<void> {
  return changeAccount(admin, userId, async (tx, user) => {
    const accounts = accountsOf(admin)
    if (admin.config.current().passwords.reset_revokes_tokens) await accounts.revokeTokens(tx, userId)
    await accounts.revokeGrants(tx, userId)
    await endSessionsOf(admin, tx, userId)
    await setPassword(tx, userId, hash, origin.now)
    await recordEvent(tx, origin, { type: 'password_changed', userId })
    await notify(admin, tx, origin, user, 'password_changed')
  })
}

/** Returns a link that resets the password, in place of an earlier one; with `mail`, also mails it to the user. */
export function makeResetLink(
  admin: Admin,
  origin: EventContext,
  userId: number,
  { mail }: { mail: boolean },
): Promise<string> {
  return changeAccount(admin, userId, async (tx, user) => {
    if (user.disabled) throw validationFailed({ email: ['The account is disabled. Enable it first.'] })
    const config = admin.config.current()
    const { reset_expires: validity } = config.passwords
    const token = randomBytes(32).toString('hex')
    await replaceReset(tx, user, { token, throttle: 0, now: origin.now })
    const link = linkTo(config, 'reset', { token, email: user.email })
    if (mail) {
      const data = { link, minutes: Math.round(validity / 60_000) }
      const draft = { to: user.email, template: 'reset-password', language: user.language, data } as const
      await admin.mail.queue(
        tx,
        { ...draft, expiresAt: origin.now + validity },
        { share: 'admin', userId: null, ipAddress: null },
      )
    }
    await recordEvent(tx, origin, { type: 'password_reset_requested', userId })
    return link
  })
}

/** Ends the user's sessions, and forgets the remembered and the trusted browsers; returns the number of sessions. Tokens stay. */
export function endSessions(admin: Admin, origin: EventContext, userId: number): Promise<number> {
  return changeAccount(admin, userId, async (tx) => {
    const count = await endSessionsOf(admin, tx, userId)
    await revokeTrustedBrowsers(tx, userId)
    await recordEvent(tx, origin, { type: 'sessions_ended', userId, data: { count } })
    return count
  })
}

/** Deletes the account and all its data, as its user can. */
export async function removeUser(admin: Admin, origin: EventContext, userId: number, check?: UserCheck): Promise<void> {
  await changeAccount(admin, userId, (tx, user) => accountsOf(admin).deleteAccount(tx, origin, user), check)
}

/** Forgets the failed sign-ins of the account, so that it is no longer locked. */
export async function unlockUser(admin: Admin, origin: EventContext, userId: number): Promise<void> {
  const user = await changeAccount(admin, userId, async (tx, found) => {
    await recordEvent(tx, origin, { type: 'account_unlocked', userId })
    return found
  })
  await unlockAccount(admin, user, origin.now)
}
