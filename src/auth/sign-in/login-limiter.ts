import { canonicalEmail, type User } from '../../identity/user.ts'
import { findUserByEmail, type UserWithPassword } from '../../identity/users.ts'
import type { CurrentConfig } from '../../platform/config/current.ts'
import type { Rate } from '../../platform/config/units.ts'
import { constantTimeEqual } from '../../platform/crypto/hash.ts'
import { deriveKeys } from '../../platform/crypto/keys.ts'
import type { MacKey } from '../../platform/crypto/mac.ts'
import { limitedAddress } from '../../platform/http/client-address.ts'
import {
  type Counters,
  type Hit,
  hitInTurn,
  type LimitRule,
  type NamedHit,
  takeBack,
} from '../../platform/limits/counters.ts'
import { tooManyRequests } from '../../platform/limits/too-many-requests.ts'
import { passwordFingerprint } from '../access/password-fingerprint.ts'
import type { Visit } from '../access/visit.ts'
import { AddressLimit } from './address-limit.ts'
import { AttemptsInFlight } from './attempts-in-flight.ts'
import type { Channel } from './channel.ts'
import { FailuresToClear } from './failures-to-clear.ts'
import type { Lane } from './fair-queue.ts'
import {
  allSecondFactorsOf,
  mailedCodesFrom,
  mailedCodesOf,
  passwordsFrom,
  passwordsOf,
  secondFactorsOf,
} from './limit-names.ts'

/** Cookie that marks a known browser. */
export const browserCookie = 'svc_browser'

/** A value of the cookie, and its lifetime in seconds. */
export interface BrowserMark {
  value: string
  maxAge: number
}

const hour = 3_600_000

/** How long a browser counts as known after its last sign-in, in milliseconds. */
const browserLife = 90 * 24 * hour

/** Failures of one account from all addresses: delays slow guessing increasingly. */
const accountRule: LimitRule = { max: 50, window: hour, block: 'growing' }

/** A reserved attempt. */
export interface Attempt {
  /** The attempt succeeded; returns what clears its failures. */
  succeeded(): FailuresToClear
  /** The attempt failed; it stays counted. */
  failed(): void
  /** The attempt was not made; takes it back. */
  withdrawn(): Promise<void>
  /** Whether a failure of this attempt blocks the next one. */
  isLast: boolean
  /** Whether a failure of this attempt locks the account for every address. */
  isLocking: boolean
}

/** Long-term failures of one account's second factor or mailed codes, which have only six digits. */
const secondFactorRule: LimitRule = { ...accountRule, window: 24 * hour }

/** Looks up the account of an attempt. */
type FindAccount = () => Promise<UserWithPassword | null>

/** An attempt and its counters. */
interface Counted {
  /** The address of the account. */
  account: string
  find: FindAccount
  here: string
  everywhere: string
  rule: LimitRule
  rate: Rate | null
  /** Limit of the address over all accounts; null if it does not apply. */
  address: AddressLimit | null
  fields: string[]
  channel: Channel
}

/**
 * Limits failed passwords and second factors at all entry points: by account and address, and by account in the long
 * run. Uses the counters directly, because @fastify/rate-limit cannot take back the hit of an attempt that succeeds, and
 * has no growing delays. An attempt counts before the password is hashed, and one beyond the limit waits up to a second
 * for the attempts in flight.
 */
export class LoginLimiter {
  readonly #config: CurrentConfig
  readonly #counters: Counters
  readonly #address: AddressLimit
  readonly #inFlight = new AttemptsInFlight()
  readonly #keys: readonly MacKey[]

  constructor(config: CurrentConfig, counters: Counters) {
    this.#config = config
    this.#counters = counters
    this.#address = new AddressLimit(config)
    this.#keys = deriveKeys(config.current().app.secret, 'known-browser')
  }

