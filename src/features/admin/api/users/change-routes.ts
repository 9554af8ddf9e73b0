import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { visitOf } from '../../../../auth/access/visit.ts'
import { fieldsField, givenNames } from '../../../../identity/chosen-names.ts'
import type { UserChanges } from '../../../../identity/users.ts'
import { validationFailed } from '../../../../platform/errors.ts'
import { optionalBody } from '../../../../platform/http/description/described-schemas.ts'
import { requireNewPassword } from '../../../../platform/http/new-password.ts'
import { Type } from '../../../../platform/json-schema.ts'
import { changeUser, endSessions, makeResetLink, removeUser, replacePassword, unlockUser } from '../../users.ts'
import { adminNameFields, adminOrigin, changes, reasonField, UserParams, userIdOf } from '../request.ts'
import { AdminUser, adminView } from '../schemas.ts'
import { adminOf } from '../still-administrator.ts'
import { etagHeaders, etagOf, versionCheck } from '../versions.ts'

const tags = ['Administration']
const unknown = { ...changes, alsoAnswers: [404] }
const versioned = { ...changes, alsoAnswers: [404, 412] }

/** Generators of clients cannot express that only `true` is valid. */
const isTrue = (description: string) => Type.Optional(Type.Boolean({ examples: [true], description }))

const UpdateBody = Type.Object(
  {
    role: Type.Optional(Type.String({ minLength: 1, maxLength: 255, format: 'name', description: 'The new role.' })),
    ...adminNameFields,
    fields: fieldsField,
    verified: isTrue('Marks the address as verified. `false` is invalid.'),
    disabled: Type.Optional(
      Type.Boolean({
        description:
          'Whether the account is disabled. Disabling revokes sessions, tokens and grants, which enabling does not restore.',
      }),
    ),
    reset_two_factor: isTrue('Removes the second factor. `false` is invalid.'),
    reason: reasonField,
  },
  { title: 'AdminUpdateUserRequest', additionalProperties: false },
)

const ReasonBody = Type.Object(
  { reason: reasonField },
  { title: 'AdminReason', additionalProperties: false, [optionalBody]: true },
)

const PasswordBody = Type.Object(
  {
    password: Type.String({
      minLength: 1,
      maxLength: 4_096,
      description: 'The new password, by the rules of `passwords`.',
    }),
    reason: reasonField,
  },
  { title: 'AdminSetPasswordRequest', additionalProperties: false },
)

const LinkBody = Type.Object(
  {
    mail: Type.Optional(Type.Boolean({ description: 'Whether to mail the link to the user instead of returning it.' })),
    reason: reasonField,
  },
  { title: 'AdminResetLinkRequest', additionalProperties: false, [optionalBody]: true },
)

const ResetLink = Type.Object(
  {
    link: Type.Unsafe<string | null>({
      type: ['string', 'null'],
      examples: ['https://app.example/reset-password/0f3a…'],
      description: 'The link; null if it was mailed.',
    }),
  },
  { title: 'AdminResetLink', description: 'A link that sets a new password.' },
)

const EndedSessions = Type.Object(
  { sessions: Type.Integer({ description: 'The number of sessions that ended.' }) },
  { title: 'AdminEndedSessions', description: 'The sessions ended.' },
)

