// engine: none
import t from 'tap'
import { buildTestApp, type TestApp } from '../../../support/app.ts'
import { minute } from '../../../support/clock.ts'
import { runCommandOn } from '../../../support/command.ts'
import { Person, refresh, request, response, type WalkResult } from '../../../support/oauth.ts'
import { credentials } from '../../../support/plain.ts'
import { travel } from '../../../support/time.ts'
import { buildWithParty, kinds, sessionBoundTokens } from './party.ts'

const bye = 'https://shop.example/bye'
const registered = { post_logout_redirect_uris: [bye] }

const logout = (person: Person, query: Record<string, string> = {}): Promise<WalkResult> =>
  person.go(`/oauth/logout?${new URLSearchParams(query)}`)

const confirm = (person: Person, stop: WalkResult): Promise<WalkResult> => person.press(stop, { logout: 'yes' })

const secretOf = ({ answer }: WalkResult): string => /name="xsrf" value="([^"]+)"/.exec(answer.body)?.[1] ?? ''

/** The button for "no" sends the form without the value of the other one. */
const decline = (person: Person, stop: WalkResult): Promise<WalkResult> => person.press(stop, { xsrf: secretOf(stop) })

/** Whether the browser is signed in, at svc and for a silent request of a client. */
async function isSignedIn(person: Person): Promise<[boolean, string]> {
  const stop = await person.authorize(request('web', { prompt: 'none', scope: 'openid' }))
  return [(await person.plain.user()) !== null, response(stop).error ?? 'signed in']
}

const signedIn = [true, 'signed in']
const signedOut = [false, 'login_required']

/** A remembered user at a client. */
async function visit(svc: TestApp) {
  const user = await svc.createUser()
  const person = new Person(svc, user.email)
  await person.plain.send('/oauth/login', { ...credentials(user.email), remember: '1' })
  return { user, person, tokens: await sessionBoundTokens(svc, person) }
}

t.test('signs out of svc and the client after confirmation, and redirects to the registered address', async (t) => {
  const { svc, party } = await buildWithParty(t, registered)
  const { user, person, tokens } = await visit(svc)
  t.ok(await person.plain.browser.cookie('svc_remember'), 'the browser is remembered')
  const query = { id_token_hint: tokens.id_token ?? '', post_logout_redirect_uri: bye, state: 'a b&c' }
  const stop = await logout(person, query)
  t.equal(stop.page, 'Sign out')
  t.match(stop.answer.body, 'The Web Shop')
  t.match(stop.answer.body, user.email)
  t.same(await isSignedIn(person), signedIn, 'asking ends nothing')
  const done = await confirm(person, await logout(person, query))
  t.equal(done.out?.href, `${bye}?state=a+b%26c`)
  t.same(await isSignedIn(person), signedOut)
  t.equal(await svc.database.prisma.rememberToken.count(), 0, 'no browser is remembered')
  t.equal(await svc.database.prisma.session.count({ where: { userId: { not: null } } }), 0)
  t.equal((await refresh(svc, 'web', tokens.refresh_token)).statusCode, 400)
  await svc.app.outbox.deliverDue()
  t.match(await party.tokens(svc), [{ sub: String(user.id) }])
  t.same(await party.sids(svc), [tokens.sid], 'the client is notified once')
  const events = await svc.database.prisma.event.count({ where: { type: 'logout' } })
  t.equal(events, 1)
})

t.test('keeps both sessions if the user declines, and signs out only the client', async (t) => {
  const { svc, party } = await buildWithParty(t, registered)
  const { person, tokens } = await visit(svc)
  await decline(person, await logout(person))
  t.same(await isSignedIn(person), signedIn)
  t.equal((await refresh(svc, 'web', tokens.refresh_token)).statusCode, 200, 'no question was shown')
  t.equal(await svc.database.prisma.outbox.count({ where: { kind: 'oauth-sign-out' } }), 0)

  const done = await decline(person, await logout(person, { client_id: 'web', post_logout_redirect_uri: bye }))
  t.equal(done.out?.href, bye)
  t.same(await isSignedIn(person), signedIn)
  await svc.app.outbox.deliverDue()
  t.same(await party.sids(svc), [tokens.sid])
})

t.test('accepts missing optional parameters, and rejects forged ones', async (t) => {
  const { svc } = await buildWithParty(t, registered)
  const { person, tokens } = await visit(svc)
  for (const query of [
    { client_id: 'web', post_logout_redirect_uri: `${bye}/` },
    { client_id: 'web', post_logout_redirect_uri: 'https://evil.example/' },
    { client_id: 'spa', post_logout_redirect_uri: bye },
    { id_token_hint: tokens.id_token ?? '', post_logout_redirect_uri: 'javascript:alert(1)' },
    { id_token_hint: tokens.access_token },
    { id_token_hint: `${tokens.id_token?.slice(0, -8)}AAAAAAAA` },
    { id_token_hint: tokens.id_token ?? '', client_id: 'spa' },
    { client_id: 'unknown' },
  ]) {
    const stop = await logout(person, query)
    t.equal(stop.out, null, JSON.stringify(query))
    t.equal(stop.answer.statusCode, 400)
    t.equal(stop.page, 'Error')
  }
  t.same(await isSignedIn(person), signedIn)
  const nowhere = await confirm(person, await logout(person, { post_logout_redirect_uri: 'https://evil.example/' }))
  t.equal(nowhere.path, '/oauth/logout/success', 'without a client there is no registered address')

  await person.signIn()
  const done = await confirm(person, await logout(person, { client_id: 'web', post_logout_redirect_uri: bye }))
  t.equal(done.out?.href, bye, 'without a hint')
  t.same(await isSignedIn(person), signedOut)
})

