import type { FastifyInstance } from 'fastify'
import { passwordFingerprint } from '../../src/auth/access/password-fingerprint.ts'
import { createToken } from '../../src/auth/tokens/store.ts'
import { createUser } from '../../src/identity/users.ts'
import { hashPassword } from '../../src/platform/crypto/password.ts'
import { Browser } from '../support/browser.ts'
import { Fact } from './fact.ts'
import { Random } from './random.ts'
import type { Replicas } from './replicas.ts'

/** When something happened: the number of the scheduler's step. Null: not yet. */
type Step = number | null

/** What svc acknowledged about a credential. A credential ends once its end is acknowledged. */
export interface Credential {
  name: string
  account: Account
  /** When a request that ends it began, and when svc acknowledged the end. */
  ending: Step
  ended: Step
  /** When its last successful use began, in Unix milliseconds. */
  lastUse: number
}

export interface Session extends Credential {
  browser: Browser
  remembered: boolean
}

export interface Token extends Credential {
  text: string
}

/** A mailed link that sets a new password once. */
interface Reset {
  account: Account
  token: string
  uses: number
}

export interface Account {
  id: number
  email: string
  password: string
  /** The password may be another one: svc did not answer the change. */
  isPasswordUnknown: boolean
  disabled: boolean
  isDisabledUnknown: boolean
  resets: Reset[]
  /** Whether the user is in the group of the guard's rule. */
  isMember: Fact<boolean>
  /** Counts the beginnings and the ends of requests that end credentials of the account. */
  endings: number
  /** Number of such requests that svc has not answered. */
  pending: number
}

/** What the operations know: everything that svc acknowledged. */
export class World {
  readonly replicas: Replicas
  readonly accounts: Account[] = []
  readonly sessions: Session[] = []
  readonly tokens: Token[] = []
  /** The user who signs in with linked accounts alone. */
  readonly linked: { id: number; browsers: Browser[] } = { id: 0, browsers: [] }
  /** Whether the guard's rule is for its group alone, by replica. */
  readonly staffOnly: readonly Fact<boolean>[]
  readonly adminToken: string
  /** Acknowledged changes by the type of their event, and those that svc may or may not have made. */
  readonly changes = new Map<string, { acknowledged: number; unknown: number }>()
  /** Failed sign-ins that svc answered, by account and address: the clock of each. */
  readonly failures = new Map<string, number[]>()
  /** What happened, one line for each step. */
  readonly trace: string[]
  /** Violated invariants. */
  readonly violations: string[] = []
  step = 0
  #names = 0

  constructor(replicas: Replicas, adminToken: string, trace: string[]) {
    this.trace = trace
    this.replicas = replicas
    this.staffOnly = replicas.apps.map(() => new Fact(true))
    this.adminToken = adminToken
  }

  get now(): number {
    return this.replicas.clock.now()
  }

  nextName = (kind: string): string => `${kind}${++this.#names}`

  violated(text: string): void {
    this.violations.push(`step ${this.step}: ${text}`)
  }

  changed(type: string, isAcknowledged: boolean): void {
    const change = this.changes.get(type) ?? { acknowledged: 0, unknown: 0 }
    change[isAcknowledged ? 'acknowledged' : 'unknown']++
    this.changes.set(type, change)
  }

  /** Notes that a request begins which ends these credentials of an account. Call the result with the outcome. */
  ending(account: Account, credentials: readonly Credential[]): (isAcknowledged: boolean) => void {
    account.endings++
    account.pending++
    for (const each of credentials) each.ending ??= this.step
    return (isAcknowledged) => {
      account.endings++
      account.pending--
      if (isAcknowledged) for (const each of credentials) each.ended ??= this.step
    }
  }

  /** Notes that a sign-in begins. The result tells whether a new credential may have ended already. */
  signingIn(account: Account): () => boolean {
    const { endings } = account
    return () => account.endings !== endings || account.pending > 0 || account.isPasswordUnknown || account.disabled
  }

  credentialsOf(account: Account): { sessions: Session[]; tokens: Token[] } {
    const isOf = (each: Credential) => each.account === account
    return { sessions: this.sessions.filter(isOf), tokens: this.tokens.filter(isOf) }
  }

  /** A browser that sends its requests to any replica. */
  browser(random: Random): Browser {
    const { apps } = this.replicas
    const [first] = apps
    if (!first) throw new Error('There is no replica.')
    const anywhere = new Proxy(first, {
      get: (target, key) =>
        key === 'inject' ? (options: object) => random.pick(apps).inject(options) : Reflect.get(target, key),
    })
    return new Browser(anywhere as FastifyInstance, { remoteAddress: `203.0.113.${1 + random.below(200)}` })
  }
}

const hash = hashPassword('correct horse')

/** Creates the accounts of a world. */
export async function createWorld(replicas: Replicas, trace: string[]): Promise<World> {
  const [app] = replicas.apps
  if (!app) throw new Error('There is no replica.')
  const { database, clock } = app
  const create = (email: string, role: string) =>
    database.transaction(async (tx) => {
      const user = await createUser(tx, {
        ...{ name: 'Ada', email, role, verified: true, password: hash, now: clock.now() },
      })
      if (!user) throw new Error('The address is taken.')
      return user
    })
  const administrator = await create('admin@example.com', 'admin')
  const facts = { userId: administrator.id, name: 'admin', abilities: ['svc:admin'], expiresAt: null, prefix: '' }
  const token = await database.transaction((tx) => createToken(tx, { ...facts, now: clock.now() }))
  const world = new World(replicas, token.plainTextToken, trace)
  for (const email of ['ada@example.com', 'bob@example.com', 'eve@example.com']) {
    const { id } = await create(email, 'user')
    const state = { isPasswordUnknown: false, disabled: false, isDisabledUnknown: false, endings: 0, pending: 0 }
    const isMember = new Fact(false)
    world.accounts.push({ id, email, password: 'correct horse', ...state, resets: [], isMember })
  }
  const { id } = await create('sam@example.com', 'user')
  world.linked.id = id
  for (const provider of ['github', 'gitlab']) await link(replicas, id, provider)
  const random = new Random(0)
  for (let count = 0; count < 2; count++) {
    const browser = world.browser(random)
    const answer = await browser.signIn('sam@example.com', 'correct horse', { remember: true })
    if (answer.statusCode !== 200) throw new Error(answer.body)
    world.linked.browsers.push(browser)
    world.changed('login', true)
  }
  // From here on without a password. The sessions stay.
  const data = { passwordFingerprint: passwordFingerprint(null) }
  await database.prisma.user.update({ where: { id }, data: { password: null } })
  await database.prisma.session.updateMany({ where: { userId: id }, data })
  await database.prisma.rememberToken.updateMany({ where: { userId: id }, data })
  return world
}

/** Links an account of a provider to a user, unless it is linked. */
export async function link({ asked, clock }: Replicas, id: number, provider: string): Promise<void> {
  const now = `to_timestamp(${clock.now() / 1000}) AT TIME ZONE 'UTC'`
  await asked(`INSERT INTO social_accounts (user_id, provider, issuer, provider_id, created_at, updated_at)
    VALUES (${id}, '${provider}', '', '${id}', ${now}, ${now}) ON CONFLICT DO NOTHING`)
}
