import { randomBytes } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import type { Visit } from '../../auth/access/visit.ts'
import { noteUnsent } from '../../identity/account-mail.ts'
import {
  type EventContext,
  laterContext,
  type RequestOrigin,
  recordEvent,
  requestOrigin,
} from '../../identity/events.ts'
import { canonicalEmail, type User } from '../../identity/user.ts'
import { findUserByEmail, isAddressInDoubt } from '../../identity/users.ts'
import { linkTo } from '../../pages/links.ts'
import type { Tx } from '../../platform/database/database.ts'
import { validationFailed } from '../../platform/errors.ts'
import type { MailShare } from '../../platform/mail/budget.ts'
import type { MailDraft } from '../../platform/mail/mail.ts'
import { replaceReset } from './store.ts'

/** Message of the form, the same for every address. */
export const linkSent = 'We have emailed your password reset link.'

const kind = 'password-reset-request'

/** Origin and address of a request. `isAllowed` is false if the address got a link recently or too much mail. */
type Requested = RequestOrigin & { email: string; isAllowed?: boolean }

/**
 * Accepts a request for a reset link. For every address it queues one job, so that neither response nor timing reveals
 * whether the account exists. The mail budgets count every address for the same reason. With
 * `passwords.reveal_unknown_email` it runs immediately, and throws 422 for an unknown or throttled address.
 */
export async function requestReset(visit: Visit, email: string): Promise<void> {
  const { app } = visit
  const origin = visit.origin
  // A known browser has its own counters, so that strangers cannot stop the mails of an account's owner.
  const share = app.loginLimiter.signedInBefore(visit, { email }) ? 'known' : 'guest'
  if (!app.config.current().passwords.reveal_unknown_email) {
    await app.database.transaction(async (tx) => {
      const isAllowed = await countRequest(app, tx, email, { share, origin })
      const requested: Requested = { email, isAllowed, ...requestOrigin(origin) }
      await app.outbox.add(tx, kind, requested)
    })
    return
  }
  const found = await findUserByEmail(app.database, email)
  if (!found || found.user.disabled)
    throw validationFailed({ email: ["We can't find a user with that email address."] })
  if (await isAddressInDoubt(app.database.prisma, found.user.id, origin.now)) {
    throw validationFailed({
      email: ['Sign in and verify this new address first, or undo the change by the link in our mail.'],
    })
  }
  const isSent = await app.database.transaction((tx) =>
    sendLink(app, tx, origin, found.user, (mail) =>
      app.mail.queue(tx, mail, { share, userId: null, ipAddress: origin.ipAddress }),
    ),
  )
  if (!isSent) throw validationFailed({ email: ['Please wait before retrying.'] })
}

/** Counts a request for any address; returns whether to mail an account. Throws 429 if the source sent too many. */
async function countRequest(
  app: FastifyInstance,
  tx: Tx,
  email: string,
  { share, origin }: { share: MailShare; origin: EventContext },
): Promise<boolean> {
  const { reset_throttle: window } = app.config.current().passwords
  const counters = app.counters.within(tx)
  const counter = `reset-requests-for:${share}:${canonicalEmail(email)}`
  const hit = window > 0 && (await counters.hit(counter, { max: 1, window, block: 'window' }, origin.now))
  if (hit && !hit.allowed) return false
  const isAllowed = await app.mail.reserve(tx, email, { share, ipAddress: origin.ipAddress })
  // No mail, no wait: the next request may come as soon as the budget allows it.
  if (hit && !isAllowed) await counters.undo(counter)
  return isAllowed
}

/** Handles the jobs that `requestReset` queued. */
export function answerRequests(app: FastifyInstance): void {
  app.outbox.handle<Requested>(kind, async ({ email, isAllowed, ...from }) => {
    const found = await findUserByEmail(app.database, email)
    if (!found || found.user.disabled) return
    const origin = laterContext(app, from)
    const isInDoubt = await isAddressInDoubt(app.database.prisma, found.user.id, origin.now)
    if (isInDoubt || isAllowed === false) {
      // After a spent budget, the earlier link stays valid.
      const reason = isInDoubt ? 'unverified_address' : 'mail_limit'
      return noteUnsent(app, origin, { userId: found.user.id, template: 'reset-password', reason })
    }
    await app.database.transaction((tx) =>
      sendLink(app, tx, origin, found.user, (mail) => app.mail.queueReserved(tx, mail)),
    )
  })
}

/**
 * Mails the link; false if throttled. The URL comes from the configuration, never from a Host header.
 */
async function sendLink(
  app: FastifyInstance,
  tx: Tx,
  origin: EventContext,
  user: User,
  queue: (mail: MailDraft) => Promise<void>,
): Promise<boolean> {
  const config = app.config.current()
  const { reset_throttle: throttle, reset_expires: validity } = config.passwords
  const token = randomBytes(32).toString('hex')
  if (!(await replaceReset(tx, user, { token, throttle, now: origin.now }))) return false
  const data = {
    link: linkTo(config, 'reset', { token, email: user.email }),
    minutes: Math.round(validity / 60_000),
  }
  const language = user.language ?? origin.language
  const mail = { to: user.email, template: 'reset-password', language, data, expiresAt: origin.now + validity } as const
  await queue(mail)
  await recordEvent(tx, origin, { type: 'password_reset_requested', userId: user.id })
  return true
}
