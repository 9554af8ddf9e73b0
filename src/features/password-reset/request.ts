import { randomBytes } from 'node:crypto'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Tx } from '../../database/database.ts'
import { HttpError, validationFailed } from '../../errors.ts'
import { linkTo } from '../../pages/links.ts'
import { type EventContext, eventContext, recordEvent } from '../../users/events.ts'
import type { User } from '../../users/user.ts'
import { findUserByEmail } from '../../users/users.ts'
import { replaceReset } from './store.ts'

/** What the forgotten password's form is told, whatever the address. */
export const linkSent = 'We have emailed your password reset link.'

const kind = 'password-reset-request'

/** Who asked, and for which address. */
type Requested = Pick<EventContext, 'ipAddress' | 'userAgent' | 'requestId'> & { email: string }

/**
 * Takes a request for a reset link, and does the same for every address: one row of work for later.
 * What is known, unknown, disabled or throttled differs only after the answer, and so do the times.
 * With `passwords.reveal_unknown_email` it is done at once, and throws 422 for an unknown or throttled address.
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

/** Does what `requestReset` left for later. */
export function answerRequests(app: FastifyInstance): void {
  app.outbox.handle<Requested>(kind, async ({ email, ...from }) => {
    const found = await findUserByEmail(app.database, email)
    if (!found || found.user.disabled) return
    const origin: EventContext = { ...from, log: app.log, metrics: app.metrics, now: app.clock.now() }
    try {
      await app.database.transaction((tx) => sendLink(app, tx, origin, found.user))
    } catch (error) {
      // A spent mail budget: the request is dropped, and its link before stays as it was.
      if (!(error instanceof HttpError) || error.statusCode !== 429) throw error
      app.log.info({ userId: found.user.id }, 'password reset mail not sent: the mail limit is reached')
    }
  })
}

/** Mails the link; false when the last one is too young, 429 when a mail budget is spent. The link comes from the configuration alone, never from a Host header. */
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
