import t, { type Test } from 'tap'
import { buildTestApp, type TestApp } from '../support/app.ts'
import type { Browser } from '../support/browser.ts'
import { minute } from '../support/clock.ts'
import { setDisabled } from '../support/command.ts'
import { whileTableIsHeld } from '../support/hold.ts'
import { clients, codeFlow, oauthSettings, Person, refresh, secret } from '../support/oauth.ts'
import { credentials } from '../support/plain.ts'
import { stopTime, travel } from '../support/time.ts'

const password = 'correct horse'
const settings = {
  ...oauthSettings,
  clients: [...clients, { client_id: 'phone', type: 'confidential', secret, grants: ['password', 'refresh_token'] }],
  rate_limits: { login: null, login_address: null, mail: null, two_factor: null },
}

const conflicts = ({ logs }: TestApp) =>
  logs.filter((line) => line.includes('retrying database transaction after a conflict'))

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
  t.strictSame(conflicts(svc).slice(0, 2), [])
})

/** Two people with a session at the OAuth server, whose browser sessions have timed out. */
async function idlePeople(svc: TestApp): Promise<[Person, Person]> {
  const people: [Person, Person] = [
    new Person(svc, (await svc.createUser()).email),
    new Person(svc, (await svc.createUser()).email),
  ]
  for (const person of people) await codeFlow(svc, person, 'web', { scope: 'openid orders:read' })
  travel(svc, 121 * minute)
  return people
}

/** Checks that both requests succeeded without a deadlock, and that each ended the OAuth session of the other user. */
async function checkEnded(t: Test, svc: TestApp, statuses: readonly number[], expected: number): Promise<void> {
  t.strictSame(statuses, [expected, expected])
  t.strictSame(conflicts(svc), [])
  t.equal(await svc.database.prisma.oauthRecord.count({ where: { kind: 'Session' } }), 0)
}

t.test('never deadlocks when two users sign in, each in the browser of the other', async (t) => {
  const svc = await buildTestApp(t, { settings, clock: stopTime(t) })
  const [ada, bob] = await idlePeople(svc)
  const signIns = () =>
    Promise.all([
      ada.plain.send('/oauth/login', credentials(bob.email)),
      bob.plain.send('/oauth/login', credentials(ada.email)),
    ])
  const answers = await whileTableIsHeld(svc, 'sessions', signIns, 2)
  const statuses = answers.map(({ statusCode }) => statusCode)
  await checkEnded(t, svc, statuses, 303)
})

t.test(
  'never deadlocks when two remembered browsers resume, each with the OAuth session of the other user',
  async (t) => {
    const svc = await buildTestApp(t, { settings, clock: stopTime(t) })
    const [ada, bob] = await idlePeople(svc)
    const headersOf = async ({ email }: Person, other: Person) => {
      const browser = svc.browser()
      await browser.signIn(email, password, { remember: true })
      const session = await other.plain.browser.cookie('svc_oauth_session')
      const cookie = `svc_remember=${await browser.cookie('svc_remember')}; svc_oauth_session=${session}`
      return { cookie, origin: 'http://localhost:5173' }
    }
    const headers = [await headersOf(ada, bob), await headersOf(bob, ada)]
    const resume = () => Promise.all(headers.map((each) => svc.app.inject({ url: '/api/user', headers: each })))
    const answers = await whileTableIsHeld(svc, 'sessions', resume, 2)
    const statuses = answers.map(({ statusCode }) => statusCode)
    await checkEnded(t, svc, statuses, 200)
  },
)
