import { mayImpersonate } from '../../../auth/access/impersonation.ts'
import type { EventContext } from '../../../identity/events.ts'
import type { User } from '../../../identity/user.ts'
import type { TextName } from '../../../pages/texts.ts'
import type { Config } from '../../../platform/config/schema.ts'
import { HttpError, validationFailed } from '../../../platform/errors.ts'
import { isName } from '../../../platform/http/formats.ts'
import type { Admin } from '../admin.ts'
import { revokeTokensOf } from '../credentials.ts'
import { addMember } from '../groups/groups.ts'
import { changeUser, endSessions, makeResetLink, removeUser, unlockUser } from '../users.ts'

interface UserAction {
  /** Label of the value that the action needs. */
  field?: TextName
  needsReason?: true
  /** Whether it takes something away that cannot be given back. */
  isDanger: boolean
  /** Whether the page of this user offers it. */
  isFor(user: User, isSelf: boolean, administrator: User, config: Config): boolean
  /** Null: it replaces the session of the administrator. */
  run: null | ((admin: Admin, origin: EventContext, userId: number, value: string) => Promise<unknown>)
}

/** The changes that an administrator can make to a user. Those that would lock administrators out are not for themselves. */
const actions = {
  reset_link: {
    isDanger: false,
    isFor: ({ disabled }) => !disabled,
    run: (admin, origin, id) => makeResetLink(admin, origin, id, { mail: true }),
  },
  verify: {
    isDanger: false,
    isFor: ({ email_verified_at }) => email_verified_at === null,
    run: (admin, origin, id) => changeUser(admin, origin, id, { verified: true }),
  },
  unlock: { isDanger: false, isFor: () => true, run: unlockUser },
  role: {
    field: 'admin.role',
    isDanger: false,
    isFor: (_user, isSelf) => !isSelf,
    run: (admin, origin, id, role) => {
      if (role === '') throw validationFailed({ value: ['The role field is required.'] })
      if (role.length > 255 || !isName(role)) throw validationFailed({ value: ['The role field is invalid.'] })
      return changeUser(admin, origin, id, { role })
    },
  },
  add_group: {
    field: 'admin.group',
    isDanger: false,
    isFor: () => true,
    async run(admin, origin, id, group) {
      try {
        await addMember(admin, origin, group, id)
      } catch (error) {
        if (!(error instanceof HttpError) || error.statusCode !== 404) throw error
        throw validationFailed({ value: [`The group ${group} does not exist.`] })
      }
    },
  },
  impersonate: {
    needsReason: true,
    isDanger: false,
    isFor: (user, isSelf, administrator, config) => !isSelf && mayImpersonate(administrator, user, config),
    run: null,
  },
  sign_out: { isDanger: false, isFor: () => true, run: endSessions },
  revoke_tokens: { isDanger: true, isFor: () => true, run: revokeTokensOf },
  reset_two_factor: {
    isDanger: true,
    isFor: ({ two_factor_enabled }, isSelf) => two_factor_enabled && !isSelf,
    run: (admin, origin, id) => changeUser(admin, origin, id, { resetTwoFactor: true }),
  },
  enable: {
    isDanger: false,
    isFor: ({ disabled }) => disabled,
    run: (admin, origin, id) => changeUser(admin, origin, id, { disabled: false }),
  },
  disable: {
    isDanger: true,
    isFor: ({ disabled }, isSelf) => !disabled && !isSelf,
    run: (admin, origin, id) => changeUser(admin, origin, id, { disabled: true }),
  },
  delete: {
    isDanger: true,
    isFor: (_user, isSelf) => !isSelf,
    run: (admin, origin, id) => removeUser(admin, origin, id),
  },
} as const satisfies Record<string, UserAction>

export type ActionName = keyof typeof actions

export const userActions: Readonly<Record<ActionName, UserAction>> = actions

// Sound: the literal's own keys.
export const actionNames = Object.keys(actions) as ActionName[]

/** The actions that an administrator can take on a user now. */
export const actionsFor = (user: User, administrator: User, config: Config): ActionName[] =>
  actionNames.filter((name) => userActions[name].isFor(user, user.id === administrator.id, administrator, config))
