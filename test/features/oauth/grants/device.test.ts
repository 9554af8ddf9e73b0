import t from 'tap'
import { buildTestApp, type TestApp } from '../../../support/app.ts'
import { hour, minute, second } from '../../../support/clock.ts'
import {
  codeFlow,
  hiddenFields,
  introspect,
  oauthSettings,
  Person,
  post,
  refresh,
  token,
  type WalkResult,
} from '../../../support/oauth.ts'
import { stopTime, travel } from '../../../support/time.ts'

const grant_type = 'urn:ietf:params:oauth:grant-type:device_code'

interface Begun {
  device_code: string
  user_code: string
  verification_uri_complete: string
}

const begin = async (svc: TestApp, more: Record<string, string> = {}): Promise<Begun> =>
  (await post(svc, '/oauth/device/code', 'tv', more)).json()

const poll = async (svc: TestApp, device_code: string, client = 'tv') => {
  const answer = await token(svc, client, { grant_type, device_code })
  return answer.statusCode === 200 ? answer.json() : { status: answer.statusCode, ...answer.json() }
}

const enter = async (who: Person, user_code: string): Promise<WalkResult> =>
  who.press(await who.go('/oauth/device'), { user_code })

t.test('shows a code on a device, and issues tokens once the user allows it', async (t) => {
  const svc = await buildTestApp(t, { settings: oauthSettings, clock: stopTime(t) })
  const user = await svc.createUser()
  const ada = new Person(svc, user.email)
  const answer = await svc.app.inject({
    method: 'POST',
    url: '/oauth/device/code',
    payload: { client_id: 'tv' },
    headers: { 'user-agent': 'Tellyvision 3 <script>' },
    remoteAddress: '203.0.113.9',
  })
  const begun = answer.json()
  t.match(begun, {
    device_code: /^.{30,}$/,
    user_code: /^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/,
    verification_uri: 'http://localhost:8000/oauth/device',
    verification_uri_complete: `http://localhost:8000/oauth/device?user_code=${begun.user_code}`,
    expires_in: 600,
    interval: 5,
  })
  t.match(await poll(svc, begun.device_code), { status: 400, error: 'authorization_pending' })

  const sloppy = ` ${begun.user_code.toLowerCase().replace('-', ' ')}. `
  const confirm = await enter(ada, sloppy)
  t.equal(confirm.page, 'Connect a device')
  for (const shown of ['Living Room', '203.0.113.9', 'Tellyvision 3 &lt;script&gt;', begun.user_code])
    t.match(confirm.answer.body, shown, 'the client and its address')
  const asked = await ada.press(confirm, { confirm: 'yes' })
  t.equal(asked.page, 'Sign in', 'no user is signed in yet')
  travel(svc, 5 * second)
  t.match(await poll(svc, begun.device_code), { error: 'authorization_pending' }, 'nothing is decided yet')
  const done = await ada.decide(asked)
  t.match(done.answer.body, 'Your device is connected')

  const tokens = await poll(svc, begun.device_code)
  t.match(
    tokens,
    { token_type: 'Bearer', scope: 'orders:read', refresh_token: /./ },
    'immediately: the decision ends the interval',
  )
  t.match((await svc.bearer(tokens.access_token, 'GET', '/api/user')).json(), { id: user.id })
  t.match(await poll(svc, begun.device_code), { status: 400, error: 'invalid_grant' }, 'once')
  t.match(
    (await svc.bearer(tokens.access_token, 'GET', '/api/user')).json(),
    { id: user.id },
    'an immediate repetition',
  )
  travel(svc, 10 * second)
  t.match(await poll(svc, begun.device_code), { status: 400, error: 'invalid_grant' })
  t.equal((await svc.bearer(tokens.access_token, 'GET', '/api/user')).statusCode, 401, 'a later use revokes the first')
})

t.test('keeps the tokens of a device after the browser session ends', async (t) => {
  const svc = await buildTestApp(t, { settings: oauthSettings, clock: stopTime(t) })
  const ada = new Person(svc, (await svc.createUser()).email)
  await ada.signIn()
  const begun = await begin(svc)
  await ada.decide(await ada.press(await enter(ada, begun.user_code), { confirm: 'yes' }))
  const tokens = await poll(svc, begun.device_code)
  t.match(tokens, { refresh_token: /./ })
  const own = await codeFlow(svc, ada, 'web', { scope: 'openid' })
  const xsrf = await ada.plain.browser.cookie('XSRF-TOKEN')
  const left = await ada.plain.browser.post('/logout', {}, { 'x-xsrf-token': xsrf })
  t.equal(left.statusCode, 200, 'signed out')
  t.match((await refresh(svc, 'web', own.refresh_token)).json(), { error: 'invalid_grant' }, 'session-bound tokens end')
  const next = await refresh(svc, 'tv', tokens.refresh_token)
  t.equal(next.statusCode, 200)
  t.match(await introspect(svc, 'tv', next.json().access_token), { active: true })
})

