import pg from 'pg'
import type { Test } from 'tap'
import { Visitor as PasskeyVisitor } from '../features/passkeys/visitor.ts'
import { Visitor as SocialVisitor } from '../features/social/visitor.ts'
import { strongPassword } from '../support/accounts.ts'
import { Authenticator } from '../support/authenticator.ts'
import { requestWithBearer, sendRequest } from '../support/remote.ts'
import { codeAt } from '../support/totp.ts'
import { until } from '../support/until.ts'
import { linkIn, mailsTo, register, type Site, userStatus } from './site.ts'

/** Journeys of users with their accounts. */
export function accountJourneys(t: Test, site: Site): void {
  t.test('registers, verifies, signs out', async (t) => {
    const { browser, email } = await register(site)
    const [mail, ...more] = await mailsTo(site, email, 1)
    t.same(more, [])
    const { pathname, search } = linkIn(mail?.text)
    t.equal((await browser.get(pathname + search)).statusCode, 204)
    t.match((await browser.get('/api/user')).json(), { email, email_verified_at: /./ })
    t.equal((await browser.post('/logout')).statusCode, 200)
    t.same(await site.together(4, () => browser.get('/api/user')), [401, 401, 401, 401])
  })

  t.test('accepts a code and a recovery code once', async (t) => {
    const { browser, email } = await register(site)
    await browser.post('/user/confirm-password', { password: strongPassword })
    t.equal((await browser.post('/user/two-factor-authentication')).statusCode, 200)
    const { secretKey } = (await browser.get('/user/two-factor-secret-key')).json()
    const [recovery_code = '']: string[] = (await browser.get('/user/two-factor-recovery-codes')).json()
    const first = { code: codeAt(secretKey, Date.now()) }
    t.equal((await browser.post('/user/confirmed-two-factor-authentication', first)).statusCode, 200)
    const next = codeAt(secretKey, Date.now(), 1)
    for (const proof of [{ code: next }, { recovery_code }]) {
      const waiting = await Promise.all(
        Array.from({ length: 4 }, async () => {
          const at = site.browser()
          t.match((await at.signIn(email, strongPassword)).json(), { two_factor: true })
          return at
        }),
      )
      const statuses = await site.together(4, async (n) => (waiting[n] ?? browser).post('/two-factor-challenge', proof))
      t.same(statuses, [204, 422, 422, 422])
      t.same((await Promise.all(waiting.map(userStatus))).sort(), [200, 401, 401, 401])
    }
  })

  t.test('lists and ends sessions', async (t) => {
    const { browser, email } = await register(site)
    const other = site.browser()
    await other.signIn(email, strongPassword, { remember: true })
    const listed = (await browser.get('/user/sessions')).json()
    t.equal(listed.length, 2)
    const { id } = listed.find(({ current }: { current: boolean }) => !current)
    t.equal(await userStatus(other), 200)
    t.equal((await browser.delete(`/user/sessions/${id}`)).statusCode, 200)
    t.same(await site.together(4, () => other.get('/api/user')), [401, 401, 401, 401])
    t.equal(await userStatus(browser), 200)
  })

  t.test('creates and revokes API tokens', async (t) => {
    const { email } = await register(site)
    const payload = { email, password: strongPassword, device_name: 'Phone' }
    for (let round = 0; round < 5; round++) {
      const { token } = (await sendRequest(site.url, { method: 'POST', url: '/svc/token', payload })).json()
      t.equal((await requestWithBearer(site.url, token, '/api/user')).statusCode, 200)
      t.equal((await requestWithBearer(site.url, token, '/api/tokens/current', 'DELETE')).statusCode, 200)
      t.same(await site.together(4, () => requestWithBearer(site.url, token, '/api/user')), [401, 401, 401, 401])
    }
  })

  t.test('accepts one password-reset link once', async (t) => {
    const { browser, email } = await register(site)
    const visitor = site.browser()
    await visitor.get('/svc/csrf-cookie')
    t.equal((await visitor.post('/forgot-password', { email })).statusCode, 200)
    const mails = await mailsTo(site, email, 2)
    const link = linkIn(mails.find(({ text }) => text.includes('/reset-password/'))?.text)
    const proof = { email, token: link.pathname.split('/').at(-1) ?? '' }
    const statuses = await site.together(4, (n) => {
      const password = `violet engine number ${n}`
      return visitor.post('/reset-password', { ...proof, password, password_confirmation: password })
    })
    t.same(statuses, [200, 422, 422, 422])
    t.equal(await userStatus(browser), 401, 'it ends all sessions')
  })

  t.test('accepts one response to a passkey challenge', async (t) => {
    const { browser } = await register(site)
    const authenticator = new Authenticator()
    const forgery = { origin: site.url }
    t.equal((await new PasskeyVisitor(browser).register(authenticator, forgery)).statusCode, 200)
    const guest = new PasskeyVisitor(site.browser())
    const answer = authenticator.assert(await guest.options('login'), forgery)
    t.same(await site.together(4, () => guest.answer('login', answer)), [200, 422, 422, 422])
  })

  t.test('accepts a social sign-in state once', async (t) => {
    const visitor = new SocialVisitor(site, site.browser())
    const back = await visitor.allow(await visitor.begin(), 'grace')
    const ways = await Promise.all([1, 2, 3, 4].map(() => visitor.back(back)))
    const failed = ways.filter(({ headers }) => String(headers.location).includes('error='))
    t.equal(failed.length, 3)
    t.match(await new SocialVisitor(site, site.browser()).signIn('grace'), { statusCode: 302 })
  })

  t.test('counts guesses together, and checks no more than allowed', async (t) => {
    const { email } = await register(site)
    const payload = { email, password: 'wrong', device_name: 'Phone' }
    const statuses = await site.together(12, () =>
      sendRequest(site.url, { method: 'POST', url: '/svc/token', payload }),
    )
    t.same(statuses, [...Array(5).fill(422), ...Array(7).fill(429)])
  })

  t.test('sends each mail once', async (t) => {
    const accounts = await Promise.all(Array.from({ length: 20 }, () => register(site)))
    const database = new pg.Client({ connectionString: site.databaseUrl })
    await database.connect()
    const left = async () => Number((await database.query('SELECT count(*) FROM outbox')).rows[0].count)
    await until(async () => (await left()) === 0)
    await database.end()
    for (const { email } of accounts) t.equal((await mailsTo(site, email, 1)).length, 1)
  })
}