  /** Counts a password attempt for the account that `find` looks up. Throws 429 with the seconds to wait. */
  attempt(visit: Visit, email: string, channel: Channel, find: FindAccount): Promise<Attempt> {
    // In the stored form, so that accounts with similar addresses do not clear each other's failures.
    const account = canonicalEmail(email)
    return this.#attempt(visit, {
      account,
      find,
      here: passwordsFrom(account, visit.address),
      everywhere: passwordsOf(account),
      rule: accountRule,
      rate: this.#config.current().rate_limits.login,
      address: this.#address,
      fields: ['email'],
      channel,
    })
  }

  /** Counts a second-factor attempt of the user from any address. Throws 429 with the seconds to wait. */
  attemptSecondFactor(visit: Visit, user: User, channel: Channel): Promise<Attempt> {
    return this.#attempt(visit, {
      account: user.email,
      find: () => findUserByEmail(visit.app.database, user.email),
      here: secondFactorsOf(user.id),
      everywhere: allSecondFactorsOf(user.id),
      rule: secondFactorRule,
      rate: this.#config.current().rate_limits.two_factor,
      address: null,
      fields: ['email', 'code'],
      channel,
    })
  }

  /**
   * Counts an attempt to enter a mailed code. Wrong passwords do not count here: a locked account can sign in by mail, as it
   * can unlock itself by mail.
   */
  attemptEmailCode(visit: Visit, email: string): Promise<Attempt> {
    const account = canonicalEmail(email)
    return this.#attempt(visit, {
      account,
      find: () => findUserByEmail(visit.app.database, account),
      here: mailedCodesFrom(account, visit.address),
      everywhere: mailedCodesOf(account),
      rule: secondFactorRule,
      rate: this.#config.current().rate_limits.login,
      address: this.#address,
      fields: ['code'],
      channel: 'email_code',
    })
  }

  async #attempt(
    visit: Visit,
    { account, find, here, everywhere, rule, rate, address, fields, channel }: Counted,
  ): Promise<Attempt> {
    const { clock, metrics } = visit.app
    const refuse = (block: { max: number; until: number; now: number }) => {
      metrics?.login(channel, 'limited')
      // Without an event: an attacker could fill the table. The line lets fail2ban count these attempts too.
      visit.origin.log?.info(
        { event: 'login_limited', ip: visit.origin.ipAddress, channel },
        'sign-in rejected by a limit',
      )
      throw tooManyRequests(block, { message: lockedOut, fields })
    }
    // Attempts by others, on the account or from the same address, do not lock out a known browser.
    const isKnown = await this.#isKnownBrowser(visit, account, find)
    const isKnownHere = isKnown || visit.caller?.user?.email === account
    const wide = isKnownHere ? null : (address?.counterOf(visit) ?? null)
    const local: NamedHit | null = rate && { name: here, rule: { ...rate, block: 'window' } }
    const global: NamedHit | null = isKnown ? null : { name: everywhere, rule }
    // In this order: attempts that one address may not make do not count against the account.
    const asked = [wide, local, global].filter((each) => each !== null)
    const undone = asked.map(({ name }) => ({ name, change: 'undo' }) as const)
    let hits: Hit[] = []
    const blockNow = async () => {
      hits = await hitInTurn(this.#counters, asked, clock.now())
      const [last, counter] = [hits.at(-1), asked[hits.length - 1]]
      if (!last || !counter || last.allowed) return null
      await takeBack(this.#counters, undone.slice(0, hits.length - 1))
      return { name: counter.name, max: counter.rule.max, until: last.until, now: clock.now() }
    }
    let block = await blockNow()
    const mayEnd = () => block !== null && this.#inFlight.mayEnd(block.name, block)
    if (mayEnd()) {
      const hasWaited = await this.#inFlight.wait(account, limitedAddress(visit.address), async () => {
        block = await blockNow()
        return !mayEnd()
      })
      if (hasWaited && block) this.#inFlight.settled(block.name, block.until)
    }
    if (block) return refuse(block)
    const isReached = (counter: NamedHit | null): boolean => {
      const hit = counter && hits[asked.indexOf(counter)]
      return hit?.allowed === true && counter !== null && hit.count >= counter.rule.max
    }
    const isLocking = isReached(global)
    asked.forEach(({ name }, index) => {
      const hit = hits[index]
      if (hit?.allowed && hit.count === 1) this.#inFlight.restarted(name)
    })
    return {
      isLast: isLocking || isReached(local),
      isLocking,
      succeeded: () => {
        this.#inFlight.restarted(here)
        return new FailuresToClear(
          this.#counters,
          asked.map((counter) => ({ name: counter.name, change: counter === local ? 'reset' : 'undo' })),
        )
      },
      failed: () => {
        asked.forEach(({ name }, index) => {
          const hit = hits[index]
          if (hit?.allowed) this.#inFlight.failed(name, hit.resetsAt, clock.now())
        })
      },
      withdrawn: () => takeBack(this.#counters, undone),
    }
  }

  /** Clears the failures of an account, from all addresses and from this one. */
  async unlock(visit: Visit, email: string): Promise<void> {
    const account = canonicalEmail(email)
    await Promise.all([
      this.#counters.reset(passwordsOf(account)),
      this.#counters.reset(passwordsFrom(account, visit.address)),
    ])
  }

  /** Returns the queue lane for a password check of the account. */
  laneOf(visit: Visit, email: string): Lane {
    const account = canonicalEmail(email)
    return this.#markOf(visit, account) || visit.caller?.user?.email === account
      ? { kind: 'known', key: account }
      : { kind: 'address', key: limitedAddress(visit.address) }
  }

  /**
   * Returns the cookie that marks a browser as known for this account and password; null if the address is not verified,
   * because anyone can register with another person's address.
   */
  browserMark({ user, password }: UserWithPassword, now: number): BrowserMark | null {
    const key = this.#keys[0]
    if (!key || user.email_verified_at === null) return null
    const expires = String(now + browserLife)
    const macs = [key.sign(issuedText(user.email, expires)), key.sign(boundText(user.email, expires, password))]
    return { value: [expires, ...macs].join('.'), maxAge: browserLife / 1000 }
  }

  /** Tests whether the browser signed in to the account before. The password may have changed since. */
  signedInBefore(visit: Visit, { email }: Pick<User, 'email'>): boolean {
    return this.#markOf(visit, canonicalEmail(email)) !== null
  }

  /** Returns a new mark for a known browser; null for others. */
  renewedMark(visit: Visit, found: UserWithPassword): BrowserMark | null {
    return this.#markOf(visit, found.user.email) ? this.browserMark(found, visit.app.clock.now()) : null
  }

  /** Returns a valid, unexpired mark for the account. Does not check the password. */
  #markOf(visit: Visit, account: string): { expires: string; bound: string } | null {
    const [expires = '', issued = '', bound = ''] = (visit.cookie(browserCookie) ?? '').split('.')
    if (!/^\d{1,15}$/.test(expires) || Number(expires) <= visit.app.clock.now()) return null
    const isIssued = this.#keys.some((key) => constantTimeEqual(key.sign(issuedText(account, expires)), issued))
    return isIssued ? { expires, bound } : null
  }

  /**
   * Tests whether the browser signed in to the account with its current password. Queries only if the browser has a
   * mark.
   */
  async #isKnownBrowser(visit: Visit, account: string, find: FindAccount): Promise<boolean> {
    const mark = this.#markOf(visit, account)
    const found = mark && (await find())
    if (!mark || !found) return false
    const text = boundText(account, mark.expires, found.password)
    return this.#keys.some((key) => constantTimeEqual(key.sign(text), mark.bound))
  }
}

const issuedText = (email: string, expires: string): string => `${email}\0${expires}`

const boundText = (email: string, expires: string, password: string | null): string =>
  `${issuedText(email, expires)}\0${passwordFingerprint(password)}`

const lockedOut = (seconds: number): string => `Too many login attempts. Please try again in ${seconds} seconds.`
