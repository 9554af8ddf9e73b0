import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createTestDatabase, testEngine } from '../support/postgresql.ts'
import { runCli, runMain, startMain, temporaryDirectory } from '../support/process.ts'
import { sendRequest } from '../support/remote.ts'

const modeOf = (file: string): string => (statSync(file).mode & 0o777).toString(8)

/** Nothing on SQLite, the default of a fresh clone. PostgreSQL needs only an address. */
async function unconfigured(t: Test): Promise<Record<string, string>> {
  if (testEngine === 'sqlite') return {}
  const database = await createTestDatabase({ bare: true })
  t.teardown(database.drop)
  return { DATABASE_URL: database.url }
}

t.test('starts without any configuration, says where to look, and stores its secret', async (t) => {
  const env = await unconfigured(t)
  const first = await startMain(t, { env })
  await first.printed(/--verified\n/)
  const banner = first.stdout()
  const here = `http://localhost:${new URL(first.url).port}`
  t.ok(banner.includes(`svc is ready at ${here}\n`))
  t.ok(banner.includes(`Database         ${testEngine === 'sqlite' ? join(first.cwd, 'data/svc.db') : 'PostgreSQL'}\n`))
  t.ok(banner.includes('Configuration    none (all defaults)\n'))
  t.ok(banner.includes(`API description  ${here}/openapi.json\n`))
  t.ok(banner.includes('Mails            printed here, until mail.url is set\n'))
  t.match(banner, /npm run --silent svc -- user:create --email=\S+ --name=".+" --verified\n/)
  t.equal(first.stderr(), '')
  t.equal(modeOf(join(first.cwd, 'data')), '700')
  const secretFile = join(first.cwd, 'data/svc.secret')
  t.equal(modeOf(secretFile), '600')
  const secret = readFileSync(secretFile, 'utf8').trim()
  t.equal(Buffer.from(secret, 'base64url').length, 32)
  t.notOk(banner.includes(secret), 'the secret is not printed')
  if (testEngine === 'sqlite') t.equal(modeOf(join(first.cwd, 'data/svc.db')), '600')

  const cookies = await sendRequest(first.url, { url: '/svc/csrf-cookie' })
  t.equal(cookies.statusCode, 204)
  const session = String(cookies.headers['set-cookie']).match(/svc_session=([^;]+)/)?.[1]
  t.equal((await first.stop()).code, 0)

  const second = await startMain(t, { env, cwd: first.cwd })
  t.equal(readFileSync(secretFile, 'utf8').trim(), secret)
  const again = await sendRequest(second.url, {
    url: '/svc/csrf-cookie',
    headers: { cookie: `svc_session=${session}` },
  })
  t.ok(String(again.headers['set-cookie']).includes(`svc_session=${session}`), 'a cookie of the first start is valid')
  t.equal((await second.stop()).code, 0)
})

t.test('makes one secret and one set of tables when several processes start together', async (t) => {
  const env = await unconfigured(t)
  const cwd = temporaryDirectory(t)
  const all = await Promise.all([1, 2, 3].map(() => startMain(t, { env, cwd })))
  const cookies = await sendRequest(all[0]?.url ?? '', { url: '/svc/csrf-cookie' })
  const pair = String(cookies.headers['set-cookie'])
  const cookie = `svc_session=${pair.match(/svc_session=([^;]+)/)?.[1]}`
  const headers = { cookie, 'x-xsrf-token': pair.match(/XSRF-TOKEN=([^;]+)/)?.[1] ?? '' }
  for (const { url } of all) {
    const answer = await sendRequest(url, {
      method: 'POST',
      url: '/login',
      headers,
      payload: { email: 'a@b.c', password: 'x' },
    })
    t.equal(answer.statusCode, 401, 'the cookie of one is valid at every other')
  }
  for (const one of all) t.equal((await one.stop()).code, 0)
})

t.test('reports an incomplete secret instead of using it', async (t) => {
  const cwd = temporaryDirectory(t)
  mkdirSync(join(cwd, 'data'))
  writeFileSync(join(cwd, 'data/svc.secret'), 'short\n')
  const { code, stderr } = await runMain(t, { cwd, env: await unconfigured(t) })
  t.equal(code, 1)
  t.match(stderr, /^\S+svc\.secret does not contain a secret of at least 32 bytes\. .*\n$/)
})

