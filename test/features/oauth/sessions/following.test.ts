// engine: none
import { decodeJwt } from 'jose'
import t from 'tap'
import type { TestApp } from '../../../support/app.ts'
import { day, hour, minute, second } from '../../../support/clock.ts'
import { codeFlow, Person, redeem, refresh, request, response } from '../../../support/oauth.ts'
import { credentials } from '../../../support/plain.ts'
import { travel } from '../../../support/time.ts'
import { enableTwoFactor } from '../../../support/totp.ts'
import { buildWithParty, kinds, offline, sessionBoundTokens } from './party.ts'

const silent = (more = {}) => request('web', { prompt: 'none', scope: 'openid orders:read', ...more })

/** The user of a silent request, or the error. */
async function silently(svc: TestApp, person: Person, more = {}): Promise<string | undefined> {
  const { code, error } = response(await person.authorize(silent(more)))
  return code === undefined ? error : String(decodeJwt((await redeem(svc, 'web', code)).json().id_token).sub)
}

const signOut = ({ plain }: Person) => plain.browser.post('/logout', undefined, { 'sec-fetch-site': 'same-origin' })

t.test("does not grant the next user of a browser the previous user's access", async (t) => {
  const { svc, party } = await buildWithParty(t)
  const [a, b] = [await svc.createUser(), await svc.createUser()]
  const [ada, bob] = [String(a.id), String(b.id)]
  const person = new Person(svc, a.email)
  const { plain } = person
  await sessionBoundTokens(svc, new Person(svc, b.email))

  const first = await sessionBoundTokens(svc, person)
  t.equal(await silently(svc, person), ada)
  await signOut(person)
  t.equal(await silently(svc, person), 'login_required')
  await plain.send('/oauth/login', credentials(b.email))
  t.equal(await silently(svc, person), bob, 'after a sign-out')

  await plain.send('/oauth/login?prompt=login', credentials(a.email))
  t.equal(await silently(svc, person), ada, 'by signing in over another user')
  const again = await sessionBoundTokens(svc, person)
  t.not(again.sid, first.sid)
  await plain.send('/oauth/login?prompt=login', credentials(b.email))
  t.equal((await refresh(svc, 'web', again.refresh_token)).statusCode, 400, 'whose session ended with it')
  t.equal(await silently(svc, person), bob)

  await svc.app.outbox.deliverDue()
  travel(svc, 121 * minute)
  t.equal(await silently(svc, person), 'login_required')
  await plain.send('/oauth/login', credentials(a.email))
  t.equal(await silently(svc, person), ada, 'after an idle session')
  await svc.app.outbox.deliverDue()
  t.same(
    (await party.tokens(svc)).map(({ sub }) => sub).sort(),
    [ada, ada, bob, bob],
    'clients are notified of each ended session',
  )
})

t.test('signs in another user during an interaction of the first', async (t) => {
  const { svc } = await buildWithParty(t)
  const [a, b] = [await svc.createUser(), await svc.createUser()]
  const person = new Person(svc, a.email)
  await sessionBoundTokens(svc, person)

  const consent = await person.authorize(request('web', { scope: 'openid orders:write' }))
  t.equal(consent.page, 'Authorize')
  await person.plain.send('/oauth/login?prompt=login', credentials(b.email))
  const asked = await person.go(consent.path)
  t.equal(asked.page, 'Authorize')
  t.match(asked.answer.body, b.email)
  const { code = '' } = response(await person.press(asked, { decision: 'approve' }))
  t.equal(decodeJwt((await redeem(svc, 'web', code)).json().id_token).sub, String(b.id), 'at consent')

  travel(svc, second)
  const login = await person.authorize(request('web', { scope: 'openid orders:write', prompt: 'login' }))
  t.equal(login.page, 'Sign in')
  const other = await person.decide(await person.press(login, credentials(a.email)))
  const token = (await redeem(svc, 'web', response(other).code ?? '')).json().id_token
  t.equal(decodeJwt(token).sub, String(a.id), 'at the sign-in that a client asked for')
})

t.test('rejects a form that was opened before its user signed out', async (t) => {
  const { svc } = await buildWithParty(t)
  const { email } = await svc.createUser()
  const person = new Person(svc, email)
  const consent = await person.decide(await person.authorize(request('web', { scope: 'openid' })), 'look')
  const open = consent.page === 'Authorize' ? consent : await person.authorize(request('web', { scope: 'openid' }))
  t.equal(open.page, 'Authorize')
  await signOut(person)
  const stop = await person.press(open, { decision: 'approve' })
  t.equal(stop.out, null)
  t.equal(await svc.database.prisma.oauthConsent.count(), 0)
  const after = await person.go(open.path)
  t.equal(after.page, 'Sign in', 'and asks the current user')
  t.match(response(await person.decide(after)), { code: /./ })
})

t.test('keeps the OAuth session when the same user signs in again', async (t) => {
  const { svc, party } = await buildWithParty(t)
  const { email, id } = await svc.createUser()
  const person = new Person(svc, email)
  const mine = await sessionBoundTokens(svc, person)
  await person.plain.send('/oauth/login?prompt=login', credentials(email))
  t.equal((await refresh(svc, 'web', mine.refresh_token)).statusCode, 200)
  t.equal((await sessionBoundTokens(svc, person)).sid, mine.sid)
  travel(svc, 121 * minute)
  await person.signIn()
  t.equal(await silently(svc, person), String(id))
  t.equal((await sessionBoundTokens(svc, person)).sid, mine.sid)
  await svc.app.outbox.deliverDue()
  t.same(party.received, [], 'no client is notified')
  await signOut(person)
  t.match(await kinds(svc), { Session: undefined }, 'and one sign-out ends it')
})

