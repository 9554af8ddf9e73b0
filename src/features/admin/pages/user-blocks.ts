import type { FastifyInstance } from 'fastify'
import { browserName } from '../../../identity/browser-name.ts'
import type { User } from '../../../identity/user.ts'
import type { AdminBlock, AdminRow } from '../../../pages/admin-page-data.ts'
import type { TextLookup } from '../../../platform/http/texts.ts'
import { translateBrowser } from '../../../platform/languages/browsers.ts'
import { sessionsOf, tokensOf } from '../credentials.ts'
import { userDetails } from '../user-details.ts'
import { present, rowOf, rowsOf, timeOf } from './blocks.ts'
import { eventRow } from './event-page-routes.ts'
import { adminSection, userPath } from './section-hooks.ts'
import { actionsFor, userActions } from './user-actions.ts'

/** Tokens that the page of a user shows. */
const maxTokens = 100

/** Everything that the page of a user shows. */
export async function userBlocks(
  app: FastifyInstance,
  user: User,
  { text, administrator, after }: { text: TextLookup; administrator: User; after: bigint },
): Promise<AdminBlock[]> {
  const now = app.clock.now()
  const path = userPath(user.id)
  const [details, sessions, { tokens, isLast }] = await Promise.all([
    userDetails(app, user, now),
    sessionsOf(app, user.id, now),
    tokensOf(app, user.id, { after, limit: maxTokens, now }),
  ])
  const list = (
    name: string,
    heading: string,
    rows: readonly AdminRow[],
    nextHref: string | null = null,
  ): AdminBlock[] => (rows.length === 0 ? [] : [rowsOf({ name, heading, rows, nextHref })])
  const button = (kind: string, id: string, label: string, title: string) => ({
    action: `${path}/${kind}/${encodeURIComponent(id)}`,
    label,
    name: text('admin.action_name', { action: label, name: title }),
  })
  const links = actionsFor(user, administrator, app.config.current()).map((name) => ({
    label: text(`admin.action_${name}`),
    href: `${path}/${name}`,
    isDanger: userActions[name].isDanger,
  }))
  const on = (isOn: boolean) => text(isOn ? 'account-two-factor.on' : 'account-two-factor.off')
  return [
    {
      kind: 'facts',
      facts: present([
        { label: text('admin.id'), value: String(user.id) },
        { label: text('account-profile.email'), value: user.email },
        user.username !== null && { label: text('fields.username'), value: user.username },
        { label: text('admin.role'), value: user.role },
        {
          label: text('admin.state'),
          value: present([
            text(user.disabled ? 'admin.disabled' : 'admin.state_active'),
            text(user.email_verified_at === null ? 'account.unverified' : 'admin.state_verified'),
          ]).join(', '),
        },
        { label: text('account.password'), value: on(details.has_password) },
        { label: text('account.two-factor'), value: on(user.two_factor_enabled) },
        { label: text('admin.created'), value: { at: user.created_at, text: null } },
      ]),
    },
    { kind: 'links', heading: text('admin.actions'), links },
    ...list(
      'groups',
      text('admin.groups'),
      user.groups.map((group) =>
        rowOf({
          title: group,
          badges: details.memberships.filter((membership) => membership.group === group).map(({ source }) => source),
          action: button('group', group, text('admin.remove'), group),
        }),
      ),
    ),
    ...list(
      'sessions',
      text('account.sessions'),
      sessions.map(({ id, kind, user_agent, ip_address, last_seen_at, impersonated }) => {
        const title = translateBrowser(browserName(user_agent ?? ''), text) ?? text('account-sessions.unknown')
        return rowOf({
          title,
          badges: present([
            kind === 'remembered' && text('account-sessions.remembered'),
            impersonated && text('admin.title'),
          ]),
          details: present([ip_address, timeOf(last_seen_at, 'account-sessions.used')]),
          action: button('session', String(id), text('account-sessions.end'), title),
        })
      }),
    ),
    ...list(
      'tokens',
      text('account.tokens'),
      tokens.map(({ id, kind, name, abilities, created_at, last_used_at, expires_at }) =>
        rowOf({
          title: name,
          badges: kind === 'personal_access_token' ? [text('account.personal-tokens')] : [],
          details: present([
            abilities.join(' '),
            timeOf(created_at, 'account-token-list.created'),
            timeOf(last_used_at, 'account-sessions.used'),
            timeOf(expires_at, 'account-token-list.expires'),
          ]),
          action: button('token', id, text('account-token-list.revoke'), name),
        }),
      ),
      isLast ? null : `${path}?after=${tokens.at(-1)?.id}#tokens`,
    ),
    ...list(
      'passkeys',
      text('account.passkeys'),
      details.passkeys.map(({ name, last_used_at }) =>
        rowOf({ title: name, details: present([timeOf(last_used_at, 'account-sessions.used')]) }),
      ),
    ),
    ...list(
      'providers',
      text('account.providers'),
      details.linked_accounts.map(({ provider, email, last_used_at }) =>
        rowOf({ title: provider, details: present([email, timeOf(last_used_at, 'account-sessions.used')]) }),
      ),
    ),
    ...list(
      'recent',
      text('account.activity'),
      details.events.map((event) => eventRow(event, text)),
      `${adminSection('events')}?user_id=${user.id}`,
    ),
  ]
}
