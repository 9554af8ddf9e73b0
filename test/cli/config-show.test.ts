// engine: none
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: that very syntax is under test
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { runCli, temporaryDirectory } from '../support/process.ts'

t.test('shows each value, where it was set, and no secret', async (t) => {
  const cwd = temporaryDirectory(t)
  mkdirSync(join(cwd, 'clients.d'))
  const file = (name: string, text: string) => writeFileSync(join(cwd, name), text)
  file('hook.secret', 'hook-secret-from-a-file\n')
  file(
    'svc.yaml',
    `app: { name: "\${NAME}", secret: [first-secret-of-more-than-32-bytes-here] }
include: [more.yaml]
clients_directory: clients.d
database:
  url: postgresql://svc:database-secret@db.example.com/svc?password=query-secret
mail: { url: "smtp://me:mail-secret@mail.example.com:587" }
oauth: { access_token_ttl: 300s }
rate_limits: { login: 3/1m, global: null }
stateful: [a.example, "\${HOST}"]
webhooks: [{ url: "https://a.example/services/path-secret?token=query-secret", secret: { file: hook.secret }, events: ["*"] }]
`,
  )
  file(
    'more.yaml',
    '# more\nsocial:\n  acme: { issuer: "https://acme.example", client_id: a, client_secret: social-secret }\n',
  )
  file(
    'clients.d/web.yaml',
    'client_id: web\ntype: confidential\nsecret: client-secret-is-long\ngrants: [client_credentials]\n',
  )
  const env = {
    SVC_CONFIG: 'svc.yaml',
    NAME: 'Acme',
    HOST: 'b.example',
    REDIS_URL: 'redis://:redis-secret@cache:6379/1',
  }
  const run = (...words: string[]) => runCli(['config:show', ...words], { cwd, env })
  const read = async (...words: string[]) => {
    const { code, stdout, stderr } = await run(...words)
    t.equal(code, 0, stderr)
    t.notMatch(stdout, /-secret/)
    const rows: Record<string, unknown>[] = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    return new Map(rows.map(({ key, ...row }) => [key, row]))
  }
  const all = await read('--json', '--all')
  const inFile = (line: number, name = 'svc.yaml') => ({
    source: 'file',
    file: name,
    line,
    variable: null,
    isSecret: false,
  })
  const unset = { source: 'default', file: null, line: null, variable: null, isSecret: false }
  t.strictSame(all.get('app.name'), { value: 'Acme', ...inFile(1), variable: true })
  t.strictSame(all.get('app.secret'), { value: null, ...inFile(1), isSecret: true })
  t.strictSame(all.get('app.url'), { value: 'http://localhost:8000', ...unset })
  t.strictSame(all.get('database.url'), { value: 'postgresql://db.example.com/svc', ...inFile(5) })
  t.strictSame(all.get('mail.url'), { value: 'smtp://mail.example.com:587', ...inFile(6) })
  t.match(all.get('redis.url'), {
    value: 'redis://cache:6379/1',
    source: 'environment',
    variable: 'REDIS_URL',
    file: null,
  })
  t.strictSame(all.get('oauth.access_token_ttl'), { value: '5m', ...inFile(7) })
  t.strictSame(all.get('rate_limits.login'), { value: '3/1m', ...inFile(8) })
  t.strictSame(all.get('rate_limits.global'), { value: null, ...inFile(8) })
  t.strictSame(all.get('stateful'), { value: ['a.example', 'b.example'], ...inFile(9), variable: true })
  t.strictSame(all.get('webhooks[0].url'), { value: 'https://a.example/…', ...inFile(10) })
  t.strictSame(all.get('webhooks[0].secret'), { value: null, ...inFile(10), isSecret: true })
  t.strictSame(all.get('social.acme.client_id'), { value: 'a', ...inFile(3, 'more.yaml') })
  t.strictSame(all.get('social.acme.client_secret'), { value: null, ...inFile(3, 'more.yaml'), isSecret: true })
  t.strictSame(all.get('clients[0].client_id'), { value: 'web', ...inFile(1, 'clients.d/web.yaml') })
  t.strictSame(all.get('clients[0].secret'), { value: null, ...inFile(3, 'clients.d/web.yaml'), isSecret: true })
  t.strictSame(all.get('clients[0].first_party'), { value: false, ...unset })

  const set = await read()
  t.ok(
    [...set.values()].every(({ source }) => source !== 'default'),
    'only values that were set',
  )
  t.ok(set.has('app.name') && !set.has('app.url'))
  const section = await read('oauth')
  t.ok([...section.keys()].every((key) => String(key).startsWith('oauth.')) && section.has('oauth.refresh_grace'))
  t.match(await run('nonsense'), { code: 1, stderr: 'nonsense is not a key of the configuration.\n' })
  file('svc.yaml', 'nonsense: 1\n')
  t.match(await run(), { code: 78, stderr: /^svc\.yaml:1: nonsense/ })
})
