import t from 'tap'
import { buildTestApp } from '../../support/app.ts'
import { second } from '../../support/clock.ts'
import {
  challenged,
  codeAt,
  confirmedBrowser,
  deviceWithFactor,
  enableTwoFactor,
  twoFactorReplicas,
} from '../../support/totp.ts'

const challenge = '/two-factor-challenge'

const counted = (statuses: readonly number[], status: number) => statuses.filter((found) => found === status).length

t.test('limits guesses across all entry points and addresses', async (t) => {
  const { svc, other, ada } = await twoFactorReplicas(t)
  const bob = await enableTwoFactor(svc)
  const spa = await challenged(svc, ada.email)
  const page = svc.browser()
  const token = async () => /name="_token" value="([^"]+)"/.exec((await page.get('/oauth/login', html)).body)?.[1]
  const html = { accept: 'text/html', 'x-xsrf-token': undefined }
  const form = async (body: Record<string, string>) =>
    page.post('/oauth/login', { _token: await token(), ...body }, html)
  t.equal((await form({ email: ada.email, password: 'correct horse' })).statusCode, 303)

  t.equal((await spa.post(challenge, { code: ada.wrong() })).statusCode, 422)
  t.equal((await deviceWithFactor(other, ada.email, { code: ada.wrong() }, '198.51.100.1')).statusCode, 422)
  t.equal((await deviceWithFactor(svc, ada.email, { recovery_code: 'guess' }, '198.51.100.2')).statusCode, 422)
  t.equal((await form({ code: ada.wrong() })).statusCode, 422)
  t.equal((await spa.post(challenge, { recovery_code: 'guess' })).statusCode, 422)
  svc.clock.advance(10 * second)
  const text = 'Too many login attempts. Please try again in 50 seconds.'
  const refused = await spa.post(challenge, { code: ada.code() })
  t.equal(refused.statusCode, 429, 'even a valid one')
  t.equal(refused.headers['retry-after'], '50')
  t.match(refused.json(), { message: text, code: 'too_many_requests', errors: { email: [text] } })
  const elsewhere = await deviceWithFactor(other, ada.email, { code: ada.code() }, '2001:db8::1')
  t.equal(elsewhere.statusCode, 429)
  t.ok(elsewhere.headers['retry-after'])
  const seen = await form({ code: ada.code() })
  t.equal(seen.statusCode, 429)
  t.equal(seen.headers['retry-after'], '50')
  t.equal(seen.body.split(text).length - 1, 1, 'logged once')

  t.equal(
    (await deviceWithFactor(svc, bob.email, { code: bob.code() })).statusCode,
    200,
    'another account is not affected',
  )
  svc.clock.advance(50 * second)
  t.equal((await spa.post(challenge, { code: ada.code() })).statusCode, 204, 'until the window ends')
  const types = (
    await svc.database.prisma.event.findMany({ where: { userId: BigInt(ada.user.id) }, orderBy: { id: 'asc' } })
  ).map(({ type }) => type)
  t.equal(
    counted(
      types.map((type) => Number(type === 'two_factor_failed')),
      1,
    ),
    5,
  )
  t.equal(types.filter((type) => type === 'lockout').length, 1)
})

t.test('counts failed password confirmations as guesses, and clears them after a success', async (t) => {
  const svc = await buildTestApp(t)
  const user = await svc.createUser()
  const spa = await confirmedBrowser(svc, user.email)
  await spa.post('/user/two-factor-authentication')
  const { secretKey } = (await spa.get('/user/two-factor-secret-key')).json()
  const confirm = (code: string) => spa.post('/user/confirmed-two-factor-authentication', { code })
  const wrong = codeAt(secretKey, svc.clock.now(), 9)
  for (let i = 0; i < 4; i++) t.equal((await confirm(wrong)).statusCode, 422)
  t.equal((await confirm(codeAt(secretKey, svc.clock.now()))).statusCode, 200)
  await spa.post('/user/two-factor-authentication', { force: true })
  for (let i = 0; i < 5; i++) t.equal((await confirm(wrong)).statusCode, 422)
  const refused = await confirm(wrong)
  t.equal(refused.statusCode, 429)
  t.ok(Number(refused.headers['retry-after']) > 0)
})

t.test('does not exceed the limit with parallel guesses', async (t) => {
  const { svc, other, ada } = await twoFactorReplicas(t)
  const waiting = await Promise.all([svc, other].map((app) => challenged(app, ada.email)))
  const guesses = Array.from({ length: 24 }, (_, i) =>
    (waiting[i % 2] ?? ada.browser).post(challenge, { code: ada.wrong() }),
  )
  const statuses = (await Promise.all(guesses)).map(({ statusCode }) => statusCode)
  t.equal(counted(statuses, 422), 5)
  t.equal(counted(statuses, 429), 19)
})

t.test('delays slow guessing more and more, from any address', async (t) => {
  const svc = await buildTestApp(t, { settings: { rate_limits: { two_factor: '1000/1m' } } })
  const ada = await enableTwoFactor(svc)
  const spa = await challenged(svc, ada.email)
  const guess = () => spa.post(challenge, { code: ada.wrong() })
  for (let i = 0; i < 50; i++) t.equal((await guess()).statusCode, 422)
  const waits: (string | undefined)[] = []
  for (let i = 0; i < 3; i++) {
    const refused = await guess()
    t.equal(refused.statusCode, 429)
    waits.push(String(refused.headers['retry-after']))
    svc.clock.advance(Number(refused.headers['retry-after']) * second)
    t.equal((await guess()).statusCode, 422, 'one more')
  }
  t.strictSame(waits, ['30', '60', '120'])
  const known = await ada.browser.signIn(ada.email)
  t.strictSame(known.json(), { two_factor: true })
  t.equal(
    (await ada.browser.post(challenge, { code: ada.code() })).statusCode,
    204,
    'except in a browser that signed in here before',
  )
})
