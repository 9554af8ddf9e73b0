import t from 'tap'
import { strongPassword, visitor } from '../../support/accounts.ts'
import { buildTestApp, type TestApp } from '../../support/app.ts'
import type { Browser } from '../../support/browser.ts'
import { hour } from '../../support/clock.ts'
import { codeFlow, oauthSettings, Person } from '../../support/oauth.ts'
import { stopTime } from '../../support/time.ts'

const current = 'correct horse'
const changed = (more: object = {}) => ({
  current_password: current,
  password: strongPassword,
  password_confirmation: strongPassword,
  ...more,
})

async function browserOf(svc: TestApp, email: string, more: object = {}): Promise<Browser> {
  const spa = svc.browser()
  const answer = await spa.signIn(email, current, more)
  if (answer.statusCode !== 200) throw new Error(answer.body)
  return spa
}

t.test(
  'keeps the browser signed in that changed the password, ends all others immediately, and keeps tokens',
  async (t) => {
    const svc = await buildTestApp(t)
    const user = await svc.createUser({ email: 'ada@example.com' })
    const neighbour = await svc.createUser()
    const token = await svc.createToken(user)
    const here = await browserOf(svc, user.email, { remember: true })
    const there = await browserOf(svc, user.email)
    const remembered = await browserOf(svc, user.email, { remember: true })
    const other = await browserOf(svc, neighbour.email, { remember: true })
    const asleep = await browserOf(svc, user.email, { remember: true })
    const cookie = await asleep.cookie('svc_remember')
    await here.post('/user/confirm-password', { password: current })
    const answer = await here.put('/user/password', changed())
    t.equal(answer.statusCode, 200, answer.body)
    t.equal(answer.body, '""')
    t.equal((await here.get('/api/user')).statusCode, 200)
    t.equal((await here.get('/user/confirmed-password-status')).json().confirmed, true)
    for (const spa of [there, remembered]) t.equal((await spa.get('/api/user')).statusCode, 401)
    t.equal((await here.get('/user/sessions')).json().length, 1)
    const headers = { cookie: `svc_remember=${cookie}`, origin: 'http://localhost:5173' }
    t.equal(
      (await svc.app.inject({ url: '/api/user', headers })).statusCode,
      401,
      'a remembered device does not come back',
    )
    t.equal((await other.get('/api/user')).statusCode, 200)
    t.equal((await svc.bearer(token, 'GET', '/api/user')).statusCode, 200)
    svc.clock.advance(3 * hour)
    t.equal((await here.get('/api/user')).statusCode, 200, 'its own remembered device keeps working')
    t.equal((await svc.browser().signIn(user.email, current)).statusCode, 401)
    t.equal((await svc.browser().signIn(user.email, strongPassword)).statusCode, 200)
    const [notice] = await svc.mailbox.to(user.email)
    t.equal(notice?.subject, 'Your password was changed')
    t.notMatch(notice?.raw, strongPassword)
    t.notOk(svc.logs.some((line) => line.includes(strongPassword) || line.includes(current)))
    t.equal(await svc.database.prisma.event.count({ where: { type: 'password_changed' } }), 1)
  },
)

t.test('issues a new session id and remember-me cookie after a change, and rejects the old ones', async (t) => {
  const svc = await buildTestApp(t)
  const user = await svc.createUser()
  const here = await browserOf(svc, user.email, { remember: true })
  const names = ['svc_session', 'svc_remember', 'XSRF-TOKEN']
  const old = await Promise.all(names.map((name) => here.cookie(name)))
  const publicId = (await here.get('/user/sessions')).json()[0].id
  const changes = await here.put('/user/password', changed())
  t.equal(changes.statusCode, 200, changes.body)
  const fresh = await Promise.all(names.map((name) => here.cookie(name)))
  for (const [i, name] of names.entries()) {
    t.ok(fresh[i])
    t.not(fresh[i], old[i], `${name} changes`)
  }
  const headers = { origin: 'http://localhost:5173' }
  for (const cookie of [`svc_session=${old[0]}`, `svc_remember=${old[1]}`]) {
    const answer = await svc.app.inject({ url: '/api/user', headers: { ...headers, cookie } })
    t.equal(answer.statusCode, 401, cookie.slice(0, 12))
  }
  t.equal((await here.get('/user/sessions')).json()[0].id, publicId, 'the session keeps its public id')
  t.equal((await here.post('/user/confirm-password', { password: strongPassword })).statusCode, 201)
  svc.clock.advance(3 * hour)
  t.equal((await here.get('/api/user')).statusCode, 200, 'the new remember-me cookie works')
})

t.test('keeps the device when a request with the old cookies arrives during the change', async (t) => {
  const svc = await buildTestApp(t)
  const user = await svc.createUser()
  const here = await browserOf(svc, user.email, { remember: true })
  const cookie = await here.jar.getCookieString('http://localhost:8000/')
  await here.put('/user/password', changed())
  const late = await svc.app.inject({ url: '/api/user', headers: { origin: 'http://localhost:5173', cookie } })
  t.equal(late.statusCode, 401)
  t.equal((await here.get('/api/user')).statusCode, 200)
  svc.clock.advance(3 * hour)
  t.equal((await here.get('/api/user')).statusCode, 200)
})

