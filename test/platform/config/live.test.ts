// engine: none
import { tmpdir } from 'node:os'
import t from 'tap'
import { parseConfig } from '../../../src/platform/config/load.ts'
import { nextConfig } from '../../../src/platform/config/next.ts'
import { rootSchema } from '../../../src/platform/config/schema.ts'
import type { Schema } from '../../../src/platform/config/walk.ts'
import { rows } from './live-rows.ts'
import { buildReloading } from './reloading-app.ts'
import { userRows } from './user-rows.ts'

/** Keys without a row. `kept.test.ts` covers them too: none is read at boot or from a replaced configuration. */
const unseen = [
  // test/platform/config/files.test.ts and test/process/reload.test.ts
  'include',
  'clients_directory',
  'tokens.prune_after',
  'passwords.reset_revokes_tokens',
  'two_factor.window',
  // Need session.bound.
  'session.bound_interval',
  'session.bound_required_for',
  // Needs an app.
  'mobile_apps.link_paths',
  'passkeys.rp_id',
  'passkeys.origins',
  'links.two_factor',
  'links.after_verify',
  'oauth.refresh_token_ttl',
  'oauth.authorization_code_ttl',
  'oauth.refresh_grace',
  'oauth.skip_logout_confirmation',
  'rate_limits.two_factor',
  'rate_limits.exempt',
  'outbound.allow_private',
  // test/platform/http/egress.test.ts
  'outbound.proxy',
  'outbound.no_proxy',
  'audit.retention',
  // test/platform/mail/tls.test.ts
  'mail.tls',
  'mail.ca_file',
  // test/process/log-level.test.ts
  'log.level',
  // test/features/event-export
  'audit.export',
  'webhooks',
  // One needs the other: test/features/terms
  'terms.version',
  'terms.url',
]

/** The keys of the sections whose changes apply then. */
const keysOf = (reload: 'live' | 'restart'): string[] =>
  Object.entries(rootSchema.properties ?? {}).flatMap(([name, section]) => {
    const below: [string, Schema][] = section['x-svc-reload']
      ? [[name, section]]
      : Object.entries(section.properties ?? {}).map(([key, schema]) => [`${name}.${key}`, schema])
    return below.filter(([, schema]) => schema['x-svc-reload'] === reload).map(([key]) => key)
  })

t.test('applies a change of each live key when the file is reloaded', async (t) => {
  const svc = await buildReloading(t)
  for (const [key, value, look, before, after] of [...rows, ...userRows]) {
    const [section = '', name] = key.split('.')
    const given = typeof value === 'string' ? value.replace('{templates}', svc.templates) : value
    t.equal(await look(svc), before, `${key} before`)
    t.same(svc.reload({ [section]: name === undefined ? given : { [name]: given } }), [], key)
    t.equal(await look(svc), after, `${key} after`)
    svc.reload({})
  }
})

t.test('tests every key that is marked live', async (t) => {
  const known = [...[...rows, ...userRows].map(([key]) => key), ...unseen]
  t.same(known.sort(), keysOf('live').sort(), 'add new keys to live-rows.ts')
})

t.test('keeps and reports every key that is marked restart, and what depends on it', async (t) => {
  const parse = (text: string) => parseConfig({ text, file: 'svc.yaml', env: {}, cwd: tmpdir() })
  const running = parse('app: { secret: the-secret-of-more-than-thirty-two-bytes }')
  const wanted = parse(`
app: { name: Acme, url: 'https://id.example.com', secret: Wm1Nn6tF3zq0bD8yXc5RkV2uJh9sLgPeA7oTiQ4M, environment: production }
server: { host: 127.0.0.1, port: 9000, workers: 4, trust_proxy: [10.0.0.0/8], drain: 9s }
database: { url: 'postgresql://db/svc', prepared_statements: false }
redis: { url: 'redis://cache', sentinels: [sentinel], sentinel_password: password, timeout: 2s }
session: { cookie: other, xsrf_cookie: OTHER-XSRF, domain: example.com, same_site: strict, secure: true }
compat: { prefixes: [svc, sanctum] }
mail: { url: 'smtp://mail.example.com', tls: required }
guard: { port: 9200 }
metrics: { port: 9100 }
samples: true
test_page: false
`)
  const { config, changes, problems } = nextConfig(running.settings, wanted, tmpdir())
  t.same(problems, [])
  const waiting = changes.filter(({ reload }) => reload === 'restart').map(({ key }) => key)
  t.same(waiting.sort(), keysOf('restart').sort(), 'add another value for a new key above')
  const { app, mail } = wanted.config
  const kept = { ...running.config, app: { ...running.config.app, name: app.name }, mail }
  t.strictSame(config, kept)
})