/** Changes of one user. */
const userChanges: FastifyPluginAsyncTypebox = async (app) => {
  app.patch(
    '/admin/v1/users/:id',
    {
      config: versioned,
      schema: {
        operationId: 'adminUpdateUser',
        tags,
        summary: 'Change a user',
        description: 'With `If-Match`, 412 if the user has changed since that version. Ignores other fields.',
        params: UserParams,
        body: UpdateBody,
        response: { 200: { ...AdminUser, headers: etagHeaders } },
      },
    },
    async (request, reply) => {
      const { reason, verified, reset_two_factor, username, given_name, family_name, fields, ...asked } = request.body
      const { parts, ...named } = givenNames({ username, given_name, family_name })
      const hasParts = given_name !== undefined || family_name !== undefined
      for (const [name, value] of Object.entries({ verified, reset_two_factor })) {
        if (value === false) throw validationFailed({ [name]: [`The ${name} field can only be true.`] })
      }
      const wanted: UserChanges = {
        ...asked,
        ...named,
        ...(hasParts ? { parts } : {}),
        ...(fields ? { fields } : {}),
        ...(verified ? { verified } : {}),
        ...(reset_two_factor ? { resetTwoFactor: true } : {}),
      }
      if (Object.keys(wanted).length === 0) {
        throw validationFailed({
          role: [
            'One of role, username, given_name, family_name, fields, verified, disabled and reset_two_factor is required.',
          ],
        })
      }
      const origin = adminOrigin(request, reason)
      const user = await changeUser(adminOf(visitOf(request)), origin, userIdOf(request), wanted, versionCheck(request))
      reply.header('etag', etagOf(user))
      return adminView(user, app.config.current())
    },
  )

  app.delete(
    '/admin/v1/users/:id',
    {
      config: versioned,
      schema: {
        operationId: 'adminDeleteUser',
        tags,
        summary: 'Delete a user and all data of the account',
        description:
          'Works like a deletion by the user. With `If-Match`, 412 if the user has changed since that version. Give the reason in the header `Svc-Reason`.',
        params: UserParams,
        response: { 204: Type.Null() },
      },
    },
    async (request, reply) => {
      await removeUser(adminOf(visitOf(request)), adminOrigin(request), userIdOf(request), versionCheck(request))
      return reply.code(204).send(null)
    },
  )

  app.post(
    '/admin/v1/users/:id/password',
    {
      config: unknown,
      schema: {
        operationId: 'adminSetPassword',
        tags,
        summary: 'Set the password of a user',
        description: 'Ends the sessions and the access of applications, as a password reset does, and mails a notice.',
        params: UserParams,
        body: PasswordBody,
        response: { 204: Type.Null() },
      },
    },
    async (request, reply) => {
      const { password, reason } = request.body
      requireNewPassword(password, app.config.current())
      const hash = await app.hashing.hash(
        password,
        app.loginLimiter.laneOf(visitOf(request), `user ${request.params.id}`),
      )
      await replacePassword(adminOf(visitOf(request)), adminOrigin(request, reason), userIdOf(request), hash)
      return reply.code(204).send(null)
    },
  )

  app.post(
    '/admin/v1/users/:id/reset-link',
    {
      config: unknown,
      schema: {
        operationId: 'adminMakeResetLink',
        tags,
        summary: 'Make a link with which a user sets a new password',
        description:
          'The link works once, for `passwords.reset_expires`, and replaces an earlier one. Using it marks the address as verified. 422 for a disabled account.',
        params: UserParams,
        body: LinkBody,
        response: { 200: ResetLink },
      },
    },
    async (request) => {
      const { mail = false, reason } = request.body
      const link = await makeResetLink(adminOf(visitOf(request)), adminOrigin(request, reason), userIdOf(request), {
        mail,
      })
      return { link: mail ? null : link }
    },
  )

  app.post(
    '/admin/v1/users/:id/logout',
    {
      config: unknown,
      schema: {
        operationId: 'adminLogOutUser',
        tags,
        summary: 'End the sessions of a user, and forget the remembered and the trusted browsers',
        description: 'Tokens stay.',
        params: UserParams,
        body: ReasonBody,
        response: { 200: EndedSessions },
      },
    },
    async (request) => {
      const sessions = await endSessions(
        adminOf(visitOf(request)),
        adminOrigin(request, request.body.reason),
        userIdOf(request),
      )
      return { sessions }
    },
  )

  app.post(
    '/admin/v1/users/:id/unlock',
    {
      config: unknown,
      schema: {
        operationId: 'adminUnlockUser',
        tags,
        summary: 'Forget the failed sign-ins of a user, so that the account is no longer locked',
        description: 'Limits of an address over all accounts (`rate_limits.login_address`) stay.',
        params: UserParams,
        body: ReasonBody,
        response: { 204: Type.Null() },
      },
    },
    async (request, reply) => {
      await unlockUser(adminOf(visitOf(request)), adminOrigin(request, request.body.reason), userIdOf(request))
      return reply.code(204).send(null)
    },
  )
}

export default userChanges
