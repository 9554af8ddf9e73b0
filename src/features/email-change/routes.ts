import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply } from 'fastify'
import { eventContext } from '../../auth/access/visit.ts'
import { isUndoSignature } from '../../identity/email-change.ts'
import { recordEvent } from '../../identity/events.ts'
import { maskedAddress } from '../../identity/masked-address.ts'
import { forgotPage, startPage } from '../../pages/links.ts'
import { addPages, pageAnswers } from '../../pages/pages.ts'
import { textsOf } from '../../pages/texts.ts'
import { Type } from '../../platform/json-schema.ts'
import { findChange, restoreAddress, type UndoableChange } from './store.ts'

const path = '/email/undo/:id/:signature'

/** An undo also removes sign-in methods added this long before the change, because an attacker prepares first. */
const suspect = 7 * 86_400_000

const Params = Type.Object({ id: Type.String({ maxLength: 20 }), signature: Type.String({ maxLength: 64 }) })

/** Thrown to roll back an undo, because the old address is taken or the link was used. */
class NotUndone extends Error {
  readonly why: 'taken' | 'used'

  constructor(why: 'taken' | 'used') {
    super(why)
    this.why = why
  }
}

/**
 * The undo link that svc mails to the old address. It needs no session, because an attacker may have taken over the
 * account. Opening it changes nothing, because mail scanners open links; only the button does.
 */
const emailChange: FastifyPluginAsyncTypebox = async (app) => {
  await addPages(app)

  /** Returns the change of a valid, unexpired link. */
  async function changeOf({ id, signature }: { id: string; signature: string }): Promise<UndoableChange | null> {
    if (!/^[1-9]\d{0,17}$/.test(id)) return null
    const change = await findChange(app.database, BigInt(id), app.clock.now())
    return change && isUndoSignature(app, change, signature) ? change : null
  }

  function refuse(reply: FastifyReply, why: 'invalid' | 'taken'): FastifyReply {
    const config = app.config.current()
    const text = textsOf(reply.request)
    const words = { heading: text(`undo-email.${why}`), texts: [text(`undo-email.${why}_text`)] }
    return reply.page('error', { ...words, homeHref: startPage(config) }, why === 'taken' ? 409 : 403)
  }

  app.get(
    path,
    {
      config: { access: { family: 'none' }, needsDatabase: true },
      schema: {
        operationId: 'showEmailUndo',
        tags: ['Pages'],
        summary: 'Page: undo a change of the email address',
        description:
          'Target of the link in the mail to the old address. Works for 7 days without a session, and changes nothing.',
        params: Params,
        response: {
          200: pageAnswers.page,
          403: pageAnswers.refused,
        },
      },
    },
    async (request, reply) => {
      const change = await changeOf(request.params)
      if (!change) return refuse(reply, 'invalid')
      return reply.page('undo-email', {
        action: request.url.split('?')[0] ?? '',
        email: change.oldEmail,
        current: maskedAddress(change.newEmail),
      })
    },
  )

  app.post(
    path,
    {
      config: { access: { family: 'none' } },
      schema: {
        operationId: 'undoEmailChange',
        tags: ['Pages'],
        summary: 'Form: undo a change of the email address',
        description:
          'Restores the old address, ends all sessions and revokes all tokens and grants. Also removes the password, and sign-in methods added since a week before the change. The user then sets a new password by mail to the old address.',
        params: Params,
        response: {
          200: pageAnswers.page,
          403: pageAnswers.refused,
          409: pageAnswers.refused,
        },
      },
    },
    async (request, reply) => {
      const change = await changeOf(request.params)
      if (!change) return refuse(reply, 'invalid')
      const origin = eventContext(request)
      try {
        await app.database.transaction(async (tx) => {
          await app.accounts.secureAccount(tx, change.userId, new Date(change.createdAt.getTime() - suspect))
          const outcome = await restoreAddress(tx, change, origin.now)
          if (outcome !== 'restored') throw new NotUndone(outcome)
          await recordEvent(tx, origin, { type: 'email_change_undone', userId: change.userId })
        })
      } catch (error) {
        if (!(error instanceof NotUndone)) throw error
        return refuse(reply, error.why === 'taken' ? 'taken' : 'invalid')
      }
      const text = textsOf(request)
      const words = { title: text('undo-email.done_title'), message: text('undo-email.done') }
      return reply.page('message', { ...words, link: { href: forgotPage, label: text('undo-email.new_password') } })
    },
  )
}

export default emailChange
