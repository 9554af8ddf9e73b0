// engine: none
import t from 'tap'
import type { TestApp } from '../../support/app.ts'
import { minute } from '../../support/clock.ts'
import { oauthSettings, request } from '../../support/oauth.ts'
import { nextAddress, redirectOf, ScriptlessBrowser } from '../../support/plain.ts'
import { enableTwoFactor } from '../../support/totp.ts'
import { askPage, codeApp, codePage, mailedCode, otherThan } from './setup.ts'

const login = '/oauth/login'

/** The path of the link of the last mail. */
const mailedLink = (svc: TestApp, email: string) =>
  svc.mailbox.find(email, /http:\/\/localhost:8000(\/oauth\/email-code\S+)/)

/** Presses "Send me a code" on the sign-in page, which posts the form of the password elsewhere. */
async function press(visitor: ScriptlessBrowser, at: string, typed: Record<string, string>) {
  const { body } = await visitor.open(at)
  const [, action = ''] = /<button form="login-form" formaction="([^"]+)" formnovalidate/.exec(body) ?? []
  const [form = ''] = /<form[^>]* id="login-form">.*?<\/form>/s.exec(body) ?? []
  const hidden = [...form.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g)]
  const fields = Object.fromEntries(hidden.map(([, name = '', value = '']) => [name, value.replaceAll('&amp;', '&')]))
  return visitor.post(action, { ...fields, ...typed })
}

t.test(
  'sends a code from the sign-in page without JavaScript, and continues where the visitor came from',
  async (t) => {
    const svc = await codeApp(t)
    const user = await svc.createUser()
    const visitor = new ScriptlessBrowser(svc)
    const asked = await press(visitor, `${login}?return_to=%2Ftest-tokens`, {
      email: user.email,
      password: '',
      remember: '1',
    })
    t.strictSame(redirectOf(asked), [303, codePage])
    const page = await visitor.open(codePage)
    t.match(page.body, user.email)
    t.match(page.body, 'autocomplete="one-time-code"')
    const code = await mailedCode(svc, user.email)
    const wrong = await visitor.send(codePage, { code: otherThan(code) })
    t.equal(wrong.statusCode, 422)
    t.match(wrong.body, 'The provided code was incorrect or has expired.')
    const done = await visitor.send(codePage, { code })
    t.strictSame(redirectOf(done), [303, '/test-tokens'])
    t.equal(await visitor.user(), user.id)
    t.ok(await visitor.browser.cookie('svc_remember'))
  },
)

t.test('says that a password from before the verification was removed', async (t) => {
  const svc = await codeApp(t)
  for (const [password, removed] of [
    ['correct horse', true],
    [null, false],
  ] as const) {
    const user = await svc.createUser({ verified: false })
    const data = password === null ? { password } : {}
    await svc.database.prisma.user.update({ where: { id: BigInt(user.id) }, data })
    const visitor = new ScriptlessBrowser(svc)
    await press(visitor, `${login}?return_to=%2Ftest-tokens`, { email: user.email })
    const done = await visitor.send(codePage, { code: await mailedCode(svc, user.email) })
    t.equal(await visitor.user(), user.id)
    if (removed) {
      t.match(done.body, 'Your earlier password was removed')
      t.match(done.body, 'id="continue" href="/test-tokens"')
    } else t.strictSame(redirectOf(done), [303, '/test-tokens'])
  }
})

t.test('shows the link of the mail with its code, and uses it up only with the button', async (t) => {
  const svc = await codeApp(t)
  const user = await svc.createUser()
  const visitor = new ScriptlessBrowser(svc)
  await visitor.send(askPage, { email: user.email })
  const link = await mailedLink(svc, user.email)
  const code = await mailedCode(svc, user.email)
  const scanner = new ScriptlessBrowser(svc)
  for (let n = 0; n < 7; n++) {
    const scanned = await scanner.open(link)
    t.equal(scanned.statusCode, 200)
    t.match(scanned.body, 'Enter the code in the other browser')
    t.notMatch(scanned.body, `value="${code}"`)
    t.notMatch(scanned.body, user.email)
    t.match((await visitor.open(link)).body, `value="${code}"`)
  }
  t.equal((await visitor.open(link.replace(code, otherThan(code)))).statusCode, 200, 'no hint that the code is wrong')
  t.strictSame(redirectOf(await visitor.send(link, { code })), [303, '/'])
  t.equal(await visitor.user(), user.id)
})

t.test('does not sign in another browser that posts the code of the link', async (t) => {
  const svc = await codeApp(t)
  const user = await svc.createUser()
  await new ScriptlessBrowser(svc).send(askPage, { email: user.email })
  const code = await mailedCode(svc, user.email)
  const thief = new ScriptlessBrowser(svc)
  await thief.send(askPage, { email: 'thief@example.com' })
  t.equal((await thief.send(codePage, { code })).statusCode, 422)
  t.equal(await thief.user(), null)
  const { body } = await new ScriptlessBrowser(svc).open(login)
  const fresh = new ScriptlessBrowser(svc)
  await fresh.open(login)
  const [, _token = ''] = /name="_token" value="([^"]+)"/.exec(body) ?? []
  t.equal((await fresh.post(codePage, { code, _token })).statusCode, 419, 'the CSRF token of another browser')
})