t.test('never signs out by a link or a form of another site alone', async (t) => {
  const { svc } = await buildWithParty(t, registered)
  const { person } = await visit(svc)
  const stop = await logout(person)
  const forged = await person.plain.post('/oauth/logout/confirm', { logout: 'yes', xsrf: 'x'.repeat(48) })
  t.equal(forged.statusCode, 400)
  t.equal((await person.plain.post('/oauth/logout/confirm', { logout: 'yes' })).statusCode, 400)
  const stranger = new Person(svc, 'unknown@example.com')
  const [sent] = [await stranger.plain.post('/oauth/logout/confirm', { logout: 'yes', xsrf: secretOf(stop) })]
  t.equal(sent?.statusCode, 400, 'the value is bound to its browser')
  t.same(await isSignedIn(person), signedIn)

  const fresh = new Person(svc, (await svc.createUser()).email)
  await fresh.signIn()
  t.equal((await logout(fresh)).page, 'Sign out', 'a user without any client is asked too')
  t.ok(await fresh.plain.user())
})

t.test('redirects visitors without a session, without JavaScript', async (t) => {
  const { svc } = await buildWithParty(t, registered)
  const anonymous = new Person(svc, 'unknown@example.com')
  t.match(await logout(anonymous), { path: '/oauth/logout/success', answer: { statusCode: 200 } })
  const query = { client_id: 'web', post_logout_redirect_uri: bye, state: 's' }
  t.equal((await logout(anonymous, query)).out?.href, `${bye}?state=s`)

  const { person, tokens } = await visit(svc)
  const { browser } = person.plain
  await browser.post('/logout', undefined, { 'sec-fetch-site': 'same-origin' })
  const hint = { id_token_hint: tokens.id_token ?? '', post_logout_redirect_uri: bye }
  t.equal((await logout(person, hint)).out?.href, bye, 'after the sign-out elsewhere')
})

t.test('accepts a hint signed by a retired key', async (t) => {
  const { svc, settings, clock } = await buildWithParty(t, registered)
  const { person, tokens } = await visit(svc)
  await runCommandOn(svc, 'keys:rotate', '--now')
  travel(svc, 10 * minute)
  const later = await buildTestApp(t, { settings, clock, database: svc.where })
  const old = await logout(person, { id_token_hint: tokens.id_token ?? '' })
  t.equal(old.page, 'Sign out')
  const answer = await later.app.inject({
    url: `/oauth/logout?${new URLSearchParams({ id_token_hint: tokens.id_token ?? '', post_logout_redirect_uri: bye })}`,
    headers: { accept: 'text/html' },
  })
  t.equal(answer.headers.location, bye)
  t.ok((await later.app.inject('/.well-known/jwks.json')).json().keys.length > 3)
})

t.test('accepts posted requests over https', async (t) => {
  const url = 'https://id.example'
  const { svc, party } = await buildWithParty(t, registered, { settings: { app: { url } } })
  const { email } = await svc.createUser()
  const person = new Person(svc.browser({ origin: url, url, xsrf: false }), email, url)
  const tokens = await sessionBoundTokens(svc, person)
  const fields = { id_token_hint: tokens.id_token ?? '', post_logout_redirect_uri: bye, state: 's' }
  const answer = await person.plain.post('/oauth/logout', fields)
  const stop = { answer, path: '/oauth/logout', page: 'Sign out', out: null }
  const done = await confirm(person, stop)
  t.equal(done.out?.href, `${bye}?state=s`)
  t.equal(await person.plain.user(), null)
  await svc.app.outbox.deliverDue()
  t.same(await party.sids(svc), [tokens.sid])
  t.match(await kinds(svc), { Session: undefined })
})

for (const same_site of ['lax', 'strict', 'none']) {
  t.test(`repeats a request without the session cookie as GET, and ends the session: ${same_site}`, async (t) => {
    const url = 'https://id.example'
    const { svc } = await buildWithParty(t, registered, { settings: { app: { url }, session: { same_site } } })
    const { email } = await svc.createUser()
    const person = new Person(svc.browser({ origin: url, url, xsrf: false }), email, url)
    const tokens = await sessionBoundTokens(svc, person)
    const fields = { id_token_hint: tokens.id_token ?? '', post_logout_redirect_uri: bye, state: 's' }
    const sent = await svc.app.inject({
      method: 'POST',
      url: '/oauth/logout',
      headers: {
        accept: 'text/html',
        origin: 'https://shop.example',
        'sec-fetch-site': 'cross-site',
        'content-type': 'application/x-www-form-urlencoded',
      },
      payload: new URLSearchParams(fields).toString(),
    })
    t.equal(sent.statusCode, 303, same_site)
    t.equal(sent.headers['set-cookie'], undefined, 'no cookie of the visitor is replaced')
    const asked = await person.go(String(sent.headers.location))
    t.match(asked.answer.body, email, 'the page names the user')
    t.equal((await confirm(person, asked)).out?.href, `${bye}?state=s`)
    t.equal(await person.plain.user(), null)
    t.equal(await svc.database.prisma.session.count({ where: { userId: { not: null } } }), 0)
  })
}

t.test('ends the remaining tokens of an idle session', async (t) => {
  const { svc, party } = await buildWithParty(t, registered)
  const person = new Person(svc, (await svc.createUser()).email)
  const tokens = await sessionBoundTokens(svc, person)
  travel(svc, 121 * minute)
  t.equal((await refresh(svc, 'web', tokens.refresh_token)).statusCode, 200, 'idling is not a sign-out')
  await confirm(person, await logout(person))
  t.equal((await refresh(svc, 'web', tokens.refresh_token)).statusCode, 400)
  await svc.app.outbox.deliverDue()
  t.same(await party.sids(svc), [tokens.sid])
})
