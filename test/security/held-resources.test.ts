import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { buildTestApp, type Settings, type TestApp } from '../support/app.ts'
import { until } from '../support/until.ts'

/** svc on a port, behind a proxy that names the clients. */
async function listen(t: Test, settings: Settings = {}) {
  const svc = await buildTestApp(t, { settings: { server: { trust_proxy: ['127.0.0.1'] }, ...settings } })
  const port = Number(new URL(await svc.app.listen({ port: 0, host: '127.0.0.1' })).port)
  const sockets: Socket[] = []
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
  })
  /** Begins a request and sends no body; returns the connection and what it has received. */
  const begin = async (path: string, client: string, lines: readonly string[] = []) => {
    const socket = connect(port, '127.0.0.1')
    sockets.push(socket.on('error', () => {}))
    let received = ''
    socket.on('data', (chunk) => {
      received += chunk
    })
    await once(socket, 'connect')
    const head = [`POST ${path} HTTP/1.1`, 'Host: localhost:8000', `X-Forwarded-For: ${client}`, ...lines]
    socket.write(`${head.join('\r\n')}\r\n\r\n`)
    return { socket, status: () => Number(/^HTTP\/1.1 (\d+)/.exec(received)?.[1] ?? 0) }
  }
  return { svc, begin }
}

const json = ['Content-Type: application/json', 'Content-Length: 1000']

t.test('waits for a bounded number of bodies from one address', async (t) => {
  const { begin } = await listen(t)
  const held = await Promise.all(Array.from({ length: 256 }, () => begin('/svc/token', '198.51.100.1', json)))
  const refused = await begin('/svc/token', '198.51.100.1', json)
  await until(() => [...held, refused].some(({ status }) => status() === 429))
  const chunked = ['Content-Type: application/json', 'Transfer-Encoding: chunked']
  const unsized = await begin('/login', '198.51.100.1', chunked)
  await until(() => unsized.status() === 429)
  const other = await begin('/svc/token', '198.51.100.2', json)
  other.socket.write('{}'.padEnd(1000))
  await until(() => other.status() === 422)
  for (const { socket } of held) socket.destroy()
  await until(async () => {
    const again = await begin('/svc/token', '198.51.100.1', json)
    again.socket.write('{}'.padEnd(1000))
    await until(() => again.status() !== 0)
    return again.status() === 422
  })
})

const upload = (token: string) => [
  `Authorization: Bearer ${token}`,
  'Content-Type: application/x-ndjson',
  'Content-Length: 10000000',
]

t.test('answers callers without the right before it reads their body', async (t) => {
  const { svc, begin } = await listen(t)
  const user = await svc.createUser()
  const admins = await begin('/admin/v1/users/import', '198.51.100.1', upload(await svc.createToken(user)))
  await until(() => admins.status() === 403)
  const narrow = upload(await svc.createToken(user, { abilities: ['orders:read'] }))
  const abilities = await begin('/admin/v1/users/import', '198.51.100.1', narrow)
  await until(() => abilities.status() === 403)
  t.pass('each got 403 without a byte of the body')
})

const form = (svc: TestApp, url: string, payload: string) =>
  svc.app.inject({ method: 'POST', url, payload, headers: { 'content-type': 'application/x-www-form-urlencoded' } })

t.test('rejects forms with thousands of fields before it parses them', async (t) => {
  const svc = await buildTestApp(t)
  const many = Array.from({ length: 20_000 }, () => 'a').join('&')
  for (const url of ['/svc/token', '/login', '/register', '/oauth/token', '/oauth/introspect', '/oauth/login']) {
    const answer = await form(svc, url, many)
    t.equal(answer.statusCode, 400, `${url} ${answer.body}`)
    t.match(answer.body, /at most 1000 fields/, url)
  }
  t.equal((await form(svc, '/svc/token', Array.from({ length: 1_000 }, (_, i) => `a${i}=`).join('&'))).statusCode, 422)
})

t.test('ignores every cookie that a browser sends several times, among thousands', async (t) => {
  const svc = await buildTestApp(t)
  const spa = svc.browser()
  await spa.signIn((await svc.createUser()).email)
  const own = await spa.jar.getCookieString('http://localhost:8000/')
  const origin = 'http://localhost:5173'
  const many = Array.from({ length: 3_000 }, (_, i) => `a${i % 2_999}=`).join('; ')
  const status = async (cookie: string) =>
    (await svc.app.inject({ url: '/api/user', headers: { origin, cookie } })).statusCode
  t.equal(await status(`${own}; ${many}`), 200)
  t.equal(await status(`${own}; ${many}; svc_session=x`), 401)
})

t.test('limits how often a user changes something that calls webhooks', async (t) => {
  const svc = await buildTestApp(t)
  const { email } = await svc.createUser()
  const spa = svc.browser()
  await spa.signIn(email)
  const rename = async (name: string) => (await spa.put('/user/profile-information', { name, email })).statusCode
  const statuses: number[] = []
  for (let i = 0; i < 302; i++) statuses.push(await rename(`Ada ${i}`))
  t.equal(statuses.filter((status) => status === 429).length, 2)
  t.equal(await svc.database.prisma.event.count({ where: { type: 'profile_updated' } }), 300)
  svc.clock.advance(60_000)
  t.equal(await rename('Ada'), 200)
  const other = svc.browser()
  await other.signIn((await svc.createUser()).email)
  t.not((await other.post('/logout')).statusCode, 429, 'counts each user separately')
})

t.test('limits how often a token creates tokens, and never how often it revokes them', async (t) => {
  const svc = await buildTestApp(t, { settings: { rate_limits: { mail: null } } })
  const user = await svc.createUser({ verified: false })
  const token = await svc.createToken(user)
  const statuses = new Map<number, number>()
  for (let i = 0; i < 302; i++) {
    const made = await svc.bearer(token, 'POST', '/api/tokens/create', { token_name: `loop ${i}` })
    statuses.set(made.statusCode, (statuses.get(made.statusCode) ?? 0) + 1)
    if (made.statusCode !== 200) continue
    const id = String(made.json().token).split('|')[0]
    const { statusCode } = await svc.bearer(token, 'DELETE', `/api/tokens/${id}`)
    if (statusCode !== 200) t.fail(`the revocation answers ${statusCode}`)
  }
  t.strictSame(Object.fromEntries(statuses), { 200: 300, 429: 2 })
})
