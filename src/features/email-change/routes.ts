import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply } from 'fastify'
import { Type } from 'typebox'
import type { Tx } from '../../database/database.ts'
import { startPage } from '../../pages/links.ts'
import { addPages, pageAnswer } from '../../pages/pages.ts'
import { textsOf } from '../../pages/theme.ts'
import { isUndoSignature } from '../../users/email-change.ts'
import { eventContext, recordEvent } from '../../users/events.ts'
import { findChange, restoreAddress, type UndoableChange } from './store.ts'

const path = '/email/undo/:id/:signature'

const forgotPage = '/oauth/forgot-password'

/** Ways in that were added this long before a change are removed with it: an attacker prepares before the change. */
const suspect = 7 * 86_400_000

const Params = Type.Object({ id: Type.String({ maxLength: 20 }), signature: Type.String({ maxLength: 64 }) })

interface EmailChangeOptions {
  /** Revokes everything that was issued to the user, and removes the ways in that were added since then. */
  secureAccount: (tx: Tx, userId: number, since: Date) => Promise<void>
}

/** Rolls an undo back that came too late. */
class NotUndone extends Error {
  readonly why: 'taken' | 'used'

  constructor(why: 'taken' | 'used') {
    super(why)
    this.why = why
  }
}

/**
 * The link that the old address of an account gets when the address is changed. It needs no session, because whoever
 * changed the address may have taken the account over. Following it changes nothing, because mail scanners follow links:
 * only the button does.
 */
const emailChange: FastifyPluginAsyncTypebox<EmailChangeOptions> = async (app, { secureAccount }) => {
  await addPages(app)

  /** The change of a link that svc signed and that still works. */
  async function changeOf({ id, signature }: { id: string; signature: string }): Promise<UndoableChange | null> {
    if (!/^[1-9]\d{0,17}$/.test(id)) return null
    const change = await findChange(app.database, BigInt(id), app.clock.now())
    return change && isUndoSignature(app, change, signature) ? change : null
  }

  function refuse(reply: FastifyReply, why: 'invalid' | 'taken'): FastifyReply {
    const config = app.config.current()
    const text = textsOf(config)
    const words = { heading: text(`undo-email.${why}`), texts: [text(`undo-email.${why}_text`)] }
    return reply.page('error', { ...words, homeHref: startPage(config) }, why === 'taken' ? 409 : 403)
  }

  app.get(
    path,
    {
      config: { access: { family: 'none' } },
      schema: {
        summary: 'Page: undo a change of the email address',
        description:
          'The link of the mail to the old address. It works for 7 days, without a session, and changes nothing.',
        params: Params,
        response: { 200: pageAnswer('The button.'), 403: pageAnswer('The link is invalid, used or too old.') },
      },
    },
    async (request, reply) => {
      const change = await changeOf(request.params)
      if (!change) return refuse(reply, 'invalid')
      return reply.page('undo-email', { action: request.url.split('?')[0] ?? '', email: change.oldEmail })
    },
  )

  app.post(
    path,
    {
      config: { access: { family: 'none' } },
      schema: {
        summary: 'Form: undo a change of the email address',
        description:
          'Restores the old address, ends every session, revokes every token and grant, and removes the password and the ways in that were added since a week before the change. A password reset by the old address opens the account.',
        params: Params,
        response: {
          200: pageAnswer('The old address is restored.'),
          403: pageAnswer('The link is invalid, used or too old.'),
          409: pageAnswer('Another account has the old address.'),
        },
      },
    },
    async (request, reply) => {
      const change = await changeOf(request.params)
      if (!change) return refuse(reply, 'invalid')
      const origin = eventContext(request)
      try {
        await app.database.transaction(async (tx) => {
          await secureAccount(tx, change.userId, new Date(change.createdAt.getTime() - suspect))
          const outcome = await restoreAddress(tx, change, origin.now)
          if (outcome !== 'restored') throw new NotUndone(outcome)
          await recordEvent(tx, origin, { type: 'email_change_undone', userId: change.userId })
        })
      } catch (error) {
        if (!(error instanceof NotUndone)) throw error
        return refuse(reply, error.why === 'taken' ? 'taken' : 'invalid')
      }
      const text = textsOf(app.config.current())
      const words = { title: text('undo-email.done_title'), message: text('undo-email.done') }
      return reply.page('message', { ...words, link: { href: forgotPage, label: text('undo-email.new_password') } })
    },
  )
}

export default emailChange
