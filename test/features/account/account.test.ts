// engine: none
import t, { type Test } from 'tap'
import { removePassword } from '../../support/accounts.ts'
import { buildTestApp, confirming, type Settings, type TestApp } from '../../support/app.ts'
import { minute } from '../../support/clock.ts'
import { credentials, redirectOf, ScriptlessBrowser } from '../../support/plain.ts'

const password = 'correct horse'

/** A signed-in user with a browser without scripts. */
async function openAccount(t: Test, settings: Settings = {}) {
  const svc = await buildTestApp(t, { settings: { ...confirming, ...settings } })
  const user = await svc.createUser()
  const browser = new ScriptlessBrowser(svc)
  t.equal((await browser.send('/oauth/login', credentials(user.email))).statusCode, 303)
  return { svc, user, browser }
}

const eventsOf = async (svc: TestApp, userId: number) =>
  (await svc.database.prisma.event.findMany({ where: { userId: BigInt(userId) } })).map(({ type }) => type)

/** Confirms the password where a page asks for it, and returns the page that follows. */
async function confirmAt(t: Test, browser: ScriptlessBrowser, path: string): Promise<void> {
  const asked = await browser.open(path)
  const confirm = `/account/confirm?return_to=${encodeURIComponent(path)}`
  t.strictSame(redirectOf(asked), [303, confirm])
  const wrong = await browser.send(confirm, { password: 'wrong password' })
  t.equal(wrong.statusCode, 422)
  t.match(wrong.body, 'The provided password was incorrect.')
  t.strictSame(redirectOf(await browser.send(confirm, { password })), [303, path])
  t.equal((await browser.open(path)).statusCode, 200)
}

t.test('lists the sections, and leads visitors to the sign-in page and back', async (t) => {
  const { svc, user, browser } = await openAccount(t)
  const visitor = new ScriptlessBrowser(svc)
  for (const path of ['/account', '/account/profile', '/account/data/delete', '/account/confirm?return_to=%2Fx']) {
    const target = encodeURIComponent(path)
    t.strictSame(redirectOf(await visitor.open(path)), [303, `http://localhost:8000/oauth/login?return_to=${target}`])
    const refused = await visitor.browser.get(path)
    t.equal(refused.statusCode, 401, 'programs get JSON')
    t.equal(refused.json().code, 'unauthenticated')
  }
  const { body } = await browser.open('/account')
  t.match(body, user.email)
  for (const section of ['profile', 'password', 'data']) t.match(body, `href="/account/${section}"`)
  t.match((await browser.open('/account/profile')).body, 'href="/account/profile" aria-current="page"')
  t.match((await browser.open('/')).body, 'id="account" href="/account"')
})

t.test('says in the overview what protects the account, and what it has', async (t) => {
  const { svc, user, browser } = await openAccount(t)
  const stateOf = async (section: string) => {
    const { body } = await browser.open('/account')
    const [, tile = ''] =
      new RegExp(`<li>\\s*<a href="/account/${section}" aria-describedby(.*?)</a>`, 's').exec(body) ?? []
    return /<span class="badge[^"]*">([^<]*)</.exec(tile)?.[1] ?? null
  }
  t.equal(await stateOf('profile'), null)
  t.equal(await stateOf('two-factor'), 'Off')
  t.equal(await stateOf('passkeys'), null, 'nothing to count')
  t.equal(await stateOf('sessions'), '1')
  t.equal(await stateOf('tokens'), null)
  t.equal((await svc.browser().signIn(user.email, password)).statusCode, 200)
  await svc.createToken(user)
  await svc.database.prisma.user.update({ where: { id: BigInt(user.id) }, data: { emailVerifiedAt: null } })
  t.equal(await stateOf('sessions'), '2')
  t.equal(await stateOf('tokens'), '1')
  t.equal(await stateOf('profile'), 'Not verified')
})