t.test('answers slow_down to polls within five seconds, on every replica', async (t) => {
  const clock = stopTime(t)
  const one = await buildTestApp(t, { settings: oauthSettings, clock })
  const two = await buildTestApp(t, { settings: oauthSettings, clock, database: one.where })
  const { device_code } = await begin(one)
  t.match(await poll(one, device_code), { error: 'authorization_pending' })
  t.match(await poll(two, device_code), { status: 400, error: 'slow_down' })
  travel(one, 4 * second)
  t.match(await poll(one, device_code), { error: 'slow_down' })
  travel(one, second)
  t.match(await poll(two, device_code), { error: 'authorization_pending' })
  travel(one, 5 * second)
  const together = await Promise.all(Array.from({ length: 8 }, (_, index) => poll(index % 2 ? one : two, device_code)))
  t.equal(together.filter(({ error }) => error === 'authorization_pending').length, 1)
  const another = await begin(one)
  t.match(await poll(one, another.device_code), { error: 'authorization_pending' }, 'each device has its own interval')
})

t.test('rejects denied, expired and foreign codes', async (t) => {
  const svc = await buildTestApp(t, { settings: oauthSettings, clock: stopTime(t) })
  const ada = new Person(svc, (await svc.createUser()).email)
  await ada.signIn()
  const denied = await begin(svc)
  const aborted = await ada.press(await enter(ada, denied.user_code), { abort: 'yes' })
  t.match(aborted.answer.body, 'No device was connected')
  t.match(await poll(svc, denied.device_code), { status: 400, error: 'access_denied' })
  t.match((await enter(ada, denied.user_code)).answer.body, 'invalid or already used')

  const refused = await begin(svc)
  const asked = await ada.press(await enter(ada, refused.user_code), { confirm: 'yes' })
  t.equal(asked.page, 'Authorize')
  t.match(asked.answer.body, 'the device that shows your code')
  await ada.decide(asked, 'deny')
  t.match(await poll(svc, refused.device_code), { error: 'access_denied' }, 'denied at consent')

  const late = await begin(svc)
  travel(svc, 10 * minute + second)
  t.match((await enter(ada, late.user_code)).answer.body, 'has expired')
  t.match(await poll(svc, late.device_code), { status: 400, error: 'expired_token' })

  const used = await begin(svc)
  t.match(await poll(svc, used.device_code, 'web'), { error: 'unauthorized_client' }, 'another client')
  t.match(await poll(svc, 'x'), { status: 400, error: 'invalid_grant' }, 'not a code of ours')
  t.match(await poll(svc, used.user_code), { error: 'invalid_grant' }, 'the short code')
  await ada.decide(await ada.press(await enter(ada, used.user_code), { confirm: 'yes' }))
  const eve = new Person(svc, (await svc.createUser()).email)
  t.match((await enter(eve, used.user_code)).answer.body, 'invalid or already used', 'already allowed')
  t.match((await post(svc, '/oauth/device/code', 'tv', { scope: 'stock:read' })).json(), { error: 'invalid_scope' })
  t.ok((await post(svc, '/oauth/device/code', 'web', {})).statusCode >= 400, 'a client without the grant')
})

t.test('fills in the code from a link, and requires a click', async (t) => {
  const svc = await buildTestApp(t, { settings: oauthSettings, clock: stopTime(t) })
  const ada = new Person(svc, (await svc.createUser()).email)
  await ada.signIn()
  const begun = await begin(svc)
  const { pathname, search } = new URL(begun.verification_uri_complete)
  const shown = await ada.go(pathname + search)
  t.match(shown.answer.body, `value="${begun.user_code}"`)
  t.match(shown.answer.body, 'Never enter a code that someone else gave you')
  t.notMatch(shown.answer.body, 'submit()', 'no script sends it')
  const evil = await ada.go(`/oauth/device?user_code=${encodeURIComponent('"><script>x</script>')}`)
  t.notMatch(evil.answer.body, '<script>x')
  const forged = await ada.plain.post('/oauth/device', { xsrf: 'x', user_code: begun.user_code, confirm: 'yes' })
  t.ok(forged.statusCode >= 400, 'a form of another site')
  t.match(await poll(svc, begun.device_code), { error: 'authorization_pending' })
})

t.test('limits guesses of user codes', async (t) => {
  const svc = await buildTestApp(t, { settings: oauthSettings, clock: stopTime(t) })
  const [ada, eve] = [new Person(svc, (await svc.createUser()).email), new Person(svc, (await svc.createUser()).email)]
  await ada.signIn()
  await eve.signIn()
  const begun = await begin(svc)
  const form = await eve.go('/oauth/device')
  const guess = (user_code: string) => eve.plain.post('/oauth/device', { ...hiddenFields(form.answer.body), user_code })
  const guesses = await Promise.all(Array.from({ length: 30 }, () => guess('BBBB-BBBB')))
  t.ok(guesses.filter(({ statusCode }) => statusCode === 400).length <= 20, 'twenty are answered')
  const answer = await enter(eve, begun.user_code)
  t.equal(answer.answer.statusCode, 429, 'then a valid one is rejected too')
  t.match(answer.answer.body, 'Too many invalid codes')
  for (let times = 0; times < 25; times++) {
    const right = await enter(ada, begun.user_code)
    t.match(
      right.answer.body,
      'Is this your device?',
      'another user is not affected, however many valid codes they enter',
    )
  }
  travel(svc, hour)
  const later = await begin(svc)
  t.match((await enter(eve, later.user_code)).answer.body, 'Is this your device?')
})
