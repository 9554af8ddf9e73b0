import { domainToASCII } from 'node:url'
import type { CurrentConfig } from '../config/current.ts'
import type { Rate } from '../config/units.ts'
import type { Tx } from '../database/database.ts'
import { limitedAddress } from '../http/client-address.ts'

/** Who causes a mail. Its budgets are counted under each of these and under the recipient's mailbox. */
export interface MailCause {
  /** The signed-in user, or the user whom a notice is about. */
  userId: number | null
  ipAddress: string | null
}

interface Rule {
  max: number
  window: number
  block: 'window' | 'growing'
}

/** The counters that budgets need. */
export interface Counters {
  within(tx: Tx): {
    reserve(name: string, rule: Rule, now: number): Promise<{ allowed: true } | { allowed: false; until: number }>
    release(name: string): Promise<void>
  }
}

const hour = 3_600_000
const day = 24 * hour

/** How long equal notices are held back after one was sent, in milliseconds. */
const quietTime = hour

/** Many people may share one address, so it may cause this many times the mails of one user. */
const addressShare = 10

/**
 * The mailbox of an address: sub-addressing (`+tag`), quotes and the two spellings of an international domain lead to
 * the same one.
 */
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

/** Limits mail by recipient, by source address and by user. Refused mail is not counted. */
export class MailBudget {
  readonly #config: CurrentConfig
  readonly #counters: Counters

  constructor(config: CurrentConfig, counters: Counters) {
    this.#config = config
    this.#counters = counters
  }

  /** Counts a mail of this kind in the transaction of its cause; null, or the time (unix milliseconds) until which it may not go out. */
  async spend(tx: Tx, kind: MailKind, to: string, cause: MailCause, now: number): Promise<number | null> {
    const rate = this.#config.current().rate_limits.mail
    if (!rate) return null
    const counters = this.#counters.within(tx)
    const spent: string[] = []
    for (const [name, rule] of budgetsOf(rate, kind, to, cause)) {
      const counted = await counters.reserve(name, rule, now)
      if (!counted.allowed) {
        for (const taken of spent) await counters.release(taken)
        return counted.until
      }
      spent.push(name)
    }
    return null
  }

  /** Notes a notice; null when no equal one was sent lately, else the time (unix milliseconds) at which the next may go out. */
  async hold(tx: Tx, equal: string, now: number): Promise<number | null> {
    const rule = { max: 1, window: quietTime, block: 'window' } as const
    const counted = await this.#counters.within(tx).reserve(`notice:${equal}`, rule, now)
    return counted.allowed ? null : counted.until
  }
}

/** A notice does not use up what its user may ask for: only the mailbox counts both together. */
type MailKind = 'mail' | 'notice'

/** The budgets of a mail, always in the same order, so that transactions do not wait for each other in a circle. */
function budgetsOf(
  { max }: Rate,
  kind: MailKind,
  to: string,
  { userId, ipAddress }: MailCause,
): [name: string, rule: Rule][] {
  // After `max` mails the next ones wait 30 s, 1 m, 2 m … 1 h, until a whole window passes without a mail.
  const own: Rule = { max: Math.max(2, max), window: day, block: 'growing' }
  const shared: Rule = { max: Math.max(2, addressShare * max), window: hour, block: 'growing' }
  return [
    ...(userId === null ? [] : [[`${kind}s-of:user ${userId}`, own] satisfies [string, Rule]]),
    ...(ipAddress === null ? [] : [[`${kind}s-of:${limitedAddress(ipAddress)}`, shared] satisfies [string, Rule]]),
    [`mails-to:${mailboxOf(to)}`, own],
  ]
}
