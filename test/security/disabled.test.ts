import t from 'tap'
import { strongPassword } from '../support/accounts.ts'
import { buildTestApp, type TestApp } from '../support/app.ts'
import { Authenticator } from '../support/authenticator.ts'
import { Browser } from '../support/browser.ts'
import { setDisabled } from '../support/command.ts'
import { beforeNextTransaction } from '../support/meanwhile.ts'
import {
  clients,
  codeFlow,
  oauthSettings,
  Person,
  redeem,
  refresh,
  request,
  response,
  secret,
  token,
} from '../support/oauth.ts'
import { stopTime } from '../support/time.ts'

const phone = { client_id: 'phone', type: 'confidential', secret, grants: ['password', 'refresh_token'] }
const settings = {
  ...oauthSettings,
  clients: [...clients, { ...phone, scopes: ['orders:read'] }],
  passkeys: { confirm_password: false },
  app: { frontend_url: 'http://localhost:5173' },
}
const build = (t: Parameters<typeof buildTestApp>[0]) => buildTestApp(t, { settings, clock: stopTime(t) })

const basicPhone = { authorization: `Basic ${Buffer.from(`phone:${secret}`).toString('base64')}` }

/** Requests tokens by the password grant. */
const passwordGrant = ({ app }: TestApp, username: string) =>
  app.inject({
    method: 'POST',
    url: '/oauth/token',
    headers: basicPhone,
    payload: { grant_type: 'password', username, password: 'correct horse' },
  })

/** A browser with a passkey of the user. */
async function withPasskey(svc: TestApp, email: string): Promise<Authenticator> {
  const browser = svc.browser()
  await browser.signIn(email)
  const authenticator = new Authenticator({ counter: 1 })
  const { options } = (await browser.get('/user/passkeys/options')).json()
  const answer = await browser.post('/user/passkeys', { name: 'Key', credential: authenticator.register(options) })
  if (answer.statusCode !== 200) throw new Error(answer.body)
  return authenticator
}

t.test(
  'revokes everything that was issued to an account when it is disabled, and restores nothing when it is enabled',
  async (t) => {
    const svc = await build(t)
    const user = await svc.createUser()
    const { email } = user
    const [plain, remembered, forgetful] = [svc.browser(), svc.browser(), svc.browser()]
    await plain.signIn(email)
    await remembered.signIn(email, undefined, { remember: true })
    await forgetful.get('/svc/csrf-cookie')
    await forgetful.post('/forgot-password', { email })
    const resetToken = await svc.mailbox.find(email, /reset-password\/([0-9a-f]{64})/)
    const personal = (await plain.post('/oauth/personal-access-tokens', { name: 'mine' })).json()
    const fresh = (await plain.post('/oauth/token/fresh')).json()
    const web = await codeFlow(svc, new Person(svc, email), 'web')
    const phoneTokens = (await passwordGrant(svc, email)).json()
    const bearers = {
      'API token': await svc.createToken(user),
      'personal token': personal.accessToken,
      'token of a session': fresh.access_token,
      'token of a client': web.access_token,
      'token of the password grant': phoneTokens.access_token,
    }
    const cookie = `svc_remember=${await remembered.cookie('svc_remember')}`
    const rememberedNow = () =>
      svc.app.inject({ url: '/api/user', headers: { cookie, origin: 'http://localhost:5173' } })
    const refused = async (when: string) => {
      for (const [name, bearer] of Object.entries(bearers)) {
        t.equal((await svc.bearer(bearer, 'GET', '/api/user')).statusCode, 401, `${name} ${when}`)
      }
      for (const browser of [plain, remembered]) t.equal((await browser.get('/api/user')).statusCode, 401, when)
      t.equal((await rememberedNow()).statusCode, 401, `remembered browser ${when}`)
      t.equal((await refresh(svc, 'web', web.refresh_token)).statusCode, 400, `refresh token ${when}`)
      const form = { grant_type: 'refresh_token', refresh_token: phoneTokens.refresh_token }
      const again = await svc.app.inject({ method: 'POST', url: '/oauth/token', headers: basicPhone, payload: form })
      t.equal(again.statusCode, 400, `refresh token of the password grant ${when}`)
      const reset = { email, token: resetToken, password: strongPassword, password_confirmation: strongPassword }
      t.equal((await forgetful.post('/reset-password', reset)).statusCode, 422, `reset link ${when}`)
    }
    for (const [name, bearer] of Object.entries(bearers)) {
      t.equal((await svc.bearer(bearer, 'GET', '/api/user')).statusCode, 200, name)
    }
    await setDisabled(svc, email, true)
    await refused('while disabled')
    t.equal((await svc.browser().signIn(email)).statusCode, 401)
    t.equal((await passwordGrant(svc, email)).statusCode, 400)
    const { prisma } = svc.database
    const left = await Promise.all([
      prisma.session.count({ where: { userId: { not: null } } }),
      prisma.rememberToken.count(),
      prisma.personalAccessToken.count(),
      prisma.oauthPersonalToken.count(),
      prisma.oauthRecord.count({ where: { userId: { not: null } } }),
      prisma.oauthConsent.count(),
      prisma.passwordReset.count(),
    ])
    t.strictSame(left, [0, 0, 0, 0, 0, 0, 0])
    await setDisabled(svc, email, false)
    await refused('after enabling')
    t.equal((await svc.browser().signIn(email)).statusCode, 200)
    const person = new Person(svc, email)
    await person.signIn()
    const asked = await person.authorize(request('web'))
    t.equal(asked.page, 'Authorize', 'the consent was revoked too')
  },
)