t.test('changes the name, and shows an invalid one again with the reason', async (t) => {
  const { svc, user, browser } = await openAccount(t)
  for (const [name, message] of [
    ['', 'The name field is required.'],
    ['x'.repeat(256), 'The name field must not be greater than 255 characters.'],
    ['Ada\u202e', 'The name field contains characters that are not allowed.'],
  ] as const) {
    const answer = await browser.send('/account/profile', { name })
    t.equal(answer.statusCode, 422)
    t.match(answer.body, message)
  }
  t.equal((await browser.browser.get('/api/user')).json().name, user.name)
  const saved = await browser.send('/account/profile', { name: 'Grace <Hopper>' })
  t.strictSame(redirectOf(saved), [303, '/account/profile?done=saved'])
  const { body } = await browser.open('/account/profile?done=saved')
  t.match(body, 'Your changes are saved.')
  t.match(body, 'value="Grace &lt;Hopper&gt;"')
  for (const done of ['<script>', 'title', 'constructor', '__proto__'])
    t.notMatch((await browser.open(`/account/profile?done=${done}`)).body, 'note good')
  t.equal((await browser.browser.get('/api/user')).json().name, 'Grace <Hopper>')
  t.match(await eventsOf(svc, user.id), ['login', 'profile_updated'])
})

t.test('asks for the password before a change of the address, and mails the link', async (t) => {
  const { svc, user, browser } = await openAccount(t)
  const path = '/account/profile/email'
  const early = await browser.send('/account/profile', { name: 'Ada' })
  t.equal(early.statusCode, 303)
  const hidden = /name="_token" value="([^"]*)"/.exec((await browser.open('/account/profile')).body)?.[1] ?? ''
  const unconfirmed = await browser.post(path, { _token: hidden, email: 'new@example.com' })
  t.strictSame(redirectOf(unconfirmed), [303, '/account/confirm?return_to=%2Faccount%2Fprofile'])
  await confirmAt(t, browser, path)
  const other = await svc.createUser()
  for (const [email, message] of [
    ['no address', 'The email field must be a valid email address.'],
    ['', 'The email field is required.'],
    [other.email, 'The email has already been taken.'],
  ] as const) {
    const answer = await browser.send(path, { email })
    t.equal(answer.statusCode, 422)
    t.match(answer.body, message)
  }
  const sent = await browser.send(path, { email: 'new@example.com' })
  t.strictSame(redirectOf(sent), [303, '/account/profile?done=email_requested'])
  t.match((await browser.open('/account/profile')).body, /Waiting for verification: new@example\.com/)
  const link = await svc.mailbox.find('new@example.com', /(\/email\/verify\/\S+)/)
  t.not(link, '')
  await browser.open(link)
  const me = (await browser.browser.get('/api/user')).json()
  t.equal(me.email, 'new@example.com')
  t.not(me.email, user.email)
})

t.test('changes the password, ends other sessions, and continues with a new session', async (t) => {
  const { svc, user, browser } = await openAccount(t)
  const other = new ScriptlessBrowser(svc)
  await other.send('/oauth/login', credentials(user.email))
  const path = '/account/password'
  const typed = { current_password: password, password: 'an entirely new one' }
  for (const [change, message] of [
    [{ current_password: 'wrong' }, 'The provided password does not match your current password.'],
    [{ password: 'short' }, 'The password field must be at least 8 characters.'],
    [{ password: '' }, 'The password field is required.'],
  ] as const) {
    const answer = await browser.send(path, { ...typed, ...change }, 'current_password')
    t.equal(answer.statusCode, 422)
    t.match(answer.body, message)
    t.notMatch(answer.body, 'an entirely new one', 'the page never contains a password')
  }
  const token = await svc.createToken(user)
  const changed = await browser.send(path, { ...typed, revoke_tokens: '1' }, 'current_password')
  t.strictSame(redirectOf(changed), [303, '/account/password?done=password_changed'])
  t.equal(await browser.user(), user.id)
  t.equal(await other.user(), null)
  const bearer = await svc.app.inject({ url: '/api/user', headers: { authorization: `Bearer ${token}` } })
  t.equal(bearer.statusCode, 401, 'revokes the tokens')
  t.equal((await other.send('/oauth/login', credentials(user.email))).statusCode, 401)
  t.equal((await other.send('/oauth/login', credentials(user.email, typed.password))).statusCode, 303)
})

t.test('leads password managers to the page that changes the password', async (t) => {
  const { svc } = await openAccount(t)
  const url = '/.well-known/change-password'
  t.strictSame(redirectOf(await svc.app.inject({ url })), [302, '/account/password'])
  const hidden = await buildTestApp(t, { settings: { account: { sections: ['profile'] } } })
  t.equal((await hidden.app.inject({ url })).statusCode, 404)
})

