// engine: none
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { request as send } from 'node:http'
import { join } from 'node:path'
import { generateSync } from 'otplib'
import t, { type Test } from 'tap'
import { buildTestApp } from '../support/app.ts'
import { runCli, startCli, temporaryDirectory } from '../support/process.ts'

interface TestServer {
  url: string
  port: number
  users: { email: string; password: string; role: string; verified: boolean; totp_secret: string | null }[]
}

/** Starts a test server whose temporary files are in a directory of the test. */
async function start(t: Test, { config, env = {} }: { config?: string; env?: Record<string, string> } = {}) {
  const cwd = temporaryDirectory(t)
  const folder = join(cwd, 'tmp')
  mkdirSync(folder)
  if (config !== undefined) writeFileSync(join(cwd, 'test.yaml'), config)
  const words = ['test-server', '--port=0', ...(config === undefined ? [] : ['--config=test.yaml'])]
  const { child, ended, output } = await startCli(t, words, { cwd, env: { TMPDIR: folder, ...env } })
  const { stdout, stderr } = output
  if (!stdout) throw new Error(stderr)
  const server: TestServer = JSON.parse(stdout)
  const json = { accept: 'application/json', 'content-type': 'application/json' }
  const post = (path: string, body: object, headers: Record<string, string> = {}) =>
    fetch(server.url + path, { method: 'POST', headers: { ...json, ...headers }, body: JSON.stringify(body) })
  const get = (path: string, headers: Record<string, string> = {}) =>
    fetch(server.url + path, { headers: { accept: 'application/json', ...headers } })
  return { ...server, child, ended, folder, cwd, output, post, get }
}

/** The API token in an answer. */
const tokenIn = (text: string): string => /\d+\|\w+/.exec(text)?.[0] ?? ''

/** The answer to a request as JSON. */
async function read<Body>(answer: Promise<Response>): Promise<Body> {
  return (await (await answer).json()) as Body
}

/** The status of a request with any headers, including those that fetch forbids. */
const statusOf = (port: number, method: string, path: string, headers: Record<string, string>, body = '') =>
  new Promise<number>((resolve, reject) => {
    const asked = send({ host: '127.0.0.1', port, method, path, headers, agent: false }, (answer) => {
      answer.resume()
      resolve(answer.statusCode ?? 0)
    })
    asked.once('error', reject)
    asked.end(body)
  })

t.test('serves fixed users, a mailbox and a clock, and deletes everything when it stops', async (t) => {
  // The environment of another server does not count.
  const env = { DATABASE_URL: 'postgresql://nobody@127.0.0.1:1/none', SVC_CONFIG: 'missing.yaml', PORT: '1' }
  const server = await start(t, { env })
  t.match(server.url, /^http:\/\/localhost:\d+$/)
  t.strictSame(
    server.users.map(({ email, role, verified, totp_secret }) => [email, role, verified, totp_secret !== null]),
    [
      ['user@example.com', 'user', true, false],
      ['admin@example.com', 'admin', true, false],
      ['unverified@example.com', 'user', false, false],
      ['two-factor@example.com', 'user', true, true],
    ],
  )
  for (const { email, password, role, verified, totp_secret } of server.users) {
    const now = Date.parse((await server.get('/health/live')).headers.get('date') ?? '')
    const code = totp_secret ? generateSync({ secret: totp_secret, epoch: Math.floor(now / 1_000) }) : undefined
    const credentials = { email, password, device_name: 'test' }
    if (totp_secret) t.equal((await server.post('/svc/token', credentials)).status, 422, 'a code is required')
    const answer = await server.post('/svc/token', { ...credentials, ...(code ? { code } : {}) })
    t.equal(answer.status, 200, email)
    const token = tokenIn(await answer.text())
    const user = await (await server.get('/api/user', { authorization: `Bearer ${token}` })).json()
    t.match(user, { email, role, email_verified_at: verified ? String : null })
  }

  const { authorization, user } = await signIn(server)
  await server.post('/api/tokens/create', { token_name: 'x' }, { authorization })
  const mails = await read<object[]>(server.get(`/__test/mails?to=${user.email}`))
  t.ok(mails.length > 0, 'the notice arrived')
  t.match(mails[0], { to: user.email, from: String, subject: String, text: String, html: String, date: String })
  t.strictSame(await (await server.get('/__test/mails?to=other@example.com')).json(), [])

  const moved = await server.post('/__test/clock', { advance: 3 * 24 * 3_600_000 })
  t.equal(moved.status, 200)
  const { now } = (await moved.json()) as { now: string }
  t.ok(Date.parse(now) - Date.now() > 2 * 24 * 3_600_000, 'the clock is ahead')
  const later = await server.post('/__test/clock', { now: new Date(Date.parse(now) + 60_000).toISOString() })
  t.equal(later.status, 200)
  const created = await server.post(
    '/api/tokens/create',
    { token_name: 'old', expires_at: new Date(Date.now() + 3_600_000).toISOString() },
    { authorization },
  )
  t.equal(created.status, 422, 'svc uses the moved clock')

  t.equal(readdirSync(server.folder).length, 1)
  server.child.kill('SIGTERM')
  t.equal((await server.ended).code, 0)
  t.strictSame(readdirSync(server.folder), [], 'the database is deleted')
  t.equal(server.output.stdout.split('\n').length, 2, 'standard output has one line')
  t.notOk(existsSync(join(server.cwd, 'data')))
})