t.test('continues only to svc and to hosts that guard rules name', async (t) => {
  const rules = [{ hosts: ['orders.example.com'], access: 'public' }]
  const svc = await codeApp(t, { guard: { rules } })
  for (const [target, location] of [
    ['https://evil.example/', '/'],
    ['//evil.example', '/'],
    ['/\\evil.example', '/'],
    ['javascript:alert(1)', '/'],
    ['https://orders.example.com/a', 'https://orders.example.com/a'],
  ] as const) {
    const { email } = await svc.createUser()
    const visitor = new ScriptlessBrowser(svc)
    await visitor.send(`${askPage}?return_to=${encodeURIComponent(target)}`, { email })
    t.strictSame(
      redirectOf(await visitor.send(codePage, { code: await mailedCode(svc, email) })),
      [303, location],
      target,
    )
  }
})

t.test('asks for the second factor on the page, and keeps the destination', async (t) => {
  const svc = await codeApp(t)
  const ada = await enableTwoFactor(svc)
  const visitor = new ScriptlessBrowser(svc)
  await visitor.send(`${askPage}?return_to=%2Ftest-tokens`, { email: ada.email })
  const first = await visitor.send(codePage, { code: await mailedCode(svc, ada.email) })
  t.strictSame(redirectOf(first), [303, `${login}?return_to=%2Ftest-tokens`])
  t.equal(await visitor.user(), null)
  const done = await visitor.send(String(first.headers.location), { code: ada.code() })
  t.strictSame(redirectOf(done), [303, '/test-tokens'])
  t.equal(await visitor.user(), ada.user.id)
})

t.test('continues an authorization request', async (t) => {
  const svc = await codeApp(t, oauthSettings)
  const { email } = await svc.createUser()
  const visitor = new ScriptlessBrowser(svc)
  const { headers } = await visitor.open(`/oauth/authorize?${new URLSearchParams(request('web'))}`, {
    'sec-fetch-mode': 'navigate',
  })
  let at = String(headers.location)
  for (let n = 0; n < 3 && !at.includes(login); n++) at = String((await visitor.open(at)).headers.location)
  at = at.replace('http://localhost:8000', '')
  await press(visitor, at, { email })
  const done = await visitor.send(codePage, { code: await mailedCode(svc, email) })
  t.match(nextAddress(done), /^\/oauth\/(authorize|interaction)\//)
  const consent = await visitor.open(String(nextAddress(done)))
  t.equal(consent.statusCode, 303)
})

t.test('shows an invalid address again, and leads back to the form without a pending code', async (t) => {
  const svc = await codeApp(t)
  const visitor = new ScriptlessBrowser(svc)
  t.strictSame(redirectOf(await visitor.open(codePage)), [302, askPage])
  const hostile = '"><script>alert(1)</script>'
  const answer = await visitor.send(`${askPage}?return_to=/a`, { email: hostile })
  t.equal(answer.statusCode, 422)
  t.match(answer.body, 'The email field must be a valid email address.')
  t.match(answer.body, 'name="return_to" value="/a"')
  t.notMatch(answer.body, '<script>alert')
  t.equal((await press(visitor, login, { email: '' })).statusCode, 422, 'the button without an address')
  t.notMatch((await visitor.open(`${codePage}?code=${encodeURIComponent(hostile)}`)).body, '<script>alert')
  const { email } = await svc.createUser()
  await visitor.send(askPage, { email })
  const code = await mailedCode(svc, email)
  t.notMatch((await visitor.open(`${codePage}?code=${encodeURIComponent(hostile)}`)).body, '<script>alert')
  svc.clock.advance(10 * minute)
  const { body } = await visitor.open(askPage)
  const [, _token = ''] = /name="_token" value="([^"]+)"/.exec(body) ?? []
  const late = await visitor.post(codePage, { code, _token })
  t.equal(late.statusCode, 422)
  t.match(late.body, 'The provided code was incorrect or has expired.')
})

t.test('shows the time to wait after too many wrong codes, and after too many requests', async (t) => {
  const svc = await codeApp(t, { rate_limits: { login: '2/1m' } })
  const { email } = await svc.createUser()
  const visitor = new ScriptlessBrowser(svc)
  await visitor.send(askPage, { email })
  const code = await mailedCode(svc, email)
  for (let n = 0; n < 2; n++) t.equal((await visitor.send(codePage, { code: otherThan(code) })).statusCode, 422)
  const refused = await visitor.send(codePage, { code })
  t.equal(refused.statusCode, 429)
  t.equal(refused.headers['retry-after'], '60')
  t.match(refused.body, 'name="code"')
  svc.clock.advance(minute)
  t.equal((await visitor.send(codePage, { code })).statusCode, 303, 'a refused attempt does not count for the code')
  // The browser is known now, so what it asked for as a guest does not count.
  for (let n = 0; n < 5; n++) t.equal((await visitor.send(askPage, { email })).statusCode, 303)
  const limited = await visitor.send(askPage, { email })
  t.equal(limited.statusCode, 429)
  t.match(limited.body, `value="${email}"`)
})

t.test('offers a code where a passkey fails', async (t) => {
  const svc = await codeApp(t)
  const { body } = await new ScriptlessBrowser(svc).open(`${login}?return_to=/a`)
  t.match(body, /<a href="\/oauth\/email-code\?return_to=%2Fa" id="passkey-recover">/)
})
