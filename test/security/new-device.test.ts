// engine: none
import t from 'tap'
import { buildPasskeyApp, withPasskey } from '../features/passkeys/visitor.ts'
import { buildSocial, Visitor } from '../features/social/visitor.ts'
import { mailedLink, registration, strongPassword, visitor } from '../support/accounts.ts'
import { buildTestApp, type Settings, type TestApp } from '../support/app.ts'
import { day, hour, minute } from '../support/clock.ts'
import { ScriptlessBrowser } from '../support/plain.ts'
import { challenged, enableTwoFactor } from '../support/totp.ts'

const email = 'ada@example.com'
const firefox = { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0' }
const credentials = { email, password: 'correct horse' }

/** The notices of new sign-ins that were mailed to an address. */
const notices = async (svc: TestApp, to = email) =>
  (await svc.mailbox.to(to)).filter(({ subject }) => subject === 'New sign-in to your account')

t.test('mails the owner about a sign-in from a new browser, with time, browser, address and a link', async (t) => {
  const svc = await buildTestApp(t)
  await svc.createUser({ email })
  const browser = await visitor(svc, { remoteAddress: '203.0.113.7' })
  t.equal((await browser.post('/login', { ...credentials, password: 'wrong' }, firefox)).statusCode, 401)
  t.equal((await notices(svc)).length, 0, 'a failed sign-in sends none')
  t.equal((await browser.post('/login', credentials, firefox)).statusCode, 200)
  const [notice, ...more] = await notices(svc)
  t.equal(more.length, 0)
  t.match(
    notice?.text,
    'When: November 20, 2026 at 12:00 PM UTC\nIP address: 203.0.113.7\nBrowser or app: Firefox on Linux\n',
  )
  const link = 'http://localhost:8000/oauth/forgot-password'
  t.match(notice?.text, `\n${link}\n`)
  t.match(notice?.html, `href="${link}"`)
  t.equal((await new ScriptlessBrowser(svc).open(new URL(link).pathname)).statusCode, 200, 'the link works')
})

t.test('signs a known browser in without a notice for 90 days', async (t) => {
  const svc = await buildTestApp(t)
  await svc.createUser({ email })
  await svc.createUser({ email: 'grace@example.com' })
  const browser = svc.browser({ known: false })
  const signInAfter = async (wait: number) => {
    svc.clock.advance(wait)
    t.equal((await browser.signIn(email)).statusCode, 200)
    return (await notices(svc)).length
  }
  t.equal(await signInAfter(0), 1)
  t.equal(await signInAfter(hour), 1)
  t.equal(await signInAfter(89 * day), 1)
  const body = { current_password: 'correct horse', password: strongPassword, password_confirmation: strongPassword }
  t.equal((await browser.put('/user/password', body)).statusCode, 200)
  t.equal((await browser.signIn(email, strongPassword)).statusCode, 200)
  t.equal((await notices(svc)).length, 1, 'after a password change too')
  t.equal((await browser.signIn('grace@example.com')).statusCode, 200)
  t.equal((await notices(svc, 'grace@example.com')).length, 1, 'the browser is new to another account')
  svc.clock.advance(91 * day)
  t.equal((await browser.signIn('grace@example.com')).statusCode, 200)
  t.equal((await notices(svc, 'grace@example.com')).length, 2, 'after 90 days it is new again')
})

t.test('sends no notice for registering, verifying and signing in again in one browser', async (t) => {
  const svc = await buildTestApp(t)
  const browser = await visitor(svc, { known: false })
  t.equal((await browser.post('/register', registration(email))).statusCode, 201)
  t.equal((await browser.get(await mailedLink(svc, email))).statusCode, 204)
  t.equal((await browser.post('/logout')).statusCode, 200)
  t.equal((await browser.signIn(email, strongPassword)).statusCode, 200)
  t.equal((await notices(svc)).length, 0)
  t.equal((await svc.browser({ known: false }).signIn(email, strongPassword)).statusCode, 200)
  t.equal((await notices(svc)).length, 1, 'another browser is new')
})

t.test('sends no notice of a sign-in to an unverified address', async (t) => {
  const svc = await buildTestApp(t)
  await svc.createUser({ email, verified: false })
  t.equal((await svc.browser({ known: false }).signIn(email)).statusCode, 200)
  t.strictSame(await svc.mailbox.all(), [])
})

t.test('merges equal sign-ins within an hour, and mails one from elsewhere immediately', async (t) => {
  const svc = await buildTestApp(t)
  await svc.createUser({ email })
  const signInFrom = async (remoteAddress: string) => {
    const answer = await svc.browser({ known: false, remoteAddress }).signIn(email)
    t.equal(answer.statusCode, 200)
  }
  for (let i = 0; i < 5; i++) await signInFrom('203.0.113.7')
  t.equal((await notices(svc)).length, 1)
  await signInFrom('198.51.100.9')
  t.equal((await notices(svc)).length, 2)
  svc.clock.advance(hour)
  const [, , merged, ...more] = await notices(svc)
  t.equal(more.length, 0)
  t.match(merged?.text, 'This happened 4 times since our last email about it.')
})

t.test('limits notices of sign-ins from many networks to the budget of the mailbox', async (t) => {
  const svc = await buildTestApp(t)
  await svc.createUser({ email })
  for (let i = 0; i < 30; i++) {
    const browser = svc.browser({ known: false, remoteAddress: `198.51.100.${i}` })
    t.equal((await browser.signIn(email)).statusCode, 200)
  }
  t.equal((await notices(svc)).length, 6)
  t.equal(await svc.database.prisma.outbox.count(), 1, 'the others wait as one mail')
  svc.clock.advance(minute)
  const [last, ...more] = (await notices(svc)).slice(6)
  t.equal(more.length, 0)
  t.match(last?.text, 'This happened 24 times since our last email about it.')
})

t.test('sends the notice for every way to sign in with a browser', async (t) => {
  await t.test('a second factor, after it succeeded', async (t) => {
    const svc = await buildTestApp(t)
    const enrolled = await enableTwoFactor(svc, await svc.createUser({ email }))
    const browser = await visitor(svc)
    t.equal((await browser.post('/login', credentials)).json().two_factor, true)
    t.equal((await notices(svc)).length, 0)
    t.equal((await browser.post('/two-factor-challenge', { code: enrolled.code() })).statusCode, 204)
    t.equal((await notices(svc)).length, 1)
    svc.clock.advance(minute)
    const known = await challenged(svc, email)
    t.equal((await known.post('/two-factor-challenge', { code: enrolled.code() })).statusCode, 204)
    t.equal((await notices(svc)).length, 1)
  })

  await t.test("svc's own page", async (t) => {
    const svc = await buildTestApp(t)
    await svc.createUser({ email })
    t.equal((await new ScriptlessBrowser(svc).send('/oauth/login', credentials, 'email')).statusCode, 303)
    t.equal((await notices(svc)).length, 1)
  })

  await t.test('a passkey', async (t) => {
    const svc = await buildPasskeyApp(t)
    const { user, authenticator, guest } = await withPasskey(svc)
    for (let i = 0; i < 2; i++) {
      t.equal((await guest.login(authenticator)).statusCode, 200)
      t.equal((await notices(svc, user.email)).length, 1)
    }
  })

  await t.test('a provider, except when the sign-in creates the account', async (t) => {
    const svc = await buildSocial(t)
    t.equal((await new Visitor(svc).signIn('grace')).statusCode, 302)
    t.equal((await notices(svc, 'grace@example.com')).length, 0)
    t.equal((await new Visitor(svc).signIn('grace')).statusCode, 302)
    t.equal((await notices(svc, 'grace@example.com')).length, 1)
  })
})

t.test('notifies once for each application, user agent and network of the password grant', async (t) => {
  const secret = 'a-secret-that-is-long-enough'
  const client = (client_id: string, more: Settings = {}) => ({
    ...{ client_id, type: 'confidential', secret, grants: ['password'] },
    ...more,
  })
  const clients = [client('phone', { name: 'Example phone' }), client('desk')]
  const svc = await buildTestApp(t, { settings: { clients } })
  await svc.createUser({ email })
  const sent = async (more: { client_id?: string; remoteAddress?: string; agent?: string } = {}) => {
    const { client_id = 'phone', remoteAddress = '203.0.113.7', agent = 'okhttp/5.0' } = more
    const payload = { grant_type: 'password', username: email, password: 'correct horse', client_id }
    const answer = await svc.app.inject({
      method: 'POST',
      url: '/oauth/token',
      remoteAddress,
      headers: { 'user-agent': agent },
      payload: { ...payload, client_secret: secret },
    })
    t.equal(answer.statusCode, 200, answer.body)
    return (await notices(svc)).length
  }
  t.equal(await sent(), 1)
  const [notice] = await notices(svc)
  t.match(notice?.text, 'App: Example phone\nWhen: ')
  t.match(notice?.html, '>Example phone<')
  svc.clock.advance(hour)
  t.equal(await sent(), 1)
  t.equal(await sent({ remoteAddress: '203.0.113.200', agent: 'okhttp/5.1' }), 1, 'another address of the network')
  t.equal(await sent({ remoteAddress: '203.0.114.7' }), 2)
  t.equal(await sent({ remoteAddress: '2001:db8:1:2::1' }), 3)
  t.equal(await sent({ remoteAddress: '2001:db8:1:2::2' }), 3)
  t.equal(await sent({ ...firefox, agent: firefox['user-agent'] }), 4)
  t.equal(await sent({ client_id: 'desk' }), 5)
  svc.clock.advance(90 * day)
  t.equal(await sent(), 6)
})