t.test('notifies clients of the sign-out when an account is disabled', async (t) => {
  const told = {
    ...settings,
    clients: clients.map((client) =>
      client.client_id === 'web' ? { ...client, backchannel_logout_uri: 'https://web.example/logout' } : client,
    ),
  }
  const svc = await buildTestApp(t, { settings: told, clock: stopTime(t) })
  const { email } = await svc.createUser()
  await codeFlow(svc, new Person(svc, email), 'web', { scope: 'openid' })
  await setDisabled(svc, email, true)
  t.equal(await svc.database.prisma.outbox.count({ where: { kind: 'oauth-sign-out' } }), 1)
})

t.test('leaves nothing of a sign-in that is in flight while the account is disabled', async (t) => {
  const svc = await build(t)
  const ways: Record<string, (email: string, authenticator: Authenticator, cookie: string) => Promise<number>> = {
    '/login': async (email) => (await svc.browser().signIn(email)).statusCode,
    '/login with remember': async (email) =>
      (await svc.browser().signIn(email, undefined, { remember: true })).statusCode,
    'the sign-in page': async (email) => {
      const person = new Person(svc, email)
      const form = await person.go('/oauth/login')
      return (await person.press(form, { email, password: 'correct horse' })).answer.statusCode
    },
    '/svc/token': async (email) =>
      (await svc.bearer(null, 'POST', '/svc/token', { email, password: 'correct horse', device_name: 'd' })).statusCode,
    'the password grant': async (email) => (await passwordGrant(svc, email)).statusCode,
    '/passkeys/login': async (_email, authenticator) => {
      const browser = svc.browser()
      const { options } = (await browser.get('/passkeys/login/options')).json()
      return (await browser.post('/passkeys/login', { credential: authenticator.assert(options) })).statusCode
    },
    'a remembered browser': async (_email, _authenticator, cookie) =>
      (await svc.app.inject({ url: '/api/user', headers: { cookie, origin: 'http://localhost:5173' } })).statusCode,
  }
  for (const [name, enter] of Object.entries(ways)) {
    const { email, id } = await svc.createUser()
    const authenticator = await withPasskey(svc, email)
    const remembered = new Browser(svc.app)
    await remembered.signIn(email, undefined, { remember: true })
    const cookie = `svc_remember=${await remembered.cookie('svc_remember')}`
    beforeNextTransaction(svc, () => setDisabled(svc, email, true))
    const status = await enter(email, authenticator, cookie)
    t.ok([400, 401, 422].includes(status), `${name} is rejected with ${status}`)
    await setDisabled(svc, email, false)
    const { prisma } = svc.database
    const where = { userId: BigInt(id) }
    const left = await Promise.all([
      prisma.session.count({ where }),
      prisma.rememberToken.count({ where }),
      prisma.personalAccessToken.count({ where: { tokenableId: BigInt(id) } }),
      prisma.oauthRecord.count({ where }),
    ])
    t.strictSame(left, [0, 0, 0, 0], `${name} leaves nothing`)
  }
})

t.test('stores no consent that is in flight while the account is disabled', async (t) => {
  const svc = await build(t)
  const { email } = await svc.createUser()
  const person = new Person(svc, email)
  const form = await person.authorize(request('web'))
  const asked = form.page === 'Sign in' ? await person.press(form, { email, password: 'correct horse' }) : form
  t.equal(asked.page, 'Authorize')
  beforeNextTransaction(svc, () => setDisabled(svc, email, true))
  const { answer } = await person.press(asked, { decision: 'approve' })
  t.equal(answer.statusCode, 401, answer.body)
  t.equal(await svc.database.prisma.oauthConsent.count(), 0)
})

t.test('rejects a code from before the account was disabled, also after it is enabled', async (t) => {
  const svc = await build(t)
  const { email } = await svc.createUser()
  const person = new Person(svc, email)
  const { code = '' } = response(await person.allow(request('web')))
  t.ok(code)
  await setDisabled(svc, email, true)
  await setDisabled(svc, email, false)
  const answer = await redeem(svc, 'web', code)
  t.equal(answer.statusCode, 400, answer.body)
  t.equal(answer.json().error, 'invalid_grant')
  t.equal(
    (await token(svc, 'machine', { grant_type: 'client_credentials' })).statusCode,
    200,
    'other users are not affected',
  )
})
