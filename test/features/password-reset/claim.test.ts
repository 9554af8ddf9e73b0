import t from 'tap'
import { buildTestApp, type TestApp } from '../../support/app.ts'
import { Authenticator } from '../../support/authenticator.ts'
import { day } from '../../support/clock.ts'
import { challenged, confirmedBrowser, enableTwoFactor } from '../../support/totp.ts'

const password = "the owner's passphrase"

async function tokenFor(svc: TestApp, email: string): Promise<string> {
  const browser = svc.browser()
  await browser.get('/svc/csrf-cookie')
  await browser.post('/forgot-password', { email })
  const texts = (await svc.mailbox.to(email)).map(({ text }) => text)
  return (
    /reset-password\/([0-9a-f]{64})/.exec(texts.findLast((text) => text.includes('reset-password')) ?? '')?.[1] ?? ''
  )
}

async function reset(svc: TestApp, email: string, token: string) {
  const browser = svc.browser()
  await browser.get('/svc/csrf-cookie')
  return browser.post('/reset-password', { email, token, password, password_confirmation: password })
}

/** An account created with a foreign address, and everything that could keep access to it. */
async function hijacked(svc: TestApp) {
  const user = await svc.createUser({ verified: false })
  const ada = await enableTwoFactor(svc, user)
  const remembered = await challenged(svc, user.email, { remember: true })
  await remembered.post('/two-factor-challenge', { code: ada.code() })
  const apiToken = await svc.createToken(user)
  const authenticator = new Authenticator()
  const { options } = (await ada.browser.get('/user/passkeys/options')).json()
  const credential = authenticator.register(options)
  const registered = await ada.browser.post('/user/passkeys', { name: 'Mine', credential })
  if (registered.statusCode !== 200) throw new Error(registered.body)
  const waiting = await challenged(svc, user.email)
  return { ...ada, remembered, apiToken, authenticator, waiting }
}

const settings = { app: { frontend_url: 'http://localhost:5173' } }

/** All credentials of the account. */
async function keysOf({ database: { prisma } }: TestApp, id: number) {
  const userId = BigInt(id)
  const row = await prisma.user.findUniqueOrThrow({ where: { id: userId } })
  return {
    password: row.password,
    factor: [row.twoFactorSecret, row.twoFactorRecoveryCodes, row.twoFactorConfirmedAt, row.twoFactorLastStep],
    verified: row.emailVerifiedAt !== null,
    sessions: await prisma.session.count({ where: { userId } }),
    remembered: await prisma.rememberToken.count({ where: { userId } }),
    tokens: await prisma.personalAccessToken.count({ where: { tokenableId: userId } }),
    passkeys: await prisma.passkey.count({ where: { userId } }),
    resets: await prisma.passwordReset.count({ where: { userId } }),
  }
}

t.test('removes all credentials of an account that was never verified on a reset', async (t) => {
  const svc = await buildTestApp(t, { settings })
  const { user, email, browser, remembered, apiToken, authenticator, waiting, code, recoveryCodes } =
    await hijacked(svc)
  t.match(await keysOf(svc, user.id), { verified: false, sessions: 2, remembered: 1, tokens: 1, passkeys: 1 })
  const answer = await reset(svc, email, await tokenFor(svc, email))
  t.equal(answer.statusCode, 200, answer.body)
  const after = await keysOf(svc, user.id)
  t.match(after, { verified: true, sessions: 0, remembered: 0, tokens: 0, passkeys: 0, resets: 0 })
  t.strictSame(after.factor, [null, null, null, null])

  for (const spa of [browser, remembered]) t.equal((await spa.get('/api/user')).statusCode, 401)
  const kept = { cookie: `svc_remember=${await remembered.cookie('svc_remember')}` }
  t.equal((await svc.browser().get('/api/user', kept)).statusCode, 401)
  t.equal((await svc.bearer(apiToken, 'GET', '/api/user')).statusCode, 401)
  t.equal((await svc.browser().signIn(email)).statusCode, 401, 'the old password')
  for (const proof of [{ code: code() }, { recovery_code: recoveryCodes[0] }]) {
    t.equal((await waiting.post('/two-factor-challenge', proof)).statusCode, 422)
  }
  const thief = svc.browser()
  const { options } = (await thief.get('/passkeys/login/options')).json()
  const login = await thief.post('/passkeys/login', { credential: authenticator.assert(options) })
  t.equal(login.statusCode, 422, 'the passkey')

  const owner = svc.browser()
  t.match((await owner.signIn(email, password)).json(), { two_factor: false, user: { email_verified_at: String } })
  t.equal((await owner.get('/api/user')).json().two_factor_enabled, false)
  const events = await svc.database.prisma.event.findMany({ where: { userId: BigInt(user.id) } })
  t.equal(events.filter(({ type }) => type === 'account_claimed').length, 1)
})

