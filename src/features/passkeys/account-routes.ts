import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { requireUser } from '../../auth/access/caller.ts'
import { browserName } from '../../identity/browser-name.ts'
import {
  addAccountPages,
  ownAccount,
  sectionAnswers,
  sectionPath,
  submitForm,
} from '../../pages/account/account-pages.ts'
import { type FieldErrors, notFound } from '../../platform/errors.ts'
import { formType } from '../../platform/http/bodies.ts'
import { checkBody } from '../../platform/http/check-body.ts'
import { uncheckedText } from '../../platform/http/fields.ts'
import { type Static, Type } from '../../platform/json-schema.ts'
import { recentPassword, remove, rename } from './manage.ts'
import { newPasskeyPath } from './offer.ts'
import { PasskeyParams, type PasskeyRecord, RenameBody } from './schemas.ts'
import { listPasskeys } from './store.ts'

const section = sectionPath('passkeys')
const pathOf = (id: string): string => `${section}/${id}`

const RenameForm = Type.Object(
  { name: uncheckedText('The new name.') },
  { title: 'PasskeyForm', additionalProperties: false },
)

const text = (value: unknown): string => (typeof value === 'string' ? value : '')

const shown = ({ id, name, created_at, last_used_at, backed_up }: Static<typeof PasskeyRecord>) => ({
  name,
  href: pathOf(id),
  addedAt: created_at,
  usedAt: last_used_at,
  isSynced: backed_up,
})

/** The section with the user's passkeys. Only adding one requires JavaScript. */
const passkeyPages: FastifyPluginAsyncTypebox = async (app) => {
  await addAccountPages(app, 'passkeys')
  const sensitive = { ...ownAccount, recentPassword }

  const listed = (request: FastifyRequest) => listPasskeys(app.database, requireUser(request).id)

  /** Finds a passkey of the user. 404 for those of others too. */
  async function requireOwn(request: FastifyRequest<{ Params: { id: string } }>) {
    const found = (await listed(request)).find(({ id }) => id === request.params.id)
    if (!found) throw notFound()
    return found
  }

  async function editPage(
    request: FastifyRequest<{ Params: { id: string } }>,
    reply: FastifyReply,
    typed?: unknown,
    errors: FieldErrors = {},
    status = 200,
  ) {
    const passkey = await requireOwn(request)
    const path = pathOf(passkey.id)
    return reply.page(
      'account-passkey',
      {
        passkey: shown(passkey),
        name: typed === undefined ? passkey.name : text(typed),
        renameAction: path,
        removeAction: `${path}/remove`,
        errors,
        backHref: section,
      },
      status,
    )
  }

  app.get(
    section,
    {
      config: ownAccount,
      schema: {
        operationId: 'showPasskeys',
        tags: ['Account pages'],
        summary: 'Page: your passkeys',
        description: 'Lists the passkeys of the user.',
        response: sectionAnswers,
      },
    },
    async (request, reply) =>
      reply.page('account-passkeys', { passkeys: (await listed(request)).map(shown), addHref: newPasskeyPath }),
  )

  app.get(
    newPasskeyPath,
    {
      config: sensitive,
      schema: {
        operationId: 'showNewPasskey',
        tags: ['Account pages'],
        summary: 'Page: add a passkey',
        description: 'Its script uses `GET /user/passkeys/options` and `POST /user/passkeys`.',
        response: sectionAnswers,
      },
    },
    async (request, reply) =>
      reply.page('account-passkey-new', {
        name: browserName(request.headers['user-agent'] ?? '') ?? '',
        nextHref: `${section}?done=passkey_added`,
        backHref: section,
      }),
  )

  app.get(
    `${section}/:id`,
    {
      config: sensitive,
      schema: {
        operationId: 'showPasskey',
        tags: ['Account pages'],
        summary: 'Page: one of your passkeys',
        description: 'Renames or removes the passkey.',
        params: PasskeyParams,
        response: sectionAnswers,
      },
    },
    (request, reply) => editPage(request, reply),
  )

  app.post(
    `${section}/:id`,
    {
      config: sensitive,
      schema: {
        operationId: 'submitPasskey',
        tags: ['Account pages'],
        summary: 'Form: rename a passkey',
        description: 'Like `PUT /user/passkeys/{id}`. 404 for passkeys of other users.',
        consumes: [formType],
        params: PasskeyParams,
        body: RenameForm,
        response: { 303: Type.Null({ description: 'To the section.' }) },
      },
    },
    (request, reply) =>
      submitForm(reply, section, {
        change: async () => {
          const { name } = checkBody(request, RenameBody, { name: request.body.name })
          await rename(request, BigInt((await requireOwn(request)).id), name)
          return 'passkey_renamed'
        },
        show: (errors, status) => editPage(request, reply, request.body.name, errors, status),
      }),
  )

  app.post(
    `${section}/:id/remove`,
    {
      config: { ...sensitive, alsoAnswers: [404, 422] },
      schema: {
        operationId: 'submitPasskeyRemoval',
        tags: ['Account pages'],
        summary: 'Form: remove a passkey',
        description: 'Like `DELETE /user/passkeys/{id}`. 404 for passkeys of other users.',
        params: PasskeyParams,
        response: { 303: Type.Null({ description: 'To the section.' }) },
      },
    },
    (request, reply) =>
      submitForm(reply, section, {
        change: async () => {
          await remove(request, BigInt((await requireOwn(request)).id))
          return 'passkey_removed'
        },
        show: (errors, status) => editPage(request, reply, undefined, errors, status),
      }),
  )
}

export default passkeyPages
