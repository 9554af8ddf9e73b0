import { tmpdir } from 'node:os'
import type { FastifyInstance, InjectOptions, LightMyRequestResponse } from 'fastify'
import type { Test } from 'tap'
import { stringify } from 'yaml'
import { buildApp } from '../../src/app/app.ts'
import { createToken } from '../../src/auth/tokens/store.ts'
import type { User } from '../../src/identity/user.ts'
import { createUser } from '../../src/identity/users.ts'
import { CurrentConfig } from '../../src/platform/config/current.ts'
import { parseConfig } from '../../src/platform/config/load.ts'
import { shownValues } from '../../src/platform/config/shown.ts'
import { hashPassword } from '../../src/platform/crypto/password.ts'
import { type Database, openDatabase } from '../../src/platform/database/database.ts'
import { createLogger } from '../../src/platform/observability/logging.ts'
import { compareAnswers, violationsOf } from './answers.ts'
import { Browser, type BrowserOptions } from './browser.ts'
import { TestClock } from './clock.ts'
import { hashing } from './hashing.ts'
import { Mailbox } from './mailbox.ts'
import { createTestDatabase } from './postgresql.ts'
import { releaseClient, reuseClient } from './prisma-clients.ts'
import { SmtpReceiver } from './smtp.ts'

/** Any part of the YAML file, as an object. */
export type Settings = Record<string, unknown>

export interface TestAppOptions {
  settings?: Settings
  env?: Record<string, string>
  /** Another app's database, for a second replica. */
  database?: { url: string; file?: string }
  clock?: TestClock
  /** Whether traces are sent to the address in the environment. */
  traces?: boolean
}

interface TokenFacts {
  abilities?: string[]
  expiresAt?: Date | null
  name?: string
}

/** A whole svc on a separate database, with helpers for tests. */
export interface TestApp {
  app: FastifyInstance
  config: CurrentConfig
  database: Database
  /** For a second app on the same database. */
  where: { url: string; file?: string }
  clock: TestClock
  mailbox: Mailbox
  /** Every log line, at the most verbose level. */
  logs: string[]
  browser(options?: BrowserOptions): Browser
  createUser(facts?: { email?: string; password?: string | null; role?: string; verified?: boolean }): Promise<User>
  /** The plain text of a new API token. */
  createToken(user: User, facts?: TokenFacts): Promise<string>
  /** A request with an optional bearer, as a mobile app or another API sends it. */
  bearer(
    token: string | null,
    method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE',
    url: string,
    body?: object,
  ): Promise<LightMyRequestResponse>
}

compareAnswers()

const password = 'correct horse'
let users = 0

/** The hash of each password that `createUser` was given: a new one would take 20 ms. */
const hashes = new Map<string, string>()

function hashOf(secret: string): string {
  const hash = hashes.get(secret) ?? hashPassword(secret)
  hashes.set(secret, hash)
  return hash
}

/** Mail arrives over SMTP, unless a test is about another transport; the replicas on one database share a receiver. */
const receivers = new Map<string, SmtpReceiver>()

/** Production accepts no secret made of words. */
const secrets = {
  development: 'the-secret-of-the-tests-is-32-bytes-long',
  production: 'Wm1Nn6tF3zq0bD8yXc5RkV2uJh9sLgPeA7oTiQ4M',
}

/** The configuration of a file with these settings; in development by default. */
export function testConfig(settings: Settings, env: Record<string, string> = {}): CurrentConfig {
  const app = { environment: 'development' as const, ...(settings.app as { environment?: keyof typeof secrets }) }
  const loaded = parseConfig({
    text: stringify({ ...settings, app }),
    file: 'test.yaml',
    env: { SVC_SECRET: secrets[app.environment], ...env },
    cwd: tmpdir(),
  })
  return new CurrentConfig(loaded.config, () => shownValues(loaded))
}

/** The apps on each database. */
const replicas = new Map<string, Set<FastifyInstance>>()

