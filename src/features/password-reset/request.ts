import { randomBytes } from 'node:crypto'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Tx } from '../../database/database.ts'
import { HttpError, validationFailed } from '../../errors.ts'
import { linkTo } from '../../pages/links.ts'
import { type EventContext, eventContext, recordEvent } from '../../users/events.ts'
import type { User } from '../../users/user.ts'
import { findUserByEmail } from '../../users/users.ts'
import { replaceReset } from './store.ts'

/** Message of the form, the same for every address. */
export const linkSent = 'We have emailed your password reset link.'

const kind = 'password-reset-request'

/** Origin and address of a request. */
type Requested = Pick<EventContext, 'ipAddress' | 'userAgent' | 'requestId'> & { email: string }

/**
 * Accepts a request for a reset link. For every address it queues one job, so that neither response nor timing reveals
 * whether the account exists. With `passwords.reveal_unknown_email` it runs immediately, and throws 422 for an unknown
 * or throttled address.
 */
export async function requestReset(request: FastifyRequest, email: string): Promise<void> {
  const { server: app } = request
  const origin = eventContext(request)
  const { ipAddress, userAgent, requestId } = origin
  if (!app.config.current().passwords.reveal_unknown_email) {
    const requested: Requested = { email, ipAddress, userAgent, requestId }
    await app.database.transaction((tx) => app.outbox.add(tx, kind, requested))
    return
  }
  const found = await findUserByEmail(app.database, email)
  if (!found || found.user.disabled)
    throw validationFailed({ email: ["We can't find a user with that email address."] })
  const isSent = await app.database.transaction((tx) => sendLink(app, tx, origin, found.user))
  if (!isSent) throw validationFailed({ email: ['Please wait before retrying.'] })
}

/** Handles the jobs that `requestReset` queued. */
export function answerRequests(app: FastifyInstance): void {
  app.outbox.handle<Requested>(kind, async ({ email, ...from }) => {
    const found = await findUserByEmail(app.database, email)
    if (!found || found.user.disabled) return
    const origin: EventContext = { ...from, log: app.log, metrics: app.metrics, now: app.clock.now() }
    try {
      await app.database.transaction((tx) => sendLink(app, tx, origin, found.user))
    } catch (error) {
      // The mail budget is spent: drop the request and keep the earlier link.
      if (!(error instanceof HttpError) || error.statusCode !== 429) throw error
      app.log.info({ userId: found.user.id }, 'password reset mail not sent, mail limit reached')
    }
  })
}

/**
 * Mails the link; false if throttled, 429 if a mail budget is spent. The URL comes from the configuration, never from a
 * Host header.
 */
async function sendLink(app: FastifyInstance, tx: Tx, origin: EventContext, user: User): Promise<boolean> {
  const config = app.config.current()
  const { reset_throttle: throttle, reset_expires: validity } = config.passwords
  const token = randomBytes(32).toString('hex')
  if (!(await replaceReset(tx, user, { token, throttle, now: origin.now }))) return false
  const data = {
    link: linkTo(config, 'reset', { token, email: user.email }),
    minutes: Math.round(validity / 60_000),
  }
  const mail = { to: user.email, template: 'reset-password', data, expiresAt: origin.now + validity } as const
  await app.mail.queue(tx, mail, { userId: null, ipAddress: origin.ipAddress })
  await recordEvent(tx, origin, { type: 'password_reset_requested', userId: user.id })
  return true
}
