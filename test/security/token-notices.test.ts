// engine: none
import t from 'tap'
import { buildTestApp, confirming, type TestApp } from '../support/app.ts'
import { minute } from '../support/clock.ts'
import { runCommandOn } from '../support/command.ts'
import { oauthSettings } from '../support/oauth.ts'
import { enableTwoFactor } from '../support/totp.ts'

const subjects = async (svc: TestApp, email: string) => (await svc.mailbox.to(email)).map(({ subject }) => subject)
const password = 'correct horse'

t.test('sends a notice when an API token or a personal access token is created', async (t) => {
  const svc = await buildTestApp(t, { settings: oauthSettings })
  await svc.createUser({ email: 'ada@example.com' })
  const spa = svc.browser()
  await spa.signIn('ada@example.com')
  const evil = { token_name: 'Visit https://evil.example' }
  t.equal((await spa.post('/tokens/create', evil)).statusCode, 200)
  const personal = { name: 'Visit https://evil.example', scopes: ['orders:read'] }
  t.equal((await spa.post('/oauth/personal-access-tokens', personal)).statusCode, 200)
  const mails = (await svc.mailbox.to('ada@example.com')).slice(-2)
  t.strictSame(mails.map(({ subject }) => subject).sort(), [
    'A new API token was created',
    'A new personal access token was created',
  ])
  for (const mail of mails) t.notMatch(mail.raw + mail.text, 'evil', 'names are not mailed')
})

t.test('sends a notice when a device signs in, and none to an unverified address', async (t) => {
  const svc = await buildTestApp(t)
  for (const [email, verified] of [['ada@example.com', true] as const, ['eve@example.com', false] as const]) {
    await svc.createUser({ email, verified })
    const body = { email, password, device_name: 'Phone' }
    t.equal((await svc.bearer(null, 'POST', '/svc/token', body)).statusCode, 200)
  }
  t.strictSame(await subjects(svc, 'ada@example.com'), ['New sign-in on Phone'])
  const [mail] = await svc.mailbox.to('ada@example.com')
  t.notMatch(mail?.text, /API token/i, 'in words for people')
  t.strictSame(await subjects(svc, 'eve@example.com'), [])
})

t.test('requires a recent password for new tokens with tokens.confirm_password', async (t) => {
  const settings = { ...oauthSettings, ...confirming, tokens: { confirm_password: true } }
  const svc = await buildTestApp(t, { settings })
  const user = await svc.createUser({ email: 'ada@example.com' })
  const spa = svc.browser()
  await spa.signIn('ada@example.com')
  const create = {
    '/tokens/create': { token_name: 'x' },
    '/api/tokens/create': { token_name: 'x' },
    '/oauth/personal-access-tokens': { name: 'x', scopes: [] },
  }
  const statuses = async () => {
    const found: number[] = []
    for (const [url, body] of Object.entries(create)) found.push((await spa.post(url, body)).statusCode)
    return found
  }
  t.strictSame(await statuses(), [423, 423, 423])
  t.match((await spa.post('/tokens/create', { token_name: 'x' })).json(), { code: 'password_confirmation_required' })
  t.equal(await svc.database.prisma.personalAccessToken.count(), 0)
  await spa.post('/user/confirm-password', { password })
  t.strictSame(await statuses(), [200, 200, 200])
  const token = await svc.createToken(user)
  t.equal(
    (await svc.bearer(token, 'POST', '/tokens/create', { token_name: 'x' })).statusCode,
    423,
    'a token cannot confirm',
  )
  const device = { email: 'ada@example.com', password, device_name: 'Phone' }
  t.equal((await svc.bearer(null, 'POST', '/svc/token', device)).statusCode, 200, 'a sign-in proves the password')
})

t.test('notifies the user whose second factor user:update --reset-two-factor removes', async (t) => {
  const svc = await buildTestApp(t)
  const { email } = await enableTwoFactor(svc)
  svc.clock.advance(minute)
  const notices = async () =>
    (await subjects(svc, email)).filter((subject) => subject === 'An administrator removed two-factor authentication')
  for (let i = 0; i < 2; i++) await runCommandOn(svc, 'user:update', `--email=${email}`, '--reset-two-factor')
  t.equal((await notices()).length, 1, 'the second time there is nothing to remove')
})

t.test('a mail has only the letters of the name of a device', async (t) => {
  const svc = await buildTestApp(t, { settings: { rate_limits: { mail: null } } })
  const names: [given: string, subject: string][] = [
    ["Ada's iPhone 15 (work)", "New sign-in on Ada's iPhone 15 (work)"],
    ['تابلت سارة', 'New sign-in on تابلت سارة'],
    ['愛達的手機', 'New sign-in on 愛達的手機'],
    ['MacBook-Pro.local', 'New sign-in on MacBook-Pro local'],
    ['https://evil.example/login', 'New sign-in on https evil example login'],
    ['a Bcc: eve@evil.example', 'New sign-in on a Bcc eve evil example'],
    ['<b>x</b>{app}', 'New sign-in on b x b app'],
    [`Phone ${'x'.repeat(200)}`, `New sign-in on Phone ${'x'.repeat(34)}`],
    ['☎ / ./', 'New sign-in to your account'],
  ]
  for (const [index, [device_name, subject]] of names.entries()) {
    const { email } = await svc.createUser({ email: `user${index}@example.com` })
    t.equal((await svc.bearer(null, 'POST', '/svc/token', { email, password, device_name })).statusCode, 200)
    t.strictSame(await subjects(svc, email), [subject], device_name)
    const [mail] = await svc.mailbox.to(email)
    t.notMatch(mail?.raw, /evil\.example|<b>/)
  }
})
