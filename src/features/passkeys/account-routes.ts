import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import { requireUser } from '../../auth/access/caller.ts'
import { visitOf } from '../../auth/access/visit.ts'
import { browserName } from '../../identity/browser-name.ts'
import { addAccountPages, done, ownAccount, sectionPath } from '../../pages/account/account-pages.ts'
import { formOf, formPage, formRoute, fresh, pageRoute } from '../../pages/form-page.ts'
import { notFound } from '../../platform/errors.ts'
import { checkBody } from '../../platform/http/check-body.ts'
import { typedText } from '../../platform/http/fields.ts'
import type { Static } from '../../platform/json-schema.ts'
import { recentPassword, remove, rename } from './manage.ts'
import { newPasskeyPath } from './offer.ts'
import { PasskeyParams, type PasskeyRecord, RenameBody } from './schemas.ts'
import { listPasskeys } from './store.ts'

const section = sectionPath('passkeys')
const pathOf = (id: string): string => `${section}/${id}`

const shown = ({ id, name, created_at, last_used_at, backed_up }: Static<typeof PasskeyRecord>) => ({
  name,
  href: pathOf(id),
  addedAt: created_at,
  usedAt: last_used_at,
  isSynced: backed_up,
})

/** The section with the user's passkeys. Only adding one requires JavaScript. */
const passkeyPages: FastifyPluginAsync = async (app) => {
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
    { errors, status } = fresh,
  ) {
    const passkey = await requireOwn(request)
    const path = pathOf(passkey.id)
    return reply.page(
      'account-passkey',
      {
        passkey: shown(passkey),
        name: typed === undefined ? passkey.name : typedText(typed),
        renameAction: path,
        removeAction: `${path}/remove`,
        errors,
        backHref: section,
      },
      status,
    )
  }

  pageRoute(app, {
    path: section,
    operation: 'Passkeys',
    config: ownAccount,
    summary: 'your passkeys',
    description: 'Lists the passkeys of the user.',
    page: async (request, reply) =>
      reply.page('account-passkeys', { passkeys: (await listed(request)).map(shown), addHref: newPasskeyPath }),
  })

  pageRoute(app, {
    path: newPasskeyPath,
    operation: 'NewPasskey',
    config: sensitive,
    summary: 'add a passkey',
    description: 'Its script uses `GET /user/passkeys/options` and `POST /user/passkeys`.',
    page: (request, reply) =>
      reply.page('account-passkey-new', {
        name: browserName(request.headers['user-agent'] ?? '') ?? '',
        nextHref: done(section, 'passkey_added'),
        backHref: section,
      }),
  })

  formPage(app, {
    path: `${section}/:id`,
    operation: 'Passkey',
    config: sensitive,
    params: PasskeyParams,
    show: {
      summary: 'one of your passkeys',
      description: 'Renames or removes the passkey.',
      page: (request, reply) => editPage(request, reply),
    },
    submit: {
      summary: 'rename a passkey',
      description: 'Like `PUT /user/passkeys/{id}`. 404 for passkeys of other users.',
      next: 'To the section.',
      form: formOf('PasskeyForm', { name: 'The new name.' }),
      async send(request) {
        const { name } = checkBody(request, RenameBody, { name: request.body.name })
        await rename(visitOf(request), BigInt((await requireOwn(request)).id), name)
        return done(section, 'passkey_renamed')
      },
      again: (request, reply, state) => editPage(request, reply, request.body.name, state),
    },
  })

  formRoute(app, {
    path: `${section}/:id/remove`,
    operation: 'PasskeyRemoval',
    config: { ...sensitive, alsoAnswers: [404, 422] },
    params: PasskeyParams,
    summary: 'remove a passkey',
    description: 'Like `DELETE /user/passkeys/{id}`. 404 for passkeys of other users.',
    next: 'To the section.',
    async send(request) {
      await remove(visitOf(request), BigInt((await requireOwn(request)).id))
      return done(section, 'passkey_removed')
    },
    again: (request, reply, state) => editPage(request, reply, undefined, state),
  })
}

export default passkeyPages
