import t from 'tap'
import { createTestDatabase } from '../support/postgresql.ts'
import { runCli, startMain } from '../support/process.ts'
import { remoteBrowser, requestWithBearer, sendRequest } from '../support/remote.ts'

const password = 'a Password that is nowhere else'

t.test('logs no secret of a whole journey at the most verbose level', async (t) => {
  const database = await createTestDatabase()
  t.teardown(database.drop)
  const env = {
    DATABASE_URL: database.url,
    SVC_SECRET: 'the-secret-of-the-tests-is-32-bytes-long',
    LOG_LEVEL: 'trace',
    SVC_URL: 'http://localhost:8000',
  }
  const svc = await startMain(t, { env })
  const email = 'ada@example.com'
  const create = ['user:create', `--email=${email}`, '--name=Ada', '--verified']
  const made = await runCli(create, { cwd: svc.cwd, env, input: `${password}\n` })
  t.equal(made.code, 0, made.stderr)

  const secrets = new Map<string, string>([
    ['the password', password],
    ['the wrong password', 'a wrong Password too'],
    ['SVC_SECRET', env.SVC_SECRET],
  ])
  const browser = remoteBrowser(svc.url, { url: 'http://localhost:8000' })
  let asked = 0
  const keep = async (name: string, answer: Promise<{ statusCode: number; body: string }>, status: number) => {
    const { statusCode, body } = await answer
    asked++
    t.equal(statusCode, status, `${name}: ${body}`)
    for (const cookie of await browser.jar.getCookies('http://localhost:8000/test-tokens')) {
      secrets.set(`the cookie ${cookie.key} after ${name}`, cookie.value)
      // The part before the signature is the session's id.
      const [id = ''] = cookie.value.split('.')
      if (id.length > 20) secrets.set(`the inside of ${cookie.key} after ${name}`, id)
    }
    return body
  }
  await keep('csrf', browser.get('/svc/csrf-cookie'), 204)
  await keep('a wrong login', browser.post('/login', { email, password: 'a wrong Password too' }), 401)
  await keep('login', browser.post('/login', { email, password, remember: true }), 200)
  await keep('user', browser.get('/api/user'), 200)
  const created = await keep('token', browser.post('/api/tokens/create', { token_name: 'x' }), 200)
  const { token } = JSON.parse(created)
  secrets.set('the token', token)
  secrets.set("the token's secret", token.split('|')[1])
  await keep('bearer', requestWithBearer(svc.url, token, '/api/user'), 200)
  await keep('a wrong bearer', requestWithBearer(svc.url, '1|wrong-but-secret-too', '/api/user'), 401)
  secrets.set('the wrong bearer', 'wrong-but-secret-too')
  await keep('?token=', sendRequest(svc.url, { url: `/test-user?token=${encodeURIComponent(token)}` }), 200)
  const device = { email, password, device_name: 'Phone' }
  const issued = await keep('device', sendRequest(svc.url, { method: 'POST', url: '/svc/token', payload: device }), 200)
  secrets.set('the token of the device', JSON.parse(issued).token.split('|')[1])
  const form = `email=${email}&password=${encodeURIComponent(password)}`
  const typed = { 'content-type': 'application/x-www-form-urlencoded', 'sec-fetch-site': 'same-origin' }
  await keep('the test page', browser.post('/test-login', Buffer.from(form), typed), 302)
  await keep('its tokens', browser.get('/test-tokens', { 'sec-fetch-site': 'same-origin' }), 200)
  // Secrets in places where clients put them by mistake.
  await keep(
    'a stray path',
    sendRequest(svc.url, { url: `/api/tokens/x/${encodeURIComponent(token)}?password=${token}` }),
    404,
  )
  await keep('a token as a path', sendRequest(svc.url, { url: `/${token.split('|')[1]}` }), 404)
  const broken = { method: 'POST' as const, url: '/login', headers: { 'content-type': 'application/json' } }
  await keep('a broken body', sendRequest(svc.url, { ...broken, payload: `{"password":"${password}` }), 400)
  await keep('logout', browser.post('/logout'), 200)
  const { code, stdout, stderr } = await svc.stop()
  t.equal(code, 0)

  t.ok([...secrets.keys()].some((name) => /svc_session after login/.test(name)))
  for (const cookie of ['svc_remember', 'XSRF-TOKEN', 'svc_flash', 'svc_browser']) {
    t.ok(
      [...secrets.keys()].some((name) => name.includes(cookie)),
      `${cookie} was set`,
    )
  }
  for (const [name, secret] of secrets) {
    t.ok(secret.length > 8, `${name} exists`)
    for (const form of [secret, encodeURIComponent(secret), Buffer.from(secret).toString('base64')]) {
      t.notOk(stdout.includes(form) || stderr.includes(form), `${name} is not printed`)
    }
  }
  t.notMatch(stdout + stderr, /argon2|authorization|set-cookie/i, 'nor hashes or headers')
  t.equal(stderr, '')

  const [, after = ''] = stdout.split('--verified\n')
  // Development prints mails between the log lines.
  const lines = after.split('\n').filter((line) => line.startsWith('{'))
  const requests = lines.map((line) => JSON.parse(line)).filter((line) => line.msg === 'request')
  t.equal(requests.length, asked, 'one line for each request')
  t.equal(new Set(requests.map((line) => line.reqId)).size, asked, 'each with its own id')
  for (const line of requests)
    t.match(line, { time: /Z$/, reqId: /\S/, method: /^[A-Z]+$/, status: Number, ms: Number })
  const events = lines.map((line) => JSON.parse(line)).filter((line) => line.msg === 'security event')
  for (const type of ['login', 'login_failed', 'token_created', 'logout']) {
    const event = events.find((line) => line.event === type)
    t.ok(
      requests.some((line) => line.reqId === event?.reqId),
      `${type} names the request that caused it`,
    )
  }
})
