// engine: none
import t from 'tap'
import { buildTestApp } from '../../support/app.ts'
import { hour } from '../../support/clock.ts'

t.test('keeps secrets out of logs and events, at the most verbose level', async (t) => {
  const svc = await buildTestApp(t)
  const user = await svc.createUser({ password: 'a-very-secret-password' })
  const secrets = new Set(['a-very-secret-password', 'a-wrong-password', 'Bearer '])
  const spa = svc.browser()
  const keep = async () => {
    for (const name of ['svc_session', 'XSRF-TOKEN', 'svc_remember', 'svc_browser']) {
      const value = await spa.cookie(name)
      for (const part of value?.split('.') ?? []) if (part.length > 20) secrets.add(part)
    }
  }
  await spa.signIn(user.email, 'a-wrong-password')
  await keep()
  await spa.signIn(user.email, 'a-very-secret-password', { remember: true })
  await keep()
  svc.clock.advance(3 * hour)
  await spa.get('/api/user')
  await keep()
  const made = (await spa.post('/api/tokens/create', { token_name: 'a' })).json().token
  const device = { email: user.email, password: 'a-very-secret-password', device_name: 'd' }
  const issued = (await svc.bearer(null, 'POST', '/svc/token', device)).json().token
  for (const token of [made, issued]) {
    secrets.add(token).add(token.split('|')[1])
    await svc.bearer(token, 'GET', '/api/user')
    await svc.bearer(`${token}x`, 'GET', '/api/user')
    const encoded = encodeURIComponent(token)
    await svc.app.inject(`/test-user?token=${encoded}`)
    await svc.app.inject(`/test-user?token=${encoded}x`)
    await svc.app.inject(`/api/user?token=${encoded}`)
    await svc.app.inject(`/nowhere/${encoded}?token=${encoded}`)
    await svc.app.inject({
      url: '/svc/csrf-cookie',
      headers: { cookie: `svc_session=${token}; svc_remember=${token}` },
    })
  }
  await spa.post('/login', { email: user.email, password: { secret: 'a-very-secret-password' } })
  await spa.post('/login', { email: user.email, password: 'a-wrong-password' }, { 'x-xsrf-token': made })
  await spa.post('/login', Buffer.from('{"password": "a-very-secret-password"'), { 'content-type': 'application/json' })
  await spa.post('/login', Buffer.from('a-very-secret-password'), { 'content-type': 'text/plain' })
  const opened = await spa.get('/test-login')
  const _token = /name="_token" value="([^"]*)"/.exec(opened.body)?.[1]
  await spa.post('/test-login', { _token, email: user.email, password: 'a-very-secret-password' })
  await spa.get('/test-tokens')
  await keep()
  await spa.post('/logout')
  await keep()
  for (const row of await svc.database.prisma.user.findMany()) secrets.add(row.password ?? '')
  for (const row of await svc.database.prisma.session.findMany()) secrets.add(row.id)
  for (const row of await svc.database.prisma.personalAccessToken.findMany()) secrets.add(row.token)
  await svc.app.touches.flush()
  await svc.database.prisma.$queryRaw`SELECT no_such_column FROM users`.catch(() => undefined)

  const events = (await svc.database.prisma.event.findMany()).map((row) => row.data)
  const written = [...svc.logs, ...events].join('\n')
  t.ok(svc.logs.length > 20)
  t.ok(secrets.size > 15)
  t.match(written, 'login_remembered')
  for (const secret of secrets) {
    for (const form of [secret, encodeURIComponent(secret), Buffer.from(secret).toString('base64')]) {
      t.notOk(written.includes(form), `${secret.slice(0, 12)}… is nowhere`)
    }
  }
  t.notMatch(written, /authorization|set-cookie|\$argon2|\?token=/i)
})

t.test('logs an unexpected error without its values, and hides it from the answer', async (t) => {
  const svc = await buildTestApp(t)
  const user = await svc.createUser()
  const spa = svc.browser()
  await spa.signIn(user.email)
  const cookie = await spa.cookie('svc_session')
  const broken = () => {
    throw new Error('boom')
  }
  svc.app.sessions.sendCookies = broken
  const answer = await spa.get('/api/user')
  t.equal(answer.statusCode, 500)
  t.strictSame(answer.json(), { message: 'Server Error', code: 'server_error' })
  const line = svc.logs.find((entry) => entry.includes('boom')) ?? ''
  t.ok(line)
  t.notOk(line.includes(cookie ?? ''))
})
