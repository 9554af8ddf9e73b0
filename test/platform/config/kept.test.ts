// engine: none
import t from 'tap'
import { buildApp } from '../../../src/app/app.ts'
import { CurrentConfig } from '../../../src/platform/config/current.ts'
import { printed } from '../../../src/platform/config/findings.ts'
import { type Config, rootSchema } from '../../../src/platform/config/schema.ts'
import { childSchema, type Schema } from '../../../src/platform/config/walk.ts'
import { openDatabase } from '../../../src/platform/database/database.ts'
import { createLogger } from '../../../src/platform/observability/logging.ts'
import { testConfig } from '../../support/app.ts'
import { TestClock } from '../../support/clock.ts'
import { createTestDatabase } from '../../support/postgresql.ts'
import { exampleUrl, routedPaths } from '../../support/routes.ts'

/** A configuration that records which live keys are read from each of its snapshots. */
class WatchedConfig extends CurrentConfig {
  readonly #notes = new WeakMap<object, Set<string>>()
  #seen: Config

  constructor(config: Config) {
    super(config)
    this.#seen = this.#watched(config)
  }

  override current(): Config {
    return this.#seen
  }

  override swap(next: Config): void {
    this.#seen = this.#watched(next)
  }

  /** The live keys that were read from a snapshot. */
  readOf(snapshot: Config): Set<string> {
    return this.#notes.get(snapshot) ?? new Set()
  }

  #watched(config: Config): Config {
    const notes = new Set<string>()
    const made = new Map<object, object>()
    const watch = <Value extends object>(target: Value, schema: Schema, path: readonly string[]): Value => {
      const proxy = new Proxy(target, {
        get: (whole, name, receiver) => {
          const value: unknown = Reflect.get(whole, name, receiver)
          if (typeof name !== 'string' || Array.isArray(whole)) return value
          const below = childSchema(schema, name)
          const isSection = below?.properties !== undefined && !below['x-svc-fileable']
          if (below && !isSection && below['x-svc-reload'] !== 'restart') notes.add(printed([...path, name]))
          if (!below || !isSection || typeof value !== 'object' || value === null) return value
          const known = made.get(value) ?? watch(value, below, [...path, name])
          made.set(value, known)
          return known
        },
      })
      return proxy
    }
    // A copy, because the frozen object cannot be replaced by a proxy.
    const snapshot = watch(structuredClone(config), rootSchema, [])
    this.#notes.set(snapshot, notes)
    return snapshot
  }
}

t.test('does not read live keys at startup or keys of a replaced configuration', async (t) => {
  const where = await createTestDatabase()
  const env = { DATABASE_URL: where.url }
  const config = new WatchedConfig(testConfig({ mail: { url: 'log:' } }, env).current())
  const first = config.current()
  const logger = createLogger('silent', { write: () => undefined })
  const database = await openDatabase({ ...where, logger })
  const app = await buildApp({ config, database, clock: new TestClock(), logger })
  t.teardown(async () => {
    await app.close()
    await database.close()
    await where.drop()
  })
  await app.ready()
  await app.oauth.open()
  // The key ring sorts its keys again for another configuration; `live.test.ts` covers their age.
  const keys = ['access_token_ttl', 'key_rotation', 'personal_access_token_ttl', 'refresh_token_ttl']
  // svc opens and closes receivers after each swap; `webhooks.test.ts` and `signals.test.ts` cover it.
  const receivers = ['shared_signals.streams', 'webhooks']
  t.same([...config.readOf(first)].sort(), ['apis', 'clients', ...keys.map((key) => `oauth.${key}`), ...receivers])

  const ask = async () => {
    for (const { path, methods } of routedPaths(app)) {
      for (const method of methods) await app.inject({ method: method as 'GET', url: exampleUrl(path) })
    }
  }
  await ask()
  config.swap(testConfig({ app: { name: 'Another' }, mail: { url: 'log:' } }, env).current())
  config.readOf(first).clear()
  await ask()
  t.same([...config.readOf(first)], [])
  t.ok(config.readOf(config.current()).size > 20, 'the second is read')
})