t.test("keeps the OAuth session when svc's session expires by inactivity", async (t) => {
  const { svc, party } = await buildWithParty(t)
  const { email } = await svc.createUser()
  const person = new Person(svc, email)
  let { refresh_token } = await sessionBoundTokens(svc, person)
  travel(svc, 121 * minute)
  t.equal(await silently(svc, person), 'login_required')
  t.equal((await person.authorize(request('web', { scope: 'openid' }))).page, 'Sign in')
  for (let days = 0; days < 50; days += 10) {
    const answer = await refresh(svc, 'web', refresh_token)
    t.equal(answer.statusCode, 200, `day ${days}`)
    refresh_token = answer.json().refresh_token
    await svc.app.oauth.prune()
    travel(svc, 10 * day)
  }
  await svc.app.outbox.deliverDue()
  t.same(party.received, [])
  travel(svc, 21 * day)
  t.equal((await refresh(svc, 'web', refresh_token)).statusCode, 400, 'until its own lifetime ends')
})

t.test('reports when and how the user signed in', async (t) => {
  const { svc } = await buildWithParty(t)
  const { email } = await svc.createUser()
  const person = new Person(svc, email)
  const seconds = () => Math.floor(svc.clock.now() / 1000)
  const began = seconds()
  await person.plain.send('/oauth/login', { ...credentials(email), remember: '1' })
  const claims = async (more = {}) =>
    decodeJwt((await codeFlow(svc, person, 'web', { scope: 'openid', max_age: '1000000', ...more })).id_token ?? '')
  t.match(await claims(), { auth_time: began, amr: ['pwd'] })
  travel(svc, 10 * minute)
  t.match(await claims(), { auth_time: began })
  t.equal(await silently(svc, person, { max_age: '601' }), await silently(svc, person))
  t.equal(await silently(svc, person, { max_age: '599' }), 'login_required')

  const stop = await person.authorize(request('web', { scope: 'openid', prompt: 'login' }))
  t.equal(stop.page, 'Sign in', 'a client may require a new sign-in')
  travel(svc, 30 * second)
  const { code = '' } = response(
    await person.decide(await person.press(stop, { ...credentials(email), remember: '1' })),
  )
  const anew = decodeJwt((await redeem(svc, 'web', code)).json().id_token)
  t.match(anew, { auth_time: seconds(), amr: ['pwd'] })

  const proved = seconds()
  travel(svc, 3 * hour)
  await person.plain.browser.get('/api/user')
  const remembered = await claims()
  t.match(remembered, { auth_time: proved }, 'remembering a browser is not a new sign-in')
  t.equal(await silently(svc, person, { max_age: '3600' }), 'login_required')
  await signOut(person)
  t.match(await kinds(svc), { Session: undefined }, 'a remembered session is followed too')

  const careful = await enableTwoFactor(svc)
  travel(svc, 0)
  const other = new Person(svc, careful.email)
  await other.signIn()
  await other.plain.send('/oauth/login', { code: careful.code() })
  const twice = await codeFlow(svc, other, 'web', { scope: 'openid' })
  t.same(decodeJwt(twice.id_token ?? '').amr, ['pwd', 'otp', 'mfa'])
})

t.test('rejects a hint that names another user', async (t) => {
  const { svc } = await buildWithParty(t)
  const [a, b] = [await svc.createUser(), await svc.createUser()]
  const [ada, bob] = [new Person(svc, a.email), new Person(svc, b.email)]
  const hint = (await sessionBoundTokens(svc, ada)).id_token ?? ''
  await sessionBoundTokens(svc, bob)
  t.equal(await silently(svc, bob, { id_token_hint: hint }), 'login_required')
  t.equal(await silently(svc, ada, { id_token_hint: hint }), String(a.id))
})

t.test('keeps offline access after the session ends, and during the next one', async (t) => {
  const { svc } = await buildWithParty(t)
  const { email } = await svc.createUser()
  const person = new Person(svc, email)
  const lasting = await offline(svc, person)
  await signOut(person)
  await sessionBoundTokens(svc, person)
  await signOut(person)
  const answer = await refresh(svc, 'own', lasting.refresh_token)
  t.equal(answer.statusCode, 200)
  t.equal((await svc.bearer(answer.json().access_token, 'GET', '/api/user')).statusCode, 200)
})

t.test('replaces the session and form secrets of a browser when a user signs in', async (t) => {
  const { svc } = await buildWithParty(t)
  const [a, b] = [await svc.createUser(), await svc.createUser()]
  const person = new Person(svc, a.email)
  const { browser } = person.plain
  await person.go('/oauth/device')
  const before = await browser.cookie('svc_oauth_session')
  t.ok(before, 'an anonymous session')
  await person.signIn()
  t.ok(response(await person.authorize(request('own'))).code, 'a client without consent')
  const mine = await browser.cookie('svc_oauth_session')
  t.not(mine, before)

  const stranger = new Person(svc, b.email)
  await stranger.signIn()
  for (const { key, value } of await browser.jar.getCookies('http://localhost:8000/oauth/authorize')) {
    if (key.startsWith('svc_oauth_session'))
      await stranger.plain.browser.jar.setCookie(`${key}=${value}; Path=/`, 'http://localhost:8000/')
  }
  t.equal(await stranger.plain.browser.cookie('svc_oauth_session'), mine)
  await stranger.allow(request('web', { scope: 'openid orders:read' }))
  t.equal(await silently(svc, stranger), String(b.id), "with another user's OAuth session")
  t.not(await stranger.plain.browser.cookie('svc_oauth_session'), mine)
})
