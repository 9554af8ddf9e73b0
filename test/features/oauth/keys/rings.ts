import { compactVerify, createLocalJWKSet, importJWK, SignJWT } from 'jose'
import type { Test } from 'tap'
import { type Algorithm, algorithms, type PublicJwk } from '../../../../src/features/oauth/keys/jwk.ts'
import { KeyRing, type KeySet } from '../../../../src/features/oauth/keys/key-ring.ts'
import type { CurrentConfig } from '../../../../src/platform/config/current.ts'
import { type Database, openDatabase } from '../../../../src/platform/database/database.ts'
import { createLogger } from '../../../../src/platform/observability/logging.ts'
import { type Settings, testConfig } from '../../../support/app.ts'
import { TestClock } from '../../../support/clock.ts'
import { runCommand } from '../../../support/command.ts'
import { createTestDatabase } from '../../../support/postgresql.ts'

export { algorithms }

/** One database with any number of processes that use its key ring. */
export interface Rings {
  clock: TestClock
  database: Database
  logs: string[]
  open(options?: { secret?: string[]; settings?: Settings; clock?: TestClock }): Promise<KeyRing>
  /** Runs a command line as the CLI does; returns its output. */
  command(line: string, secret?: string[]): Promise<string[]>
}

export const firstSecret = 'the-first-secret-is-32-bytes-long!!!'

const configOf = (settings: Settings, secret: string[]): CurrentConfig =>
  testConfig({ ...settings, app: { secret } }, { SVC_SECRET: '' })

/** Opens a separate database; closed with the test. */
export async function openRings(t: Test): Promise<Rings> {
  const own = await createTestDatabase()
  const connect = async () => {
    const db = await openDatabase({ engine: own.engine, url: own.url, file: own.file })
    t.teardown(() => db.close())
    return db
  }
  t.teardown(() => own.drop())
  const clock = new TestClock()
  const logs: string[] = []
  const log = createLogger('trace', { write: (line: string) => void logs.push(line) })
  const database = await connect()
  return {
    clock,
    database,
    logs,
    open: async ({ secret = [firstSecret], settings = {}, clock: other = clock } = {}) => {
      const ring = await KeyRing.open({
        database: await connect(),
        clock: other,
        config: configOf(settings, secret),
        log,
        subscriber: { wants: () => false, add: async () => undefined },
      })
      t.teardown(() => ring.close())
      return ring
    },
    command: async (line, secret = [firstSecret]) => {
      const [name = '', ...words] = line.split(' ')
      return runCommand({ config: configOf({}, secret), database, now: clock.now() }, name, ...words)
    },
  }
}

/** The ids of the signing keys, by algorithm. */
export const signers = ({ signing }: KeySet): string[] => algorithms.map((algorithm) => signing[algorithm].kid)

/** A token signed with each signing key. */
export const signed = ({ signing }: KeySet): Promise<string[]> =>
  Promise.all(
    algorithms.map(async (alg: Algorithm) => {
      const header = { alg, kid: signing[alg].kid }
      return new SignJWT({}).setProtectedHeader(header).sign(await importJWK(signing[alg], alg))
    }),
  )

/** How many of the tokens verify with this published set, as read from JSON. */
export async function countVerified(published: { keys: PublicJwk[] }, tokens: readonly string[]): Promise<number> {
  const keys = createLocalJWKSet(JSON.parse(JSON.stringify(published)))
  const verdicts = await Promise.allSettled(tokens.map((token) => compactVerify(token, keys)))
  return verdicts.filter(({ status }) => status === 'fulfilled').length
}
