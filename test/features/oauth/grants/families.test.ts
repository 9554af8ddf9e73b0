import { decodeJwt } from 'jose'
import t from 'tap'
import { buildTestApp, type TestApp } from '../../../support/app.ts'
import {
  codeFlow,
  introspect,
  oauthSettings,
  Person,
  redeem,
  refresh,
  request,
  response,
  revoke,
  type Tokens,
} from '../../../support/oauth.ts'
import { credentials } from '../../../support/plain.ts'
import { stopTime } from '../../../support/time.ts'
import { buildWithParty } from '../sessions/party.ts'

const scope = 'openid orders:read'

const build = (t: Parameters<typeof buildTestApp>[0]) =>
  buildTestApp(t, { settings: oauthSettings, clock: stopTime(t) })

/** Whether the guard and the client's introspection accept the access token, and introspection the refresh token. */
async function alive(svc: TestApp, { access_token, refresh_token }: Tokens) {
  const access = (await svc.bearer(access_token, 'GET', '/api/user')).statusCode === 200
  t.equal((await introspect(svc, 'web', access_token)).active, access, 'introspection agrees with the guard')
  return { access, refresh: (await introspect(svc, 'web', refresh_token)).active }
}

const both = { access: true, refresh: true }

t.test('revokes only the given access token', async (t) => {
  const svc = await build(t)
  const person = new Person(svc, (await svc.createUser()).email)
  const [one, two] = [await codeFlow(svc, person, 'web', { scope }), await codeFlow(svc, person, 'web', { scope })]
  t.equal((await revoke(svc, 'web', one.access_token)).statusCode, 200)
  t.same(await alive(svc, one), { access: false, refresh: true }, 'its refresh token still works')
  t.same(await alive(svc, two), both, 'the other login')
  t.equal((await refresh(svc, 'web', one.refresh_token)).statusCode, 200)
})

t.test('revokes the family of a refresh token', async (t) => {
  const svc = await build(t)
  const person = new Person(svc, (await svc.createUser()).email)
  const [one, two] = [await codeFlow(svc, person, 'web', { scope }), await codeFlow(svc, person, 'web', { scope })]
  const next: Tokens = (await refresh(svc, 'web', one.refresh_token)).json()
  t.equal((await revoke(svc, 'web', next.refresh_token)).statusCode, 200)
  t.same(await alive(svc, one), { access: false, refresh: false })
  t.same(await alive(svc, next), { access: false, refresh: false })
  t.same(await alive(svc, two), both, 'the other login')
  t.equal((await refresh(svc, 'web', two.refresh_token)).statusCode, 200)
})

t.test('revokes the family of a reused refresh token or code', async (t) => {
  const svc = await build(t)
  const person = new Person(svc, (await svc.createUser()).email)
  const kept = await codeFlow(svc, person, 'web', { scope })
  const one = await codeFlow(svc, person, 'web', { scope })
  const next: Tokens = (await refresh(svc, 'web', one.refresh_token)).json()
  svc.clock.advance(svc.config.current().oauth.refresh_grace + 1000)
  t.equal((await refresh(svc, 'web', one.refresh_token)).statusCode, 400)
  t.same(await alive(svc, next), { access: false, refresh: false })

  const { code = '' } = response(await person.authorize(request('web', { scope })))
  const redeemed: Tokens = (await redeem(svc, 'web', code)).json()
  t.equal((await redeem(svc, 'web', code)).statusCode, 400)
  t.same(await alive(svc, redeemed), { access: false, refresh: false })
  t.same(await alive(svc, kept), both)
})

t.test('revokes every family of an ended session, except offline access', async (t) => {
  const svc = await build(t)
  const { email } = await svc.createUser()
  const [person, elsewhere] = [new Person(svc, email), new Person(svc, email)]
  const families = [await codeFlow(svc, person, 'web', { scope }), await codeFlow(svc, person, 'web', { scope })]
  const offline = await codeFlow(svc, person, 'web', { scope: `${scope} offline_access`, prompt: 'consent' })
  families.push(await codeFlow(svc, person, 'web', { scope }))
  const other = await codeFlow(svc, elsewhere, 'web', { scope })
  await person.plain.browser.post('/logout', undefined, { 'sec-fetch-site': 'same-origin' })
  for (const family of families) t.same(await alive(svc, family), { access: false, refresh: false })
  t.same(await alive(svc, offline), both)
  t.same(await alive(svc, other), both, 'another browser')
  t.equal(await svc.database.prisma.oauthRecord.count({ where: { kind: 'Grant' } }), 2, 'deletes the other grants')
})

t.test('revokes every family of a client that is signed out separately', async (t) => {
  const svc = await build(t)
  const person = new Person(svc, (await svc.createUser()).email)
  const families = [await codeFlow(svc, person, 'web', { scope }), await codeFlow(svc, person, 'web', { scope })]
  const own = await codeFlow(svc, person, 'own', { scope })
  const question = await person.go('/oauth/logout?client_id=web')
  await person.press(question, { xsrf: /name="xsrf" value="([^"]+)"/.exec(question.answer.body)?.[1] ?? '' })
  for (const family of families) t.same(await alive(svc, family), { access: false, refresh: false })
  t.equal((await svc.bearer(own.access_token, 'GET', '/api/user')).statusCode, 200, 'the other client')
})

