import { randomInt } from 'node:crypto'
import { domainToASCII } from 'node:url'
import type { CurrentConfig } from '../config/current.ts'
import type { Rate } from '../config/units.ts'
import type { Tx } from '../database/database.ts'
import { isPrivateAddress } from '../http/addresses.ts'
import { limitedAddress } from '../http/client-address.ts'
import { proxyShare } from '../http/peer-budget.ts'
import { type Counters, hitInTurn, type LimitRule, type NamedHit, takeBack } from '../limits/counters.ts'

/**
 * Whose share of a mailbox's budget a mail spends. A spent share stops no mail of another one, so that strangers cannot
 * mute a mailbox:
 * - `guest`: anyone;
 * - `user`: users who write to another mailbox than that of their verified address;
 * - `known`: the owner, signed in or in a browser that signed in to the account before;
 * - `admin`: administrators and people who may invite;
 * - `notice`: svc, about an account.
 */
export type MailShare = 'guest' | 'user' | 'known' | 'admin' | 'notice'

/** Cause of a mail. Budgets count by each of these and by the recipient's mailbox. */
export interface MailCause {
  share: MailShare
  /** The signed-in user, or the subject of a notice. */
  userId: number | null
  ipAddress: string | null
}

const minute = 60_000
const hour = 60 * minute
const day = 24 * hour

/** Name of the counters of a mailbox, before the share and the mailbox. */
const mailboxPrefix = 'mails-to:'

/** How long equal notices are delayed after one was sent, in milliseconds. */
const quietTime = hour

/** svc sends notices that wait for the budget of an address at random times within this many milliseconds after the block. */
const spreadTime = minute

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
 * @fastify/rate-limit cannot count in a transaction, undo a hit or increase the delay.
 */
export class MailBudget {
  readonly #config: CurrentConfig
  readonly #counters: Counters

  constructor(config: CurrentConfig, counters: Counters) {
    this.#config = config
    this.#counters = counters
  }

  /** Counts a mail in the transaction of its cause; returns the spent budget, or null if the mail may be sent. */
  async spend(tx: Tx, to: string, cause: MailCause, now: number): Promise<Spent | null> {
    return this.#spend(this.#counters.within(tx), this.#budgets('mail', to, cause), now)
  }

  /**
   * Counts a notice in the transaction of its cause. Returns null if svc may send it now. Otherwise returns when svc may send
   * it (`until`, Unix milliseconds), and whether it waits because an equal notice was sent recently (`isEqual`).
   */
  async spendNotice(
    tx: Tx,
    contentKey: string,
    to: string,
    cause: MailCause,
    now: number,
  ): Promise<{ until: number; isEqual: boolean } | null> {
    const quiet: NamedHit = { name: `notice:${contentKey}`, rule: { max: 1, window: quietTime, block: 'window' } }
    const spent = await this.#spend(this.#counters.within(tx), this.#budgets('notice', to, cause), now, quiet)
    if (!spent) return null
    // One address may cause notices to thousands of users. Sending them all at once would slow down the sign-ins of others.
    const isShared = cause.ipAddress !== null && spent.name === addressBudget('notice', cause.ipAddress)
    return { until: spent.until + (isShared ? randomInt(spreadTime) : 0), isEqual: spent.name === quiet.name }
  }

  #budgets(kind: MailKind, to: string, cause: MailCause): NamedHit[] {
    const rate = this.#config.current().rate_limits.mail
    return rate ? budgetsOf(rate, kind, to, cause) : []
  }

  /** Counts a hit of each budget. If a budget is spent, undoes the hits of the others, except the hit of `first`. */
  async #spend(
    counters: Counters,
    budgets: readonly NamedHit[],
    now: number,
    first?: NamedHit,
  ): Promise<(Spent & { name: string }) | null> {
    const asked = first ? [first, ...budgets] : budgets
    const hits = await hitInTurn(counters, asked, now)
    const [last, refused] = [hits.at(-1), asked[hits.length - 1]]
    if (!last || !refused || last.allowed) return null
    const counted = asked.slice(0, hits.length - 1).filter((each) => each !== first)
    await takeBack(
      counters,
      counted.map(({ name }) => ({ name, change: 'undo' })),
    )
    return { name: refused.name, max: refused.rule.max, until: last.until }
  }

  /**
   * Counts a request for a mail before svc looks for the account, so that the counters do not reveal whether it exists.
   * `source` is the spent budget of the source address. `isAllowed` tells whether the mailbox may get the mail.
   */
  async reserve(
    tx: Tx,
    to: string,
    cause: Pick<MailCause, 'share' | 'ipAddress'>,
    now: number,
  ): Promise<{ source: Spent | null; isAllowed: boolean }> {
    const rate = this.#config.current().rate_limits.mail
    if (!rate) return { source: null, isAllowed: true }
    const counters = this.#counters.within(tx)
    let isAllowed = true
    for (const { name, rule } of budgetsOf(rate, 'mail', to, { ...cause, userId: null })) {
      const hit = await counters.hit(name, rule, now)
      if (hit.allowed) continue
      if (!name.startsWith(mailboxPrefix)) return { source: { max: rule.max, until: hit.until }, isAllowed: false }
      isAllowed = false
    }
    return { source: null, isAllowed }
  }
}

/** Kind of a mail. The budgets of users and source addresses count each kind separately. */
type MailKind = 'mail' | 'notice'

/** Name of the counter of a source address. */
const addressBudget = (kind: MailKind, ipAddress: string) => `${kind}s-of:${limitedAddress(ipAddress)}`

/** The budgets of a mail, in a fixed order that prevents deadlocks. */
function budgetsOf({ max }: Rate, kind: MailKind, to: string, { share, userId, ipAddress }: MailCause): NamedHit[] {
  // After `max` mails, each further mail waits longer: 30 s, 1 m, 2 m … 1 h. A window without mail resets the delay.
  const own: LimitRule = { max: Math.max(2, max), window: day, block: 'growing' }
  // A queued mail has no connection, so a private address counts as a proxy even if a trusted proxy reported it.
  const factor = addressShare * (ipAddress !== null && isPrivateAddress(ipAddress) ? proxyShare : 1)
  const shared: LimitRule = { max: Math.max(2, factor * max), window: hour, block: 'growing' }
  return [
    ...(userId === null ? [] : [{ name: `${kind}s-of:user ${userId}`, rule: own }]),
    ...(ipAddress === null ? [] : [{ name: addressBudget(kind, ipAddress), rule: shared }]),
    { name: `${mailboxPrefix}${share}:${mailboxOf(to)}`, rule: own },
  ]
}