t.test('mails a code to a user without a password, and confirms with it', async (t) => {
  const { svc, user, browser } = await openAccount(t)
  await removePassword(svc, user.id)
  t.match((await browser.open('/account/password')).body, 'id="set-password" href="/oauth/forgot-password"')
  const confirm = '/account/confirm?return_to=%2Faccount%2Fdata%2Fdelete'
  const sent = await browser.send(confirm, {}, 'return_to')
  t.equal(sent.statusCode, 303)
  const waiting = String(sent.headers.location)
  t.equal(waiting, '/account/confirm?sent=1&return_to=%2Faccount%2Fdata%2Fdelete')
  const wrong = await browser.send(waiting, { code: 'AAAA-AAAA' })
  t.equal(wrong.statusCode, 422)
  t.match(wrong.body, 'The provided code was incorrect or has expired.')
  const code = await svc.mailbox.find(user.email, /\b([2-9A-Z]{4}-[2-9A-Z]{4})\b/)
  t.strictSame(redirectOf(await browser.send(waiting, { code })), [303, '/account/data/delete'])
  t.equal((await browser.open('/account/data/delete')).statusCode, 200)
})

t.test('deletes the account only after the password and the address', async (t) => {
  const { svc, user, browser } = await openAccount(t, { passwords: { confirm_timeout: '10m' } })
  const path = '/account/data/delete'
  await confirmAt(t, browser, path)
  for (const email of ['', 'someone@example.com', `${user.email}x`]) {
    const answer = await browser.send(path, { email })
    t.equal(answer.statusCode, 422)
    t.match(answer.body, 'This is not the email address of your account.')
  }
  // The confirmation expires.
  svc.clock.advance(11 * minute)
  await confirmAt(t, browser, path)
  const deleted = await browser.send(path, { email: user.email.toUpperCase() })
  t.equal(deleted.statusCode, 200)
  t.match(deleted.body, 'Your account is deleted')
  t.equal(await browser.user(), null)
  t.equal(await svc.database.prisma.user.count(), 0)
})

t.test('continues after the confirmation only to paths of svc', async (t) => {
  const { browser } = await openAccount(t)
  for (const target of ['https://evil.example', '//evil.example', '/\\evil.example', 'javascript:alert(1)', '']) {
    const answer = await browser.send(`/account/confirm?return_to=${encodeURIComponent(target)}`, { password })
    t.strictSame(redirectOf(answer), [303, '/account'], target)
  }
})

t.test('rejects forms of other sites', async (t) => {
  const { user, browser } = await openAccount(t)
  for (const [path, form] of Object.entries({
    '/account/profile': { name: 'Mallory' },
    '/account/profile/email': { email: 'mallory@example.com' },
    '/account/password': { current_password: password, password: 'chosen by mallory' },
    '/account/confirm': { password },
    '/account/confirm/code': {},
    '/account/data/delete': { email: user.email },
  })) {
    const fields = Buffer.from(new URLSearchParams(form).toString())
    const headers = { accept: 'text/html', 'content-type': 'application/x-www-form-urlencoded' }
    const foreign = { ...headers, origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }
    t.equal((await browser.browser.send('POST', path, fields, foreign)).statusCode, 419, path)
    t.equal((await browser.post(path, form)).statusCode, 419, `${path} without the token`)
  }
  t.match((await browser.browser.get('/api/user')).json(), { name: user.name, email: user.email })
})

t.test('shows only the configured sections, and redirects to the pages of the application', async (t) => {
  const { browser } = await openAccount(t, { account: { sections: ['password'] } })
  const { body } = await browser.open('/account')
  t.match(body, 'href="/account/password"')
  t.notMatch(body, 'href="/account/profile"')
  for (const path of ['/account/profile', '/account/profile/email', '/account/data'])
    t.equal((await browser.open(path)).statusCode, 404, path)
  const off = await openAccount(t, { account: { sections: [] } })
  t.equal((await off.browser.open('/account')).statusCode, 404)
  t.notMatch((await off.browser.open('/')).body, 'id="account"')
  const own = await openAccount(t, { links: { account: 'https://app.example.com/me' } })
  for (const path of ['/account', '/account/profile', '/account/data/delete'])
    t.strictSame(redirectOf(await own.browser.open(path)), [302, 'https://app.example.com/me'])
  t.match((await own.browser.open('/')).body, 'href="https://app.example.com/me"')
})