async function signIn({ users, post }: Awaited<ReturnType<typeof start>>) {
  const [user] = users
  if (!user) throw new Error('There are no users.')
  const answer = await post('/svc/token', { email: user.email, password: user.password, device_name: 'test' })
  return { user, authorization: `Bearer ${tokenIn(await answer.text())}` }
}

t.test('rejects web pages at the test routes, and bad input', async (t) => {
  const server = await start(t)
  const { port } = server
  const host = `localhost:${port}`
  const clock = (headers: Record<string, string>, body = '{"advance":0}') =>
    statusOf(port, 'POST', '/__test/clock', { 'content-type': 'application/json', ...headers }, body)
  const mails = (headers: Record<string, string>) => statusOf(port, 'GET', '/__test/mails', headers)
  t.equal(await clock({ host }), 200)
  t.equal(await mails({ host: `127.0.0.1:${port}` }), 200)
  for (const [name, headers] of Object.entries({
    'DNS rebinding': { host: `evil.example:${port}` },
    'another port': { host: 'localhost:1' },
    'another origin': { host, origin: 'https://evil.example' },
    'an opaque origin': { host, origin: 'null' },
    'a front end': { host, origin: 'http://localhost:5173' },
    'a page of another site': { host, 'sec-fetch-site': 'cross-site' },
    'a page of this site': { host, 'sec-fetch-site': 'same-site' },
  })) {
    t.equal(await clock(headers), 403, name)
    t.equal(await mails(headers), 403, name)
  }
  for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x'])
    t.equal(await clock({ host, 'content-type': type }), 415, type)
  t.equal(await statusOf(port, 'POST', '/__test/clock', { host }), 415, 'no type')
  for (const body of [
    '{}',
    '{"advance":-1}',
    '{"advance":1e300}',
    '{"advance":1,"now":"2030-01-01T00:00:00Z"}',
    '{"now":"x"}',
    '{"now":"2020-01-01T00:00:00Z"}',
    '{"now":"+275760-09-13T00:00:00Z"}',
  ])
    t.equal(await clock({ host }, body), 422, body)
  for (const body of ['{', '[]']) t.equal(await clock({ host }, body), 400, body)
  const preflight = { host, origin: 'https://evil.example', 'access-control-request-method': 'POST' }
  const answer = await fetch(`${server.url}/__test/clock`, { method: 'OPTIONS', headers: preflight })
  t.equal(answer.headers.get('access-control-allow-origin'), null)
})

t.test('uses a configuration file, without its address, secrets and services', async (t) => {
  const config = `app: { url: https://auth.example.com, environment: development, name: Acme }
session: { domain: .example.com, same_site: none }
passkeys: { rp_id: example.com }
redis: { url: "redis://127.0.0.1:1" }
database: { url: "postgresql://nobody@127.0.0.1:1/none" }
mail: { url: "smtp://127.0.0.1:1" }
registration: { role: tester }
`
  const server = await start(t, { config })
  const { issuer } = await read<{ issuer: string }>(server.get('/.well-known/openid-configuration'))
  t.equal(issuer, server.url)
  t.match(await (await fetch(`${server.url}/oauth/login`, { headers: { accept: 'text/html' } })).text(), /Acme/)
  t.equal((await server.get('/__test/mails')).status, 200)
})

t.test('refuses production, an invalid file and a port in use', async (t) => {
  const cwd = temporaryDirectory(t)
  const run = (config: string, ...words: string[]) => {
    writeFileSync(join(cwd, 'test.yaml'), config)
    return runCli(['test-server', '--config=test.yaml', ...words], { cwd, env: { TMPDIR: cwd } })
  }
  const production = `app: { environment: production, url: https://auth.example.com, secret: Wm1Nn6tF3zq0bD8yXc5RkV2uJh9sLgPeA7oTiQ4M }
mail: { url: "file:mails" }
`
  t.match(await run(production, '--port=0'), {
    code: 1,
    stdout: '',
    stderr: /does not run with app\.environment: production/,
  })
  const own = { cwd, env: { TMPDIR: cwd, SVC_CONFIG: 'test.yaml' } }
  t.match(await runCli(['test-server', '--port=0'], own), { code: 1, stdout: '', stderr: /does not run with/ })
  t.match(await run('app: { nmae: x }', '--port=0'), { code: 78, stdout: '', stderr: /test\.yaml:1: app\.nmae/ })
  const { port } = await start(t)
  t.match(await run('{}', `--port=${port}`), { code: 1, stdout: '', stderr: /cannot listen on port .*EADDRINUSE/ })
  t.strictSame(
    readdirSync(cwd).filter((name) => name.startsWith('svc-test-server')),
    [],
    'nothing is left behind',
  )
})

t.test('a normal server has no test routes', async (t) => {
  const { app } = await buildTestApp(t)
  t.equal((await app.inject('/__test/mails')).statusCode, 404)
  t.equal((await app.inject({ method: 'POST', url: '/__test/clock', payload: { advance: 1 } })).statusCode, 404)
})
