import type { FastifyInstance } from 'fastify'
import pg from 'pg'
import { buildApp } from '../../src/app/app.ts'
import type { Config } from '../../src/platform/config/schema.ts'
import { openDatabase } from '../../src/platform/database/database.ts'
import { createLogger } from '../../src/platform/observability/logging.ts'
import { testConfig } from '../support/app.ts'
import { TestClock } from '../support/clock.ts'
import { hashing } from '../support/hashing.ts'
import { createTestDatabase } from '../support/postgresql.ts'
import type { Gate } from './gate.ts'

export const limits = { login: 5, window: 60_000 }

/** The service behind the guard, and the group whose members may use it. */
export const wiki = { host: 'wiki.example', group: 'staff' }

const ruled = (more: object) => ({ ...settings, guard: { rules: [{ hosts: [wiki.host], ...more }] } })

const provider = () => ({ client_id: 'svc', client_secret: 'a-secret-of-the-provider' })

const settings = {
  app: { environment: 'development' },
  admin: { roles: ['admin'] },
  session: { lifetime: '2h', remember_lifetime: '30d', confirmed_by_sign_in: '3650d' },
  rate_limits: { login: `${limits.login}/1m`, global: null, register: null, mail: '1000/1m' },
  mail: { url: 'smtp://localhost:1' },
  server: { trust_proxy: ['127.0.0.1'] },
  groups: { names: { [wiki.group]: 'Everyone who works here' } },
  social: { github: provider(), gitlab: provider() },
  passwords: { confirm_timeout: '3650d' },
}

/** Two replicas of svc on one database, with one clock and one mailbox. */
export interface Replicas {
  apps: readonly FastifyInstance[]
  clock: TestClock
  mails: { to: string; text: string }[]
  /** Subjects of all mails that the mail server accepted. */
  sent: string[]
  /** Configurations that a reload activates: the guard's rule is for a group, or for every user. */
  staffOnly: Config
  everyone: Config
  /** Rows of a query that does not stop at the gate. */
  asked(text: string): Promise<Record<string, unknown>[]>
  /** Lines of the log with an error. */
  errors: string[]
  lockedPids(): Promise<ReadonlySet<number>>
  close(): Promise<void>
}

/** Starts both replicas on an empty database. */
export async function startReplicas(gate: Gate): Promise<Replicas> {
  const own = await createTestDatabase()
  const clock = new TestClock()
  const mails: Replicas['mails'] = []
  const sent: string[] = []
  const errors: string[] = []
  const logger = createLogger('error', { write: (line: string) => void errors.push(line) })
  const monitor = new pg.Client({ connectionString: own.url })
  // The server may stop first, after an error of the simulation itself.
  monitor.on('error', () => undefined)
  await monitor.connect()
  gate.monitor = monitor
  const configured = (rule: object) => testConfig(ruled(rule), { DATABASE_URL: own.url })
  const staffOnly = configured({ groups: [wiki.group] }).current()
  const everyone = configured({}).current()
  const replicas = await Promise.all(
    [0, 1].map(async () => {
      const config = configured({ groups: [wiki.group] })
      const database = await openDatabase({ ...config.current().database, file: undefined, logger })
      const app = await buildApp({
        ...{ config, database, clock, logger, traces: false },
        hashing: { run: gate.counted((task) => hashing.run(task)), close: async () => undefined },
        openTransport: async () => ({
          send: async (mail) => {
            await gate.call('mail', () => {
              sent.push(String(mail.subject))
              mails.push({ to: String(mail.to), text: String(mail.text) })
            })
          },
          close: () => undefined,
        }),
      })
      await app.ready()
      return { app, database }
    }),
  )
  return {
    apps: replicas.map(({ app }) => app),
    ...{ clock, mails, sent, errors, staffOnly, everyone },
    asked: gate.counted(async (text: string) => (await monitor.query(text)).rows),
    async lockedPids() {
      // At the end of a transaction PostgreSQL grants its locks to others before it answers.
      const text = 'SELECT pid FROM pg_locks WHERE NOT granted'
      const { rows } = await monitor.query<{ pid: number }>(text)
      return new Set(rows.map(({ pid }) => pid))
    },
    async close() {
      for (const { app, database } of replicas) {
        await app.close()
        await database.close()
      }
      await monitor.end()
      await own.drop()
    },
  }
}
