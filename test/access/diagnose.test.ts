// engine: none
import t from 'tap'
import { buildTestApp, type TestApp } from '../support/app.ts'

const said = ({ logs }: TestApp) =>
  logs
    .map((line): { level: number; msg: string } => JSON.parse(line))
    .filter(({ msg }) => msg.startsWith('authentication failed'))
    .map(({ msg }) => msg)

t.test('logs why authentication failed in development', async (t) => {
  const svc = await buildTestApp(t)
  const { email } = await svc.createUser()
  const spa = svc.browser()
  await spa.signIn(email)
  const foreign = { origin: 'http://localhost:5174', referer: 'http://localhost:5174/' }
  await spa.get('/api/user', foreign)
  await spa.get('/api/user', { origin: undefined, referer: 'https://app.example.com/reset-password/a-secret-path' })
  await spa.get('/api/user', { origin: undefined, referer: undefined })
  await svc.bearer('1|a-secret-that-is-wrong', 'GET', '/api/user')
  await svc.bearer(null, 'GET', '/api/user')
  await svc.browser().get('/api/user')
  await spa.post('/logout')
  await spa.get('/api/user')
  const reasons = said(svc)
  t.match(reasons, [
    /http:\/\/localhost:5174, which is not in the stateful list/,
    /came from https:\/\/app\.example\.com, which/,
    /without Origin and Referer/,
    /the token is unknown, revoked, expired or malformed/,
    /has neither a session cookie nor/,
    /sent no session cookie/,
    /anonymous, ended or expired/,
  ])
  t.equal(reasons.length, 7, 'and nothing for an authenticated request')
  t.notMatch(reasons.join(), 'a-secret')
})

t.test('can be switched off', async (t) => {
  const svc = await buildTestApp(t, { settings: { guard: { diagnose: false }, stateful_api: false } })
  t.equal((await svc.bearer(null, 'GET', '/api/user')).statusCode, 401)
  t.strictSame(said(svc), [])
})