t.test('keeps passkeys, tokens and second factor of a verified account', async (t) => {
  const svc = await buildTestApp(t, { settings })
  const { user, email, apiToken, secret } = await hijacked(svc)
  await svc.database.prisma.user.update({ where: { email }, data: { emailVerifiedAt: new Date(0) } })
  const { factor } = await keysOf(svc, user.id)
  t.equal((await reset(svc, email, await tokenFor(svc, email))).statusCode, 200)
  t.match(await keysOf(svc, user.id), { factor, verified: true, sessions: 0, remembered: 0, tokens: 1, passkeys: 1 })
  t.equal((await svc.bearer(apiToken, 'GET', '/api/user')).statusCode, 200)
  t.ok(secret)
  t.equal(await svc.database.prisma.event.count({ where: { type: 'account_claimed' } }), 0)
})

t.test('removes the access of a stranger who entered the address, when the change is final', async (t) => {
  const immediate = { ...settings, registration: { email_change: 'immediate' } }
  const svc = await buildTestApp(t, { settings: immediate })
  const attacker = await svc.createUser()
  const spa = await confirmedBrowser(svc, attacker.email)
  const apiToken = await svc.createToken(attacker)
  const email = 'victim@example.com'
  t.equal((await spa.put('/user/profile-information', { name: 'M', email })).statusCode, 200)
  svc.clock.advance(8 * day)
  t.equal((await reset(svc, email, await tokenFor(svc, email))).statusCode, 200)
  t.equal((await svc.bearer(apiToken, 'GET', '/api/user')).statusCode, 401)
  t.equal((await spa.get('/api/user')).statusCode, 401)
})

t.test('rolls back completely when a step fails, and keeps the token valid', async (t) => {
  const svc = await buildTestApp(t, { settings })
  const { user, email } = await hijacked(svc)
  const token = await tokenFor(svc, email)
  const before = await keysOf(svc, user.id)
  const queue = svc.app.mail.queueNotice.bind(svc.app.mail)
  svc.app.mail.queueNotice = () => Promise.reject(new Error('the last step fails'))
  t.equal((await reset(svc, email, token)).statusCode, 500)
  t.strictSame(await keysOf(svc, user.id), before)
  svc.app.mail.queueNotice = queue
  t.equal((await reset(svc, email, token)).statusCode, 200)
})

t.test('revokes a token that is concurrently issued with the old password', async (t) => {
  const svc = await buildTestApp(t, { settings })
  const replica = await buildTestApp(t, { settings, database: svc.where, clock: svc.clock })
  for (let round = 0; round < 3; round++) {
    const { email, id } = await svc.createUser({ verified: false })
    const token = await tokenFor(svc, email)
    let isOver = false
    const keep = async () => {
      while (!isOver) {
        const login = { email, password: 'correct horse', device_name: 'x' }
        await replica.bearer(null, 'POST', '/svc/token', login)
      }
    }
    const keeping = [keep(), keep(), keep()]
    t.equal((await reset(svc, email, token)).statusCode, 200)
    isOver = true
    await Promise.all(keeping)
    t.equal((await keysOf(svc, id)).tokens, 0)
  }
})