t.test('shows two logins of a client in one session as one application', async (t) => {
  const svc = await build(t)
  const { email } = await svc.createUser()
  const person = new Person(svc, email)
  const families = [
    await codeFlow(svc, person, 'web', { scope: 'openid' }),
    await codeFlow(svc, person, 'web', { scope }),
  ]
  const browser = svc.browser()
  await browser.signIn(email)
  const listed = (await browser.get('/oauth/tokens')).json()
  t.match(listed, [{ client: { id: 'web' }, scopes: ['openid', 'orders:read'] }])
  t.equal(listed.length, 1)
  t.equal((await browser.delete(`/oauth/tokens/${listed[0].id}`)).statusCode, 204)
  for (const family of families) t.same(await alive(svc, family), { access: false, refresh: false })
})

t.test('completes concurrent authorizations of one browser', async (t) => {
  const { svc, party } = await buildWithParty(t, { first_party: true })
  const names = ['web', 'own', 'web', 'own']
  for (const hasSession of [false, true, false, true, true, true]) {
    const { email } = await svc.createUser()
    const person = new Person(svc, email)
    await person.signIn()
    if (hasSession) await person.go('/oauth/device')
    const sids = new Set<unknown>()
    for (const knowsClients of [false, true]) {
      const stops = await Promise.all(names.map((name) => person.authorize(request(name, { scope }))))
      const codes = stops.map((stop) => response(stop).code ?? '')
      const answers = await Promise.all(codes.map((code, index) => redeem(svc, names[index] ?? '', code)))
      for (const [index, answer] of answers.entries()) {
        t.equal(answer.statusCode, 200, answer.body)
        const tokens: Tokens = answer.json()
        t.equal((await refresh(svc, names[index] ?? '', tokens.refresh_token)).statusCode, 200)
        if (names[index] === 'web') sids.add(decodeJwt(tokens.id_token ?? '').sid)
      }
      if (hasSession && !knowsClients) t.equal(sids.size, 1, 'the first logins of a client share one session')
    }
    party.received.length = 0
    await person.plain.browser.post('/logout', undefined, { 'sec-fetch-site': 'same-origin' })
    await svc.app.outbox.deliverDue()
    t.same((await party.sids(svc)).sort(), [...sids].sort(), 'the client is notified of each session that it knows')
    t.equal(await svc.database.prisma.oauthRecord.count({ where: { kind: 'Grant' } }), 0)
  }
})

t.test('resumes all authorizations that wait for one sign-in', async (t) => {
  const svc = await build(t)
  for (let round = 0; round < 5; round++) {
    const person = new Person(svc, (await svc.createUser()).email)
    // An existing session, so that both use the same one.
    await person.go('/oauth/device')
    const names = ['own', 'own', 'own']
    const asked = await Promise.all(
      names.map(async (name) => {
        const answer = await person.plain.open(`/oauth/authorize?${new URLSearchParams(request(name, { scope }))}`)
        return String(answer.headers.location)
      }),
    )
    await person.signIn()
    const stops = await Promise.all(asked.map((path) => person.go(new URL(path, 'http://localhost:8000').pathname)))
    for (const stop of stops) {
      const { code = '' } = response(stop)
      t.equal((await redeem(svc, 'own', code)).statusCode, 200, stop.answer.body.slice(0, 200))
    }
  }
})

t.test('accepts offline_access in a refresh although it was not granted', async (t) => {
  const svc = await build(t)
  const person = new Person(svc, (await svc.createUser()).email)
  const asked = `${scope} offline_access`
  const tokens = await codeFlow(svc, person, 'web', { scope: asked })
  t.equal(tokens.scope, scope, 'consent was not asked, so offline access was not granted')
  const answer = await refresh(svc, 'web', tokens.refresh_token, { scope: asked })
  t.equal(answer.statusCode, 200, answer.body)
  t.equal(answer.json().scope, scope)
  const alone = await refresh(svc, 'web', answer.json().refresh_token, { scope: 'offline_access' })
  t.equal(alone.json().scope, scope, 'no other scope remains')
  const more = await refresh(svc, 'web', alone.json().refresh_token, { scope: `${asked} orders:write` })
  t.match([more.statusCode, more.json().error], [400, 'invalid_scope'], 'more than was granted')

  const offline = await codeFlow(svc, person, 'web', { scope: asked, prompt: 'consent' })
  t.equal(offline.scope, asked)
  t.equal((await refresh(svc, 'web', offline.refresh_token, { scope: asked })).json().scope, asked)
})

for (const [name, more] of Object.entries({ 'prompt=login': { prompt: 'login' }, 'max_age=0': { max_age: '0' } })) {
  t.test(`${name} asks again within a second of a sign-in`, async (t) => {
    const svc = await build(t)
    const { email } = await svc.createUser()
    const person = new Person(svc, email)
    await person.signIn()
    for (const _ of ['once', 'again']) {
      const stop = await person.authorize(request('own', { scope: 'openid', ...more }))
      t.equal(stop.page, 'Sign in')
      const back = await person.go(stop.path)
      t.equal(back.page, 'Sign in', 'opening it again does not sign in')
      const done = await person.press(stop, credentials(email))
      t.equal((await redeem(svc, 'own', response(done).code ?? '')).statusCode, 200)
    }
    const silent = await person.authorize(request('own', { scope: 'openid', max_age: '0', prompt: 'none' }))
    t.equal(response(silent).error, 'login_required')
    t.ok(
      response(await person.authorize(request('own', { scope: 'openid', max_age: '1' }))).code,
      'less than a second has passed',
    )
  })
}
