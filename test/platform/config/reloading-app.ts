import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { stringify } from 'yaml'
import { parseConfig } from '../../../src/platform/config/load.ts'
import { nextConfig } from '../../../src/platform/config/next.ts'
import { buildTestApp, confirming, type Settings, type TestApp } from '../../support/app.ts'
import { oauthSettings } from '../../support/oauth.ts'

/** svc, with a configuration file that is replaced as in a reload. */
export interface Reloading extends TestApp {
  /** A directory with one template of each kind. */
  templates: string
  /** Replaces sections of the file; returns the keys that need a restart. */
  reload(changes: Settings): string[]
}

const base: Settings = {
  ...oauthSettings,
  ...confirming,
  server: { trust_proxy: ['192.0.2.250'] },
  scopes: { ...oauthSettings.scopes, 'view-tasks': 'See your tasks' },
  admin: { roles: ['chief'] },
  rate_limits: { login: null, two_factor: null, register: null, mail: null, token: null },
}

/** Builds svc with the clients of the OAuth tests. */
export async function buildReloading(t: Test): Promise<Reloading> {
  const templates = mkdtempSync(join(tmpdir(), 'svc-templates-'))
  t.teardown(() => rmSync(templates, { recursive: true, force: true }))
  writeFileSync(join(templates, 'home.eta'), '<p>Our own page</p>')
  writeFileSync(join(templates, 'verify-email.txt.eta'), 'Subject: Our own mail\n\n<%= it.data.link %>\n')
  writeFileSync(join(templates, 'en.json'), '{ "home.login": "Step in" }')
  const svc = await buildTestApp(t, { settings: base })
  const env = { SVC_SECRET: 'the-secret-of-the-tests-is-32-bytes-long', DATABASE_URL: svc.where.url }
  const { mail } = svc.config.current()
  const parsed = (changes: Settings) => {
    const settings = {
      ...base,
      ...changes,
      // A rule for the API below, so that a change of `apis` is visible.
      apis: { orders: { audience: 'https://orders.example.com', scopes: ['orders:ship'] } },
      guard: {
        default: 'authenticated',
        rules: [{ paths: ['/for-orders'], audience: 'orders' }],
        ...Object(changes.guard),
      },
      ...(changes.apis === undefined ? {} : { apis: changes.apis }),
      session: { ...confirming.session, ...Object(changes.session) },
      mail: { ...mail, ...Object(changes.mail) },
    }
    const text = stringify(settings, { aliasDuplicateObjects: false })
    return parseConfig({ text, file: 'test.yaml', env, cwd: tmpdir() })
  }
  let running = parsed({}).settings
  const reload = (changes: Settings): string[] => {
    const next = nextConfig(running, parsed(changes), tmpdir())
    if (next.problems.length > 0) throw new Error(next.problems.join())
    running = next.settings
    svc.config.swap(next.config)
    return next.changes.filter((change) => change.reload === 'restart').map(({ key }) => key)
  }
  return Object.assign(svc, { templates, reload })
}
