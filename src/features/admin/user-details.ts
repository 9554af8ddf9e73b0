import { pageOfTokens } from '../../auth/tokens/store.ts'
import { searchEvents } from '../../identity/event-list.ts'
import { listMemberships } from '../../identity/groups.ts'
import type { User } from '../../identity/user.ts'
import { findUserById } from '../../identity/users.ts'
import { isPassword } from '../../platform/crypto/stored-password.ts'
import { listSessions, shownAt } from '../active-sessions/store.ts'
import { listPersonalTokens } from '../oauth/applications/store.ts'
import { listPasskeys } from '../passkeys/store.ts'
import { listLinks } from '../social/store.ts'
import type { Admin } from './admin.ts'
import { eventRecord } from './events.ts'

/** Maximum number of records of each kind. */
const max = 20

/** A user with credentials, sessions, tokens, links and recent events. Contains no secrets or hashes. */
export async function userDetails(admin: Pick<Admin, 'config' | 'database'>, user: User, now: number) {
  const { database } = admin
  const [stored, memberships, passkeys, links, sessions, tokens, personal, events] = await Promise.all([
    findUserById(database, user.id),
    listMemberships(database, user.id),
    listPasskeys(database, user.id),
    listLinks(database, user.id),
    listSessions(database, user.id, { ...shownAt(admin.config, now), current: '' }),
    pageOfTokens(database, { userId: user.id, after: 0n, take: max }),
    listPersonalTokens(database, user.id, now),
    searchEvents(database, { userId: user.id }, { before: null, take: max }),
  ])
  return {
    ...user,
    memberships,
    has_password: isPassword(stored?.password ?? null),
    passkeys: passkeys.slice(0, max),
    linked_accounts: links.slice(0, max).map(({ avatar: _, ...link }) => link),
    sessions: sessions.slice(0, max).map(({ current: _, ...session }) => session),
    tokens: tokens.map(({ tokenable_type: _, tokenable_id: __, ...token }) => token),
    personal_access_tokens: personal.slice(0, max),
    events: events.map(eventRecord),
  }
}
