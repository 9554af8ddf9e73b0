import type { FastifyInstance, FastifyRequest } from 'fastify'
import { requireUser } from '../../../auth/access/caller.ts'
import { visitOf } from '../../../auth/access/visit.ts'
import { switchSession } from '../../../auth/sign-in/sign-in.ts'
import type { EventContext } from '../../../identity/events.ts'
import { searchUsers, userStates } from '../../../identity/search.ts'
import type { User } from '../../../identity/user.ts'
import { findUserById } from '../../../identity/users.ts'
import { formOf, formPage, formRoute, pageRoute } from '../../../pages/form-page.ts'
import { startPage } from '../../../pages/links.ts'
import { textsOf } from '../../../pages/texts.ts'
import { notFound, validationFailed } from '../../../platform/errors.ts'
import { typedText, uncheckedText } from '../../../platform/http/fields.ts'
import type { TextLookup } from '../../../platform/http/texts.ts'
import { Type } from '../../../platform/json-schema.ts'
import type { Admin } from '../admin.ts'
import { adminOrigin, recordRead, UserParams, userIdOf } from '../api/request.ts'
import { adminOf } from '../api/still-administrator.ts'
import { revokeSession, revokeToken } from '../credentials.ts'
import { removeMember } from '../groups/groups.ts'
import { fieldOf, formBlockOf, pageOf, present, rowOf, rowsOf, searchOf, take } from './blocks.ts'
import { beginImpersonation } from './impersonate.ts'
import { adminSection, changed, cursorIn, ownPages, queryText, sendSection, userPath } from './section-hooks.ts'
import { type ActionName, actionNames, actionsFor, userActions } from './user-actions.ts'
import { userBlocks } from './user-blocks.ts'

const section = adminSection('users')

/** The states of a user that an administrator should see. */
const badgesOf = (user: User, text: TextLookup): string[] =>
  present([
    user.role,
    user.disabled && text('admin.disabled'),
    user.email_verified_at === null && text('account.unverified'),
    user.two_factor_enabled && text('account.two-factor'),
  ])