t.test('exits with 78 and every error on an invalid configuration, like the check', async (t) => {
  const cwd = temporaryDirectory(t)
  mkdirSync(join(cwd, 'config'))
  writeFileSync(join(cwd, 'config/svc.yaml'), 'app: { name: 7 }\nnonsense: 1\nsession:\n  lifetime: soon\n')
  const env = { PORT: 'abc', SVC_SECRET: 'short' }
  const main = await runMain(t, { cwd, env })
  t.equal(main.code, 78)
  t.equal(main.stdout, '')
  const lines = main.stderr.trim().split('\n')
  t.match(lines.sort(), [
    /^config\/svc\.yaml:1: app\.name: /,
    /^config\/svc\.yaml:2: nonsense: is not a known key/,
    /^config\/svc\.yaml:4: session\.lifetime: /,
    /^environment: PORT: /,
    /^environment: SVC_SECRET: /,
  ])
  t.equal(lines.length, 5)
  t.notMatch(main.stderr, / {4}at /, 'no stack trace')
  const check = await runCli(['svc:config:check'], { cwd, env })
  t.same([check.code, check.stdout, check.stderr], [78, '', main.stderr])
  const user = await runCli(['user:list'], { cwd, env })
  t.equal(user.code, 78, 'and so does every other command')

  writeFileSync(join(cwd, 'config/svc.yaml'), 'app: { name: Acme }\nwebhooks: []\n')
  const good = await runCli(['config:check'], { cwd })
  t.same([good.code, good.stdout], [0, 'config/svc.yaml: valid\n'])
  t.notOk(existsSync(join(cwd, 'data')), 'a check creates nothing')
  const missing = await runMain(t, { cwd, env: { SVC_CONFIG: 'nowhere.yaml' } })
  t.equal(missing.code, 78)
  t.match(missing.stderr, /^nowhere\.yaml: the configuration file cannot be read/)
})

t.test('reports all problems in production together, and makes no secret', async (t) => {
  const cwd = temporaryDirectory(t)
  const yaml = 'app: { environment: production, url: "http://id.example" }\ntest_page: true\n'
  writeFileSync(join(cwd, 'svc.yaml'), yaml)
  const ended = await runMain(t, { cwd, env: { SVC_CONFIG: 'svc.yaml' } })
  t.equal(ended.code, 78)
  const line = JSON.parse(ended.stderr)
  t.match(line, { level: 'fatal', time: /^\d{4}-\d\d-\d\dT[\d:.]+Z$/ }, 'in production, each line is JSON')
  for (const key of ['app.secret', 'app.url', 'mail.url', 'test_page']) t.match(line.msg, `${key}: `)
  t.equal(line.msg.split('\n').length, 4)
  t.throws(() => statSync(join(cwd, 'data')), { code: 'ENOENT' })
})

t.test('prints only log lines in production', async (t) => {
  const cwd = temporaryDirectory(t)
  const secret = 'Wm1Nn6tF3zq0bD8yXc5RkV2uJh9sLgPeA7oTiQ4M'
  const client = { client_id: 'job', type: 'confidential', secret, grants: ['client_credentials'] }
  const settings = {
    app: { environment: 'production', url: 'https://id.example' },
    mail: { url: 'file:mail' },
    clients: [client],
  }
  writeFileSync(join(cwd, 'svc.yaml'), JSON.stringify(settings))
  const svc = await startMain(t, {
    cwd,
    env: { ...(await unconfigured(t)), SVC_CONFIG: 'svc.yaml', SVC_SECRET: secret },
  })
  t.equal((await sendRequest(svc.url, { url: '/test-login' })).statusCode, 404)
  const payload = `grant_type=client_credentials&client_id=job&client_secret=${secret}`
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  const token = await sendRequest(svc.url, { method: 'POST', url: '/oauth/token', headers, payload })
  t.equal(token.statusCode, 200, token.body)
  const { code, stdout } = await svc.stop()
  t.equal(code, 0)
  for (const line of stdout.trim().split('\n')) t.equal(JSON.parse(line).level, 'info', line)
})

t.test('exits with 1 and one clear line when the port is in use', async (t) => {
  const taken = createServer().listen(0, '0.0.0.0')
  await new Promise((done) => taken.once('listening', done))
  t.teardown(() => taken.close())
  const address = taken.address()
  const port = typeof address === 'object' && address ? address.port : 0
  const { code, stderr } = await runMain(t, { env: { ...(await unconfigured(t)), PORT: String(port) } })
  t.equal(code, 1)
  t.match(stderr, new RegExp(`^svc cannot listen: port ${port} is in use\\. .*PORT.*\\n$`))
})

t.test('exits with 1 and one clear line when the database is unusable', async (t) => {
  const database = await createTestDatabase({ bare: true })
  t.teardown(database.drop)
  const other = new URL(database.url)
  other.pathname = '/missing'
  const urls =
    testEngine === 'sqlite'
      ? ['file:/dev/null/svc.db']
      : ['postgresql://svc:very-secret@127.0.0.1:1/svc', 'postgresql://svc:very-secret@nowhere.invalid/svc', other.href]
  for (const url of urls) {
    for (const ended of [
      await runMain(t, { env: { DATABASE_URL: url } }),
      await runCli(['user:list'], { cwd: temporaryDirectory(t), env: { DATABASE_URL: url } }),
    ]) {
      t.equal(ended.code, 1, url)
      t.match(ended.stderr, /^The (database cannot be used|data directory .* cannot be written).*DATABASE_URL.*\n$/)
      t.notMatch(ended.stderr, 'very-secret')
    }
  }
})
