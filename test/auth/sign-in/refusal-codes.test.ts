// engine: none
import t from 'tap'
import { buildTestApp } from '../../support/app.ts'
import { minute } from '../../support/clock.ts'
import { ScriptlessBrowser } from '../../support/plain.ts'
import { enableTwoFactor } from '../../support/totp.ts'

const right = 'correct horse'
const required = {
  code: 'two_factor_required',
  message: 'Enter the code of your second factor.',
  errors: { code: ['Enter the code of your second factor.'] },
}

t.test('names what an app lacks at POST /svc/token', async (t) => {
  const svc = await buildTestApp(t)
  const { user } = await enableTwoFactor(svc)
  const send = (payload: object) => svc.app.inject({ method: 'POST', url: '/svc/token', payload })
  const form = { email: user.email, password: right, device_name: 'phone' }
  const answers = [
    [await send({ ...form, password: 'wrong' }), { code: 'invalid_credentials', errors: { email: [String] } }],
    [await send({ ...form, email: 'nobody@example.com' }), { code: 'invalid_credentials' }],
    [await send(form), required],
    [await send({ ...form, code: '' }), required],
    [await send({ ...form, code: '000000' }), { code: 'validation_failed', errors: { code: [/invalid/] } }],
    [await send({ challenge: 'x', code: '000000' }), { code: 'challenge_expired', errors: { challenge: [String] } }],
  ] as const
  for (const [answer, body] of answers) {
    t.equal(answer.statusCode, 422)
    t.match(answer.json(), body)
  }
})

for (const status of [401, 422]) {
  t.test(`answers ${status} invalid_credentials to a wrong password at POST /login`, async (t) => {
    const svc = await buildTestApp(t, { settings: { session: { login_failure_status: status } } })
    const { email } = await svc.createUser()
    for (const address of [email, 'nobody@example.com']) {
      const answer = await svc.browser().signIn(address, 'wrong')
      t.equal(answer.statusCode, status)
      t.match(answer.json(), { code: 'invalid_credentials', message: /credentials do not match/ })
    }
  })
}

t.test('tells a session that waits for the second factor from a guest', async (t) => {
  const svc = await buildTestApp(t)
  const { user } = await enableTwoFactor(svc)
  const spa = svc.browser()
  await spa.get('/svc/csrf-cookie')
  t.match((await spa.get('/api/user')).json(), { code: 'unauthenticated' })
  t.match((await spa.signIn(user.email)).json(), { two_factor: true })
  for (const answer of [await spa.get('/api/user'), await spa.get('/user/sessions')]) {
    t.equal(answer.statusCode, 401)
    t.equal(answer.headers['www-authenticate'], 'Bearer')
    t.match(answer.json(), { code: 'two_factor_required' })
  }
  t.ok(svc.logs.some((line) => line.includes('The session waits for the second factor.')))

  svc.clock.advance(10 * minute)
  t.match((await spa.get('/api/user')).json(), { code: 'unauthenticated' })
  const late = await spa.post('/two-factor-challenge', { code: '000000' })
  t.equal(late.statusCode, 422)
  t.match(late.json(), { code: 'challenge_expired', errors: { code: [/expired/] } })
})

t.test('says on the page that the code came too late, and keeps the address', async (t) => {
  const svc = await buildTestApp(t)
  const { user } = await enableTwoFactor(svc)
  const visitor = new ScriptlessBrowser(svc)
  await visitor.send('/oauth/login', { email: user.email, password: right, remember: '1' })
  const { body } = await visitor.open('/oauth/login')
  const hidden = [...body.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g)]
  const kept = Object.fromEntries(hidden.map(([, name = '', value = '']) => [name, value]))
  svc.clock.advance(10 * minute)
  const late = await visitor.post('/oauth/login', { ...kept, code: '000000' })
  t.equal(late.statusCode, 422)
  t.match(late.body, 'The code came too late.')
  t.match(late.body, `value="${user.email}"`)
  t.match(late.body, /name="remember"[^>]*checked|checked[^>]*name="remember"/)
})