/** Lets `deliverDue` wait for jobs that another app on the same database has begun, for example because it polled. */
function awaitReplicas(t: Test, app: FastifyInstance, url: string): void {
  const all = replicas.get(url) ?? new Set()
  replicas.set(url, all.add(app))
  t.teardown(() => void all.delete(app))
  const { outbox } = app
  const deliverDue = outbox.deliverDue.bind(outbox)
  outbox.deliverDue = async () => {
    await deliverDue()
    for (const other of all) await other.outbox.settled()
  }
}

/** Where requests come from in a test without a proxy: a public address, because private ones have larger budgets. */
/** Settings with which a sign-in does not count as a password confirmation. */
export const confirming = { session: { confirmed_by_sign_in: 'off' } }

export const publicAddress = '203.0.113.77'

/** Sends injected requests from this address, unless they name another one. */
function injectFrom(app: FastifyInstance, remoteAddress: string): void {
  const inject = app.inject.bind(app) as (options: InjectOptions) => Promise<LightMyRequestResponse>
  const from = (options: InjectOptions | string) =>
    inject({ remoteAddress, ...(typeof options === 'string' ? { url: options } : options) })
  app.inject = from as typeof app.inject
}

/** Builds svc as it runs, on the engine of this run of the suite; closed with the test. */
export async function buildTestApp(t: Test, options: TestAppOptions = {}): Promise<TestApp> {
  // First, so that it runs after the other teardowns.
  t.teardown(() => {
    const undescribed = violationsOf(app)
    if (undescribed.length > 0) throw new Error(`The API description lacks:\n${undescribed.join('\n')}`)
  })
  const own = options.database ? null : await createTestDatabase()
  const where = options.database ?? { url: own?.url ?? '', ...(own?.file ? { file: own.file } : {}) }
  const settings = options.settings ?? {}
  const shared = receivers.get(where.url)
  const receiver = settings.mail === undefined ? (shared ?? (await SmtpReceiver.start())) : null
  if (receiver && receiver !== shared) {
    receivers.set(where.url, receiver)
    t.teardown(() => {
      receivers.delete(where.url)
      return receiver.close()
    })
  }
  const mail = receiver ? { mail: { url: receiver.url } } : {}
  // On a busy machine Redis may take longer than its default timeout, and svc would count in the database.
  const redis = settings.redis ? { redis: { timeout: '30s', ...settings.redis } } : {}
  const config = testConfig({ ...settings, ...mail, ...redis }, { DATABASE_URL: where.url, ...options.env })
  const clock = options.clock ?? new TestClock()
  const logs: string[] = []
  const logger = createLogger('trace', { write: (line: string) => void logs.push(line) })
  const database = await openDatabase({
    ...config.current().database,
    file: where.file,
    logger,
    openClient: reuseClient,
  })
  const app = await buildApp({ config, database, clock, logger, traces: options.traces ?? false, hashing })
  awaitReplicas(t, app, where.url)
  if (!config.current().server.trust_proxy.some((range) => range.startsWith('127.'))) injectFrom(app, publicAddress)
  await app.ready()
  t.teardown(async () => {
    await app.close()
    await database.close()
    releaseClient(database.prisma)
    await own?.release()
  })
  return {
    app,
    config,
    database,
    where,
    clock,
    mailbox: new Mailbox(app, receiver),
    logs,
    browser: (browserOptions) => new Browser(app, browserOptions),
    createUser: async ({ email, password: secret = password, role = 'user', verified = true } = {}) => {
      const hash = secret === null ? null : hashOf(secret)
      const facts = { name: 'Ada Example', email: email ?? `user${++users}@example.com`, role, verified }
      const user = await database.transaction((tx) => createUser(tx, { ...facts, password: hash, now: clock.now() }))
      if (!user) throw new Error('The address is taken.')
      return user
    },
    createToken: async (user, { abilities = ['*'], expiresAt = null, name = 'test' } = {}) => {
      const { prefix } = config.current().tokens
      const facts = { userId: user.id, name, abilities, expiresAt, prefix, now: clock.now() }
      return (await database.transaction((tx) => createToken(tx, facts))).plainTextToken
    },
    bearer: (token, method, url, body) =>
      app.inject({
        method,
        url,
        headers: { accept: 'application/json', ...(token === null ? {} : { authorization: `Bearer ${token}` }) },
        ...(body === undefined ? {} : { payload: body }),
      }),
  }
}
