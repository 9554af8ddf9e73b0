import { domainToASCII } from 'node:url'
import type { CurrentConfig } from '../config/current.ts'
import type { Rate } from '../config/units.ts'
import type { Tx } from '../database/database.ts'
import { limitedAddress } from '../http/client-address.ts'
import type { Counters, LimitRule } from '../limits/counters.ts'

/** Cause of a mail. Budgets count by each of these and by the recipient's mailbox. */
export interface MailCause {
  /** The signed-in user, or the subject of a notice. */
  userId: number | null
  ipAddress: string | null
}

const hour = 3_600_000
const day = 24 * hour

/** Name of the counter of a mailbox, before the mailbox. */
const mailboxPrefix = 'mails-to:'

/** How long equal notices are delayed after one was sent, in milliseconds. */
const quietTime = hour

/** Users may share an address, so its budget is this multiple of a user's. */
const addressShare = 10

/** Returns the mailbox of an address: without sub-address (`+tag`), quotes and international spelling. */
export function mailboxOf(email: string): string {
  const at = email.lastIndexOf('@')
  const local = email
    .slice(0, at)
    .replace(/^"(.*)"$/su, '$1')
    .replace(/\\(.)/gsu, '$1')
  const [name] = /^.[^+]*/su.exec(local) ?? [local]
  const domain = email.slice(at + 1)
  return `${name}@${domainToASCII(domain) || domain}`.normalize('NFKC').toLowerCase()
}

/** The budget that is spent. */
interface Spent {
  max: number
  /** The time (Unix milliseconds) from which the mail may be sent. */
  until: number
}

/**
 * Limits mail by recipient, source address and user. Rejected mail does not count. Uses the counters directly, because
 * @fastify/rate-limit cannot count in a transaction, take hits back or delay increasingly.
 */
export class MailBudget {
  readonly #config: CurrentConfig
  readonly #counters: Counters

  constructor(config: CurrentConfig, counters: Counters) {
    this.#config = config
    this.#counters = counters
  }

  /** Counts a mail in the transaction of its cause; returns the spent budget, or null if the mail may be sent. */
  async spend(tx: Tx, kind: MailKind, to: string, cause: MailCause, now: number): Promise<Spent | null> {
    const rate = this.#config.current().rate_limits.mail
    if (!rate) return null
    const counters = this.#counters.within(tx)
    const spent: string[] = []
    for (const [name, rule] of budgetsOf(rate, kind, to, cause)) {
      const hit = await counters.hit(name, rule, now)
      if (!hit.allowed) {
        for (const taken of spent) await counters.undo(taken)
        return { max: rule.max, until: hit.until }
      }
      spent.push(name)
    }
    return null
  }

  /**
   * Counts a request for a mail to an address that may have no account. Both counters then show the same for every
   * address. `source` is the spent budget of the source address, `isAllowed` whether the mailbox may get the mail.
   */
  async reserve(
    tx: Tx,
    to: string,
    ipAddress: string | null,
    now: number,
  ): Promise<{ source: Spent | null; isAllowed: boolean }> {
    const rate = this.#config.current().rate_limits.mail
    if (!rate) return { source: null, isAllowed: true }
    const counters = this.#counters.within(tx)
    let isAllowed = true
    for (const [name, rule] of budgetsOf(rate, 'mail', to, { userId: null, ipAddress })) {
      const hit = await counters.hit(name, rule, now)
      if (hit.allowed) continue
      if (!name.startsWith(mailboxPrefix)) return { source: { max: rule.max, until: hit.until }, isAllowed: false }
      isAllowed = false
    }
    return { source: null, isAllowed }
  }

  /** Records a notice; returns null, or the time (Unix milliseconds) from which an equal one may be sent. */
  async hold(tx: Tx, equal: string, now: number): Promise<number | null> {
    const rule = { max: 1, window: quietTime, block: 'window' } as const
    const hit = await this.#counters.within(tx).hit(`notice:${equal}`, rule, now)
    return hit.allowed ? null : hit.until
  }
}

/** Notices do not use up the user's budget; only the mailbox counts both together. */
type MailKind = 'mail' | 'notice'

/** The budgets of a mail, in a fixed order that prevents deadlocks. */
function budgetsOf(
  { max }: Rate,
  kind: MailKind,
  to: string,
  { userId, ipAddress }: MailCause,
): [name: string, rule: LimitRule][] {
  // After `max` mails the next ones wait 30 s, 1 m, 2 m … 1 h, until a whole window passes without a mail.
  const own: LimitRule = { max: Math.max(2, max), window: day, block: 'growing' }
  const shared: LimitRule = { max: Math.max(2, addressShare * max), window: hour, block: 'growing' }
  return [
    ...(userId === null ? [] : [[`${kind}s-of:user ${userId}`, own] satisfies [string, LimitRule]]),
    ...(ipAddress === null ? [] : [[`${kind}s-of:${limitedAddress(ipAddress)}`, shared] satisfies [string, LimitRule]]),
    [`${mailboxPrefix}${mailboxOf(to)}`, own],
  ]
}
