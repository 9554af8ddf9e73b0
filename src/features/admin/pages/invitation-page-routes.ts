import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { visitOf } from '../../../auth/access/visit.ts'
import { invite, listInvitations, revokeInvitation } from '../../../identity/invitations.ts'
import { type FormState, formOf, formRoute, pageRoute } from '../../../pages/form-page.ts'
import { textsOf } from '../../../pages/texts.ts'
import { notFound, validationFailed } from '../../../platform/errors.ts'
import { idParameter, typedText, uncheckedText } from '../../../platform/http/fields.ts'
import { isEmail, isName } from '../../../platform/http/formats.ts'
import { Type } from '../../../platform/json-schema.ts'
import { lockForAdmin } from '../admin.ts'
import { adminOrigin, recordRead } from '../api/request.ts'
import { adminOf } from '../api/still-administrator.ts'
import { addressTaken } from '../users.ts'
import { fieldOf, formBlockOf, pageOf, present, rowOf, rowsOf, take, timeOf } from './blocks.ts'
import { adminSection, changed, cursorIn, ownPages, sendSection } from './section-hooks.ts'

const section = adminSection('invitations')

/** Invitations: list, send and revoke. */
export async function invitationPages(app: FastifyInstance): Promise<void> {
  async function page(request: FastifyRequest, reply: FastifyReply, state?: FormState) {
    const text = textsOf(request)
    const { after } = request.query as { after?: unknown }
    const cursor = cursorIn(after)
    await recordRead(request, null, 'invitations')
    const found = await listInvitations(app.database, { after: cursor, take, now: app.clock.now() })
    const { shown, nextHref } = pageOf(found, ({ id }) => `${section}?after=${id}`)
    const sent = (request.body ?? {}) as Record<string, unknown>
    const field = (name: string, label: string, more: { isRequired?: boolean; hint?: string } = {}) =>
      fieldOf({ name, label, value: typedText(sent[name]), ...more })
    const optional = { hint: text('fields.optional') }
    return sendSection(
      reply,
      {
        title: text('admin.invitations'),
        blocks: [
          rowsOf({
            name: 'invitations',
            rows: shown.map(({ id, email, name, role, groups, expires_at }) =>
              rowOf({
                title: email,
                badges: [role],
                details: present([name, groups.join(', '), timeOf(expires_at, 'account-token-list.expires')]),
                action: {
                  action: `${section}/${id}/revoke`,
                  label: text('account-token-list.revoke'),
                  name: text('admin.action_name', { action: text('account-token-list.revoke'), name: email }),
                },
              }),
            ),
            nextHref,
          }),
          formBlockOf({
            ...{ name: 'invite', heading: text('admin.invite'), action: section, submit: text('admin.invite') },
            fields: [
              field('email', text('account-profile.email'), { isRequired: true }),
              field('name', text('account-profile.name'), optional),
              field('role', text('admin.role'), optional),
              field('groups', text('admin.groups'), { hint: text('admin.groups_listed') }),
            ],
          }),
        ],
      },
      state,
    )
  }

  pageRoute(app, {
    path: section,
    operation: 'AdminInvitations',
    config: ownPages,
    query: Type.Object({ after: uncheckedText('The id of the last invitation of the previous page.') }),
    summary: 'invitations',
    description: 'Lists the open invitations.',
    page: (request, reply) => page(request, reply),
  })

  formRoute(app, {
    path: section,
    operation: 'AdminInvitation',
    config: ownPages,
    summary: 'invite a person',
    description: 'Mails a link that creates an account.',
    form: formOf('AdminInvitationForm', {
      email: 'The address.',
      name: 'The name.',
      role: 'The role.',
      groups: 'Groups.',
    }),
    async send(request) {
      const [email = '', name, role, groups = ''] = [
        request.body.email,
        request.body.name,
        request.body.role,
        request.body.groups,
      ].map((value) => typedText(value).trim().slice(0, 1_000))
      if (!isEmail(email)) throw validationFailed({ email: ['The email field must be a valid email address.'] })
      for (const [key, value] of Object.entries({ name, role })) {
        if (!value) continue
        if (value.length > 255) {
          throw validationFailed({ [key]: [`The ${key} field must not be greater than 255 characters.`] })
        }
        if (!isName(value))
          throw validationFailed({ [key]: [`The ${key} field contains characters that are not allowed.`] })
      }
      const asked = {
        email,
        name: name || null,
        role: role || app.config.current().registration.role,
        groups: present(groups.split(',').map((group) => group.trim())),
      }
      const origin = adminOrigin(request)
      await app.database.transaction(async (tx) => {
        await lockForAdmin(adminOf(visitOf(request)), tx, [])
        if (!(await invite(app, tx, origin, asked))) throw await addressTaken(tx, email, origin.now)
      })
      return changed(section)
    },
    again: (request, reply, state) => page(request, reply, state),
  })

  formRoute(app, {
    path: `${section}/:id/revoke`,
    operation: 'AdminInvitationRevoke',
    config: ownPages,
    params: Type.Object({ id: idParameter('The id of the invitation.', '^[1-9][0-9]{0,14}$') }),
    summary: 'revoke an invitation',
    description: 'Its link stops working.',
    async send(request) {
      const isRevoked = await app.database.transaction(async (tx) => {
        await lockForAdmin(adminOf(visitOf(request)), tx, [])
        return revokeInvitation(tx, adminOrigin(request), { id: Number(request.params.id) })
      })
      if (!isRevoked) throw notFound('Invitation not found.')
      return changed(section)
    },
  })
}
