import t from 'tap'
import { buildTestApp, type TestApp } from '../support/app.ts'
import type { Browser } from '../support/browser.ts'
import { setDisabled } from '../support/command.ts'
import { clients, codeFlow, oauthSettings, Person, refresh, secret } from '../support/oauth.ts'
import { stopTime } from '../support/time.ts'

const password = 'correct horse'
const settings = {
  ...oauthSettings,
  clients: [...clients, { client_id: 'phone', type: 'confidential', secret, grants: ['password', 'refresh_token'] }],
  rate_limits: { login: null, login_address: null, mail: null, two_factor: null },
}

/** A round of 30 requests on one account: sign-ins and everything that ends them. */
async function round(svc: TestApp, email: string): Promise<number[]> {
  const user = (await svc.database.prisma.user.findUniqueOrThrow({ where: { email } })).id
  const remembered: Browser[] = []
  for (let i = 0; i < 4; i++) {
    const browser = svc.browser()
    await browser.signIn(email, password, { remember: true })
    await browser.post('/user/confirm-password', { password })
    remembered.push(browser)
  }
  const [a, b, c, d] = remembered as [Browser, Browser, Browser, Browser]
  const sessions: { id: string; current: boolean }[] = (await a.get('/user/sessions')).json()
  const web = await codeFlow(svc, new Person(svc, email), 'web', { scope: 'openid orders:read offline_access' })
  const connected = (await a.get('/oauth/tokens')).json()
  const grant = () =>
    svc.app.inject({
      method: 'POST',
      url: '/oauth/token',
      payload: { grant_type: 'password', username: email, password, client_id: 'phone', client_secret: secret },
    })
  // The cookie alone: the session is looked up again, and two requests may resume one device.
  const cookie = `svc_remember=${await d.cookie('svc_remember')}`
  const resume = () => svc.app.inject({ url: '/api/user', headers: { cookie, origin: 'http://localhost:5173' } })
  const change = { current_password: password, password, password_confirmation: password }
  const requests: (() => Promise<{ statusCode: number }>)[] = [
    ...Array.from({ length: 6 }, () => () => svc.browser().signIn(email, password, { remember: true })),
    ...Array.from({ length: 3 }, () => grant),
    ...Array.from({ length: 4 }, () => resume),
    ...Array.from({ length: 2 }, () => () => refresh(svc, 'web', web.refresh_token)),
    ...sessions
      .filter(({ current }) => !current)
      .map(
        ({ id }) =>
          () =>
            b.delete(`/user/sessions/${id}`),
      ),
    ...connected.map(
      ({ id }: { id: string }) =>
        () =>
          c.delete(`/oauth/tokens/${id}`),
    ),
    () => a.delete('/user/other-sessions', { password }),
    () => b.delete('/user/other-sessions', { password }),
    () => a.put('/user/password', { ...change, revoke_tokens: true }),
    () => c.put('/user/profile-information', { name: 'Ada', email }),
    () => c.post('/logout'),
    () => d.post('/logout'),
    () => a.post('/api/tokens/create', { token_name: 'x' }),
    () => b.post('/user/two-factor-authentication'),
    () => setDisabled(svc, email, true).then(() => ({ statusCode: 200 })),
    () => setDisabled(svc, email, false).then(() => ({ statusCode: 200 })),
  ]
  const answers = await Promise.all(requests.map((send) => send()))
  await setDisabled(svc, email, true)
  const where = { userId: user }
  t.equal(await svc.database.prisma.session.count({ where }), 0, 'no session survives the disabling')
  t.equal(await svc.database.prisma.rememberToken.count({ where }), 0)
  await setDisabled(svc, email, false)
  await svc.database.prisma.user.update({ where: { email }, data: { twoFactorSecret: null } })
  return answers.map(({ statusCode }) => statusCode)
}

t.test('never deadlocks when requests change one account concurrently', async (t) => {
  const svc = await buildTestApp(t, { settings, clock: stopTime(t) })
  const { email } = await svc.createUser()
  const statuses: number[] = []
  for (let i = 0; i < 4; i++) {
    const hash = await svc.database.prisma.user.findUniqueOrThrow({ where: { email }, select: { password: true } })
    statuses.push(...(await round(svc, email)))
    await svc.database.prisma.user.update({ where: { email }, data: hash })
  }
  t.ok(statuses.length >= 100, `${statuses.length} requests`)
  t.ok(statuses.filter((status) => status < 300).length >= 20, 'enough of them succeed to conflict')
  t.strictSame(
    statuses.filter((status) => status >= 500),
    [],
  )
  const repeated = svc.logs.filter((line) => line.includes('is repeated after a conflict'))
  t.strictSame(repeated.slice(0, 2), [], `${repeated.length} transactions were repeated`)
})