/** Users: search, details and changes. */
export async function userPages(app: FastifyInstance): Promise<void> {
  /** Returns the user that the path names. Throws 404 for an unknown one. */
  async function requireTarget(request: { params: { id: string } }): Promise<User> {
    const found = await findUserById(app.database, userIdOf(request))
    if (!found) throw notFound('User not found.')
    return found.user
  }

  pageRoute(app, {
    path: section,
    operation: 'AdminUsers',
    config: ownPages,
    query: Type.Object({
      text: uncheckedText('The start of the address or of the name.'),
      state: uncheckedText('Only users in this state.'),
      role: uncheckedText('Only users with this role.'),
      group: uncheckedText('Only users in this group.'),
      after: uncheckedText('The id of the last user of the previous page.'),
    }),
    summary: 'users',
    description: 'Finds users, and lists them by id.',
    async page(request, reply) {
      const words = textsOf(request)
      const [text, role, group] = [request.query.text, request.query.role, request.query.group].map(queryText)
      const state = userStates.find((name) => name === request.query.state)
      const after = cursorIn(request.query.after)
      await recordRead(request, null, 'users')
      const filter = { ...(text && { text }), ...(role && { role }), ...(group && { group }), ...(state && { state }) }
      const found = await searchUsers(app.database, filter, { after, take })
      const { shown, nextHref } = pageOf(
        found,
        ({ id }) => `${section}?${new URLSearchParams({ ...filter, after: String(id) })}`,
      )
      return sendSection(reply, {
        title: words('admin.users'),
        blocks: [
          searchOf(section, words('admin.search'), [
            fieldOf({ name: 'text', label: words('admin.name_or_email'), value: text ?? '' }),
            fieldOf({
              ...{ name: 'state', label: words('admin.state'), kind: 'select', value: state ?? '' },
              options: userStates.map((name) => ({ value: name, label: words(`admin.state_${name}`) })),
            }),
            fieldOf({ name: 'role', label: words('admin.role'), value: role ?? '' }),
            fieldOf({ name: 'group', label: words('admin.group'), value: group ?? '' }),
          ]),
          rowsOf({
            name: 'users',
            rows: shown.map((user) =>
              rowOf({
                title: user.name,
                href: userPath(user.id),
                badges: badgesOf(user, words),
                details: [user.email],
              }),
            ),
            nextHref,
          }),
        ],
      })
    },
  })

  pageRoute(app, {
    path: `${section}/:id`,
    operation: 'AdminUser',
    config: ownPages,
    params: UserParams,
    query: Type.Object({ after: uncheckedText('The id of the last token of the previous page.') }),
    summary: 'a user',
    description: 'Shows a user with sessions, tokens, groups and recent events.',
    async page(request, reply) {
      const user = await requireTarget(request)
      await recordRead(request, user.id, 'user')
      const text = textsOf(request)
      const blocks = await userBlocks(app, user, {
        text,
        administrator: requireUser(request),
        after: BigInt(cursorIn(request.query.after)),
      })
      return sendSection(reply, { title: user.name, back: { label: text('admin.users'), href: section }, blocks })
    },
  })

  formPage(app, {
    path: `${section}/:id/:action`,
    operation: 'AdminUserAction',
    config: ownPages,
    params: Type.Object({
      ...UserParams.properties,
      action: Type.Unsafe<ActionName>({ type: 'string', enum: [...actionNames] }),
    }),
    show: {
      summary: 'a change of a user',
      description: 'Says what the change does, and asks for a reason.',
      page: (request, reply) => actionPage(request, reply),
    },
    submit: {
      summary: 'a change of a user',
      description: 'Makes the change.',
      form: formOf('AdminUserActionForm', { value: 'The new role, or the group.', reason: 'Why.' }),
      async send(request, reply) {
        const { action, id } = request.params
        const { value, reason } = request.body
        const user = await requireTarget(request)
        if (!actionsFor(user, requireUser(request), app.config.current()).includes(action)) throw notFound()
        const why = typedText(reason).trim().slice(0, 500)
        const { run, needsReason } = userActions[action]
        if (needsReason && why === '') throw validationFailed({ reason: ['The reason field is required.'] })
        if (!run) {
          const { sessionId, row } = await beginImpersonation(visitOf(request), adminOrigin(request, why), user.id)
          app.remember.sendCookie(request, reply, null)
          await switchSession(request, reply, sessionId, row)
          return startPage(app.config.current())
        }
        await run(adminOf(visitOf(request)), adminOrigin(request, why || null), user.id, typedText(value).trim())
        return changed(action === 'delete' ? section : userPath(id))
      },
      again: (request, reply, state) => actionPage(request, reply, state),
    },
  })

  /** Says what an action does, before it happens. */
  async function actionPage(
    request: FastifyRequest<{ Params: { id: string; action: ActionName } }>,
    reply: Parameters<typeof sendSection>[0],
    state?: Parameters<typeof sendSection>[2],
  ) {
    const user = await requireTarget(request)
    const { action } = request.params
    if (!actionsFor(user, requireUser(request), app.config.current()).includes(action)) throw notFound()
    await recordRead(request, user.id, 'user')
    const text = textsOf(request)
    const { field, isDanger, needsReason = false } = userActions[action]
    const { value = action === 'role' ? user.role : '', reason } = (request.body ?? {}) as Record<string, unknown>
    const label = text(`admin.action_${action}`)
    const fields = present([
      field && fieldOf({ name: 'value', label: text(field), value: typedText(value), isRequired: true }),
      fieldOf({
        ...{ name: 'reason', label: text('admin.reason'), value: typedText(reason), maxLength: 500 },
        hint: text(needsReason ? 'admin.reason_required' : 'admin.reason_hint'),
        isRequired: needsReason,
      }),
    ])
    return sendSection(
      reply,
      {
        title: label,
        lead: text(`admin.about_${action}`),
        back: { label: user.name, href: userPath(user.id) },
        blocks: [
          formBlockOf({
            ...{ name: 'change', action: request.url, fields },
            ...{ submit: label, isDanger, backHref: userPath(user.id) },
          }),
        ],
      },
      state,
    )
  }

  type Revoke = (admin: Admin, origin: EventContext, record: string, userId: number) => Promise<unknown>
  const records: Readonly<Record<string, Revoke>> = { session: revokeSession, token: revokeToken, group: removeMember }
  for (const [name, revoke] of Object.entries(records)) {
    formRoute(app, {
      path: `${section}/:id/${name}/:record`,
      operation: `AdminUser${name}`,
      config: ownPages,
      params: Type.Object({ ...UserParams.properties, record: Type.String({ pattern: '^[\\w.:@+-]{1,100}$' }) }),
      summary: `end a ${name} of a user`,
      description: 'Revokes it.',
      async send(request) {
        const { id, record } = request.params
        await revoke(adminOf(visitOf(request)), adminOrigin(request), record, Number(id))
        return changed(userPath(id))
      },
    })
  }
}
