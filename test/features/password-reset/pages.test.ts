// engine: none
import type { LightMyRequestResponse } from 'fastify'
import t from 'tap'
import { buildTestApp } from '../../support/app.ts'
import { minute, second } from '../../support/clock.ts'
import { credentials, redirectOf, ScriptlessBrowser } from '../../support/plain.ts'

const login = '/oauth/login'
const forgot = '/oauth/forgot-password'

t.test('resets a forgotten password, from the link in the form to the sign-in', async (t) => {
  const svc = await buildTestApp(t)
  const { email, id } = await svc.createUser()
  const visitor = new ScriptlessBrowser(svc)
  t.match((await visitor.open(login)).body, `href="${forgot}"`)
  const odd = await visitor.send(forgot, { email: 'no address' })
  t.equal(odd.statusCode, 422)
  t.match(odd.body, 'The email field must be a valid email address.')
  const [known, unknown] = [
    await visitor.send(forgot, { email }),
    await visitor.send(forgot, { email: 'no@example.com' }),
  ]
  t.equal(known.statusCode, 200)
  t.match(known.body, `If there is an account for ${email}, we sent a link to that address.`)
  t.match(known.body, new RegExp(`name="email" value="${email}"[\\s\\S]*id="forgot-again"[\\s\\S]*href="${forgot}"`))
  const neutral = ({ body }: LightMyRequestResponse) =>
    body.replace(/value="[^"]*"|nonce="[^"]*"/g, '').replaceAll(/[\w.+-]+@example\.com/g, '')
  t.equal(neutral(known), neutral(unknown), 'the same page')
  const [mail] = await svc.mailbox.to(email)
  const link = new URL(/https?:\S+reset-password\S+/.exec(mail?.text ?? '')?.[0] ?? '')
  const at = link.pathname + link.search
  const page = await visitor.open(at)
  t.equal(page.statusCode, 200)
  t.equal(page.headers['referrer-policy'], 'same-origin', 'the token is sent nowhere else')
  const typed = (password: string) => ({ password })
  for (const [form, text] of [
    [typed('xk4#q'), 'The password field must be at least 8 characters.'],
    [typed(''), 'The password field must be at least 8 characters.'],
  ] as const) {
    const answer = await visitor.send(at, form)
    t.equal(answer.statusCode, 422)
    t.match(answer.body, text)
    if (form.password !== '') t.notMatch(answer.body, form.password)
  }
  t.equal((await visitor.post(link.pathname, { email, ...typed('a new passphrase') })).statusCode, 419)
  const done = await visitor.send(at, typed('a new passphrase'))
  t.strictSame(redirectOf(done), [303, `${login}?reset=1`])
  t.equal(await visitor.user(), null, 'does not sign in')
  t.match((await visitor.open(`${login}?reset=1`)).body, 'role="status"')
  const late = await visitor.open(at)
  t.equal(late.statusCode, 403)
  t.match(late.body, 'This link is invalid')
  t.equal((await visitor.send(login, credentials(email, 'a new passphrase'))).statusCode, 303)
  t.equal(await visitor.user(), id)
  for (const [path, status] of [
    ['/reset-password/%00', 200],
    ['/reset-password/%FF', 404],
    [`/reset-password/${'x'.repeat(300)}`, 404],
    ['/reset-password/..%2f', 200],
  ] as const) {
    t.equal((await visitor.open(path)).statusCode, status, path)
  }
  svc.clock.advance(minute + second)
  for (let i = 0; i < 6; i++) await visitor.send(forgot, { email: `unknown${i}@example.com` })
  const limited = await visitor.send(forgot, { email })
  t.equal(limited.statusCode, 429)
  t.match(limited.headers['content-type'], 'text/html')
})
