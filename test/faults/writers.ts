import type { LightMyRequestResponse } from 'fastify'
import type { Test } from 'tap'
import { createUser } from '../../src/identity/users.ts'
import { hashPassword } from '../../src/platform/crypto/password.ts'
import { openDatabase } from '../../src/platform/database/database.ts'
import { requestWithBearer, sendRequest } from '../support/remote.ts'
import { pass } from '../support/until.ts'

/** Size of a fault: `SVC_FAULTS=long` for a long manual run, otherwise a size that suits CI. */
export const isLongRun = process.env.SVC_FAULTS === 'long'

/** The writing user, for `user:create`. */
export const writer = { email: 'ada@example.com', password: 'correct horse' }

/** Addresses of users who write. Together, they stay below the limit on changes of each. */
const emails = Array.from({ length: 8 }, (_, number) => `writer${number}@example.com`)

/** Creates these users, and the tables if they are missing. */
export async function createWriters(url: string): Promise<void> {
  const engine = url.startsWith('file:') ? 'sqlite' : 'postgresql'
  const database = await openDatabase({ engine, url, prepared_statements: false })
  const password = hashPassword(writer.password)
  const facts = { name: 'Ada', role: 'user', verified: true, password, now: Date.now() }
  for (const email of emails) await database.transaction((tx) => createUser(tx, { ...facts, email }))
  await database.close()
}

/** Clients that create and revoke tokens without a pause, and a record of the acknowledged writes. */
export class Writers {
  /** Tokens that were issued and not yet revoked. */
  readonly live = new Set<string>()
  /** Tokens whose revocation was acknowledged. */
  readonly revoked = new Set<string>()
  /** The number of answers by status. */
  readonly statuses = new Map<number, number>()
  /** Answers that report an internal error. */
  readonly flaws: string[] = []
  /** The number of revoked tokens that svc accepted. */
  stale = 0
  /** Requests without an answer, because the process was killed. */
  unanswered = 0
  readonly #url: string
  readonly #bearers: readonly string[]
  #isOver = false
  #created = 0
  #all: Promise<void>[] = []

  private constructor(url: string, bearers: readonly string[]) {
    this.#url = url
    this.#bearers = bearers
  }

  /** Signs the users in. */
  static async signIn(url: string, users: readonly string[] = emails): Promise<Writers> {
    const bearers: string[] = []
    for (const email of users) {
      const payload = { ...writer, email, device_name: 'Writer' }
      const answer = await sendRequest(url, { method: 'POST', url: '/svc/token', payload })
      if (answer.statusCode !== 200) throw new Error(answer.body)
      bearers.push(answer.json().token)
    }
    return new Writers(url, bearers)
  }

  /** The number of acknowledged writes. */
  get acknowledged(): number {
    return this.live.size + 2 * this.revoked.size
  }

  start(count: number): void {
    this.#isOver = false
    this.#all = [...Array.from({ length: count }, () => this.#write()), this.#reuse()]
  }

  /** Resolves when the pending requests are answered. */
  async stop(): Promise<void> {
    this.#isOver = true
    await Promise.all(this.#all)
  }

  async #write(): Promise<void> {
    for (let round = 0; !this.#isOver; round++) {
      const token = await this.#create()
      if (token === null || round % 2 === 0) continue
      // Between the request and the answer its state is unknown.
      this.live.delete(token)
      const answer = await this.#note(requestWithBearer(this.#url, token, '/api/tokens/current', 'DELETE'))
      if (answer?.statusCode === 200) this.revoked.add(token)
    }
  }

  /** Uses the tokens whose revocation was acknowledged last. */
  async #reuse(): Promise<void> {
    let last: string | undefined
    while (!this.#isOver) {
      const recent = [...this.revoked].slice(-20)
      const token = recent[Math.floor(Math.random() * recent.length)]
      // Without a new one, the same few tokens would be checked over and over.
      if (token === undefined || token === last) await pass(5)
      last = token
      if (token === undefined) continue
      const answer = await requestWithBearer(this.#url, token, '/api/user').catch(() => null)
      if (answer?.statusCode === 200) this.stale++
      else if (answer?.statusCode !== 401) await pass(50)
    }
  }

  async #create(): Promise<string | null> {
    const bearer = this.#bearers[this.#created++ % this.#bearers.length]
    const headers = { authorization: `Bearer ${bearer}` }
    const payload = { token_name: 'made' }
    const asked = sendRequest(this.#url, { method: 'POST', url: '/api/tokens/create', headers, payload })
    const answer = await this.#note(asked)
    if (answer?.statusCode !== 200) return null
    const { token } = answer.json()
    this.live.add(token)
    return token
  }

  async #note(asked: Promise<LightMyRequestResponse>): Promise<LightMyRequestResponse | null> {
    const answer = await asked.catch(() => null)
    if (answer === null) {
      this.unanswered++
      // Nothing listens: an immediate retry would only use CPU.
      await pass(50)
      return null
    }
    const { statusCode, headers, body } = answer
    this.statuses.set(statusCode, (this.statuses.get(statusCode) ?? 0) + 1)
    const isOutage = statusCode === 503 && /^\d+$/.test(String(headers['retry-after']))
    if (statusCode !== 200 && !isOutage) this.flaws.push(`${statusCode} ${body.slice(0, 200)}`)
    if (isOutage) await pass(50)
    return answer
  }

  /** Asserts that every acknowledged write took effect. */
  async check(t: Test): Promise<void> {
    const lost: string[] = []
    const look = async (tokens: string[], status: number) => {
      for (let next = tokens.pop(); next; next = tokens.pop()) {
        const { statusCode } = await requestWithBearer(this.#url, next, '/api/user')
        if (statusCode !== status) lost.push(`${statusCode} in place of ${status}`)
      }
    }
    const [live, revoked] = [[...this.live], [...this.revoked]]
    await Promise.all([1, 2, 3, 4].flatMap(() => [look(live, 200), look(revoked, 401)]))
    t.equal(this.stale, 0, 'no revoked token was accepted')
    t.same(lost, [], `${this.live.size} tokens are valid and ${this.revoked.size} are revoked`)
  }
}
