// engine: none
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { startWithAda } from '../support/listening.ts'
import { type ProcessResult, runCli, temporaryDirectory } from '../support/process.ts'
import { nthLine, replaceFile, robot, settingsOf } from '../support/reloading.ts'

// Each command is a process.
const lines = ({ stdout }: ProcessResult): string[] => stdout.trimEnd().split('\n')

t.test('compares two files key by key, without secrets', async (t) => {
  const cwd = temporaryDirectory(t)
  const file = (name: string, text: string) => writeFileSync(join(cwd, name), text)
  file(
    'old.yaml',
    `app: { name: One, secret: the-first-secret-of-more-than-32-bytes }
mail: { url: "smtp://user:pass-one@mail.example.com" }
oauth: { access_token_ttl: 15m }
rate_limits: { global: 60/1m }
stateful: [a.example]
scopes: { "orders:read": Read, constructor: Odd }
clients:
  - { client_id: web, type: confidential, secret: secret-one-is-long-enough, grants: [client_credentials], name: Web }
  - { client_id: gone, type: public, grants: [device_code] }
  - { client_id: same, type: public, grants: [device_code] }
social:
  acme: { issuer: "https://acme.example", client_id: a, client_secret: social-secret-one }
webhooks: [{ url: "https://a.example", secret: hook-secret-one, events: ["*"] }]
`,
  )
  file(
    'new.yaml',
    `app: { name: Two, secret: the-second-secret-of-more-than-32-bytes, url: "http://localhost:9000" }
mail: { url: "smtp://user:pass-two@mail.example.com" }
oauth: { access_token_ttl: 900s, refresh_token_ttl: 720h }
rate_limits: { global: 30/1m, login: null }
stateful: [a.example, b.example]
scopes: { "orders:read": See, constructor: Odd }
clients:
  - { client_id: same, type: public, grants: [device_code] }
  - { client_id: web, type: confidential, secret: secret-two-is-long-enough, grants: [client_credentials], dpop: true }
  - { client_id: "n/w", type: public, grants: [device_code] }
social:
  acme: { issuer: "https://acme.example", client_id: a, client_secret: social-secret-two, link: false }
  google: { client_id: g, client_secret: social-secret-two }
webhooks: [{ url: "https://a.example", secret: hook-secret-two, events: ["*"] }]
`,
  )
  const run = (...words: string[]) => runCli(['config:diff', ...words], { cwd })
  const found = await run('new.yaml', '--against=old.yaml')
  t.equal(found.code, 0, found.stderr)
  t.same(lines(found), [
    'new.yaml compared with old.yaml:',
    '  live     app.name: One → Two',
    '  restart  app.url: http://localhost:8000 → http://localhost:9000',
    '  restart  app.secret: changed',
    '  live     stateful: ["a.example"] → ["a.example","b.example"]',
    '  live     mail.url: changed',
    '  live     scopes["orders:read"]: Read → See',
    '  live     clients.web.name: Web → null',
    '  live     clients.web.secret: changed',
    '  live     clients.web.dpop: false → true',
    '  live     clients["n/w"]: added',
    '  live     clients.gone: removed',
    '  live     social.acme.client_secret: changed',
    '  live     social.acme.link: true → false',
    '  live     social.google: added',
    '  live     rate_limits.login: 5/1m → null',
    '  live     rate_limits.global: 60/1m → 30/1m',
    '  live     webhooks: changed',
    '15 take effect on reload, 2 after a restart.',
  ])
  t.notMatch(found.stdout, /secret-(one|two)|pass-(one|two)|the-(first|second)-secret/)
  t.equal((await run('new.yaml', '--against=old.yaml', '--exit-code')).code, 1)
  const same = await run('new.yaml', '--against=new.yaml', '--exit-code')
  t.same([same.code, same.stdout], [0, 'new.yaml is identical to new.yaml.\n'])

  file('bad.yaml', 'app: { name: 7 }\nnonsense: 1\n')
  for (const words of [
    ['bad.yaml', '--against=old.yaml'],
    ['old.yaml', '--against=bad.yaml'],
  ]) {
    const { code, stdout, stderr } = await run(...words)
    t.same([code, stdout], [78, ''])
    t.match(stderr, /^bad\.yaml:1: app\.name: .*\nbad\.yaml:2: nonsense: .*\n$/)
  }
  const none = await run('new.yaml')
  t.equal(none.code, 1)
  t.match(none.stderr, /^No server has saved its configuration .*--against=<file>/)
  t.notOk(existsSync(join(cwd, 'data/svc.db')), 'a comparison creates no database')
})

t.test('compares a file with the active configuration of the server', async (t) => {
  const svc = await startWithAda(t, {}, { clients: [robot('first')] })
  const env = { ...svc.env }
  const settings = settingsOf(svc)
  const run = (...words: string[]) => runCli(['config:diff', ...words], { cwd: svc.cwd, env })
  const until = async (pattern: RegExp): Promise<ProcessResult> => {
    for (let tries = 0; ; tries++) {
      const ended = await run()
      if (pattern.test(ended.stdout) || tries > 20) return ended
    }
  }
  // Recorded a moment after the process listens.
  t.match(await until(/identical/), {
    code: 0,
    stdout: /^svc\.yaml is identical to the configuration active since 20\S+Z\.\n$/,
  })

  writeFileSync(
    join(svc.cwd, 'candidate.yaml'),
    'clients: []\napp: { name: Acme, url: "https://id.example.com", environment: development }\npasskeys: { rp_id: example.com }\n',
  )
  const candidate = await run('candidate.yaml')
  t.match(candidate.stdout, '  live     clients.first: removed\n')
  t.match(candidate.stdout, `  restart  app.url: ${svc.url} → https://id.example.com\n`)
  t.match(candidate.stdout, /A reload will fail.*\n {2}passkeys\.rp_id: /)

  replaceFile(svc, { ...settings, app: { url: 'http://localhost:1' }, clients: [robot('second')] })
  svc.child.kill('SIGHUP')
  await nthLine(svc, 2)
  const left = await until(/0 take effect/)
  t.same(
    lines(left).slice(1),
    [`  restart  app.url: ${svc.url} → http://localhost:1`, '0 take effect on reload, 1 after a restart.'],
    'a key that waits for a restart still differs',
  )
  const other = await runCli(['config:diff'], {
    cwd: svc.cwd,
    env: { ...env, SVC_SECRET: 'another-secret-of-more-than-32-bytes' },
  })
  t.equal(other.code, 1)
  t.match(other.stderr, /^The active configuration was saved with another app\.secret/)
  await svc.stop()
})