t.test('also revokes API tokens, personal tokens and grants with revoke_tokens', async (t) => {
  const svc = await buildTestApp(t, { settings: oauthSettings, clock: stopTime(t) })
  const user = await svc.createUser()
  const here = await browserOf(svc, user.email)
  const issue = async () => ({
    'API token': await svc.createToken(user),
    'personal token': (await here.post('/oauth/personal-access-tokens', { name: 'mine' })).json().accessToken,
    grant: (await codeFlow(svc, new Person(svc, user.email), 'web')).access_token,
  })
  const check = async (bearers: Record<string, string>, status: number) => {
    for (const [name, bearer] of Object.entries(bearers)) {
      t.equal((await svc.bearer(bearer, 'GET', '/api/user')).statusCode, status, name)
    }
  }
  const bearers = await issue()
  await check(bearers, 200)
  const wrong = await here.put('/user/password', changed({ current_password: 'x', revoke_tokens: true }))
  t.equal(wrong.statusCode, 422)
  await check(bearers, 200)
  const answer = await here.put('/user/password', changed({ revoke_tokens: true }))
  t.equal(answer.statusCode, 200, answer.body)
  await check(bearers, 401)
  t.equal((await here.get('/api/user')).statusCode, 200)
  const again = { current_password: strongPassword, password: current, password_confirmation: current }
  const next = { API: await svc.createToken(user) }
  t.equal((await here.put('/user/password', { ...again, revoke_tokens: false })).statusCode, 200)
  await check(next, 200)
})

t.test('reports a wrong or missing password at its field, without a change', async (t) => {
  const svc = await buildTestApp(t)
  const user = await svc.createUser()
  const [spa, other] = [await browserOf(svc, user.email), await browserOf(svc, user.email)]
  const required = { current_password: ['The current password field is required.'] }
  const wrong = { current_password: ['The provided password does not match your current password.'] }
  const cases: [object, object][] = [
    [{ current_password: undefined }, required],
    [{ current_password: '' }, required],
    [{ current_password: null }, required],
    [{ current_password: [current] }, { current_password: ['The current password field must be a string.'] }],
    [{ current_password: `${current} ` }, wrong],
    [{ current_password: 'x' }, wrong],
    [{ password_confirmation: 'x' }, { password: ['The password field confirmation does not match.'] }],
    [
      { password: 'vqzx7', password_confirmation: 'vqzx7' },
      { password: ['The password field must be at least 8 characters.'] },
    ],
    [
      { password: 'password1', password_confirmation: 'password1' },
      { password: ['The given password has appeared in a data leak. Please choose a different password.'] },
    ],
  ]
  for (const [change, errors] of cases) {
    const answer = await spa.put('/user/password', changed(change))
    t.equal(answer.statusCode, 422, answer.body)
    t.strictSame(answer.json().errors, errors, JSON.stringify(change))
  }
  t.equal((await other.get('/api/user')).statusCode, 200)
  t.equal((await svc.browser().signIn(user.email)).statusCode, 200)
  t.equal((await svc.mailbox.all()).length, 0)
})

t.test('counts guesses of the current password with those at all other entry points', async (t) => {
  const svc = await buildTestApp(t)
  const user = await svc.createUser()
  const spa = await browserOf(svc, user.email)
  await spa.put('/user/password', changed({ current_password: 'a' }))
  await spa.put('/user/password', changed({ current_password: 'b' }))
  await spa.post('/user/confirm-password', { password: 'c' })
  await spa.delete('/user/other-sessions', { password: 'd' })
  t.equal((await svc.browser().signIn(user.email, 'e')).statusCode, 401)
  for (const answer of [
    await spa.put('/user/password', changed()),
    await spa.post('/user/confirm-password', { password: current }),
    await spa.delete('/user/other-sessions', { password: current }),
  ]) {
    t.equal(answer.statusCode, 429)
    t.match(answer.json(), { code: 'too_many_requests', errors: { email: [/^Too many login attempts/] } })
    t.equal(answer.headers['retry-after'], '60')
  }
})

t.test("accepts one of two concurrent changes, and ends the other's session", async (t) => {
  const svc = await buildTestApp(t)
  for (let round = 0; round < 3; round++) {
    const user = await svc.createUser()
    const owner = await browserOf(svc, user.email)
    const thief = await browserOf(svc, user.email)
    const words = ['one engine on the hill', 'two engines on the hill']
    const answers = await Promise.all(
      [owner, thief].map((spa, i) =>
        spa.put('/user/password', changed({ password: words[i], password_confirmation: words[i] })),
      ),
    )
    const statuses = answers.map(({ statusCode }) => statusCode)
    t.strictSame([...statuses].sort(), [200, 401], JSON.stringify(statuses))
    const winner = statuses.indexOf(200)
    t.equal((await [owner, thief][winner]?.get('/api/user'))?.statusCode, 200)
    t.equal((await [owner, thief][1 - winner]?.get('/api/user'))?.statusCode, 401)
    t.equal((await svc.browser().signIn(user.email, words[winner])).statusCode, 200)
    t.equal((await svc.browser().signIn(user.email, words[1 - winner])).statusCode, 401)
    t.equal((await svc.mailbox.to(user.email)).length, 1)
  }
})

t.test('invalidates a mailed reset link', async (t) => {
  const svc = await buildTestApp(t)
  const { email } = await svc.createUser()
  const guest = await visitor(svc)
  await guest.post('/forgot-password', { email })
  const token = await svc.mailbox.find(email, /reset-password\/([0-9a-f]{64})/)
  t.ok(token)
  const spa = await browserOf(svc, email)
  t.equal((await spa.put('/user/password', changed())).statusCode, 200)
  const form = { email, token, password: 'another long passphrase', password_confirmation: 'another long passphrase' }
  t.equal((await guest.post('/reset-password', form)).statusCode, 422)
  t.equal((await svc.browser().signIn(email, strongPassword)).statusCode, 200)
})
