// engine: none
import t from 'tap'
import { buildTestApp } from '../../support/app.ts'
import { redirectOf, ScriptlessBrowser } from '../../support/plain.ts'

const path = '/oauth/register'
const typed = { name: 'Grace Hopper', email: 'grace@example.com', password: 'compilers are useful' }

t.test('creates an account, mails the verification link and continues where the visitor came from', async (t) => {
  const svc = await buildTestApp(t)
  const visitor = new ScriptlessBrowser(svc)
  const signIn = await visitor.open('/oauth/login?return_to=%2Ftest-tokens')
  t.match(signIn.body, /href="http:\/\/localhost:8000\/oauth\/register\?return_to=%2Ftest-tokens"/)
  const page = await visitor.open(`${path}?return_to=%2Ftest-tokens`)
  t.equal(page.statusCode, 200)
  t.match(page.body, 'At least 8 characters.', 'shows the rule before it is broken')
  t.match(page.body, 'href="/oauth/login?return_to=%2Ftest-tokens"')
  const answer = await visitor.send(`${path}?return_to=%2Ftest-tokens`, typed)
  t.strictSame(redirectOf(answer), [303, '/test-tokens'])
  const user = (await visitor.browser.get('/api/user')).json()
  t.match(user, { name: typed.name, email: typed.email, role: 'user', email_verified_at: null })
  t.not(await svc.mailbox.find(typed.email, /(\/email\/verify\/\S+)/), '')
})

t.test('continues only to svc and to hosts that guard rules name', async (t) => {
  const rules = [{ hosts: ['orders.example.com'], access: 'public' }]
  const svc = await buildTestApp(t, { settings: { guard: { rules } } })
  for (const [n, [target, location]] of [
    ['https://evil.example/', '/'],
    ['//evil.example', '/'],
    ['/\\evil.example', '/'],
    ['javascript:alert(1)', '/'],
    ['https://orders.example.com.evil.example/', '/'],
    ['https://orders.example.com/a', 'https://orders.example.com/a'],
  ].entries()) {
    const answer = await new ScriptlessBrowser(svc).send(`${path}?return_to=${encodeURIComponent(target ?? '')}`, {
      ...typed,
      email: `grace${n}@example.com`,
    })
    t.strictSame(redirectOf(answer), [303, location], String(target))
  }
})

t.test('shows an invalid form again with its errors, and keeps all fields but the password', async (t) => {
  const svc = await buildTestApp(t, { settings: { rate_limits: { register: null } } })
  const { email } = await svc.createUser()
  const visitor = new ScriptlessBrowser(svc)
  for (const [change, message] of [
    [{ email }, 'The email has already been taken.'],
    [{ email: email.toUpperCase() }, 'The email has already been taken.'],
    [{ email: 'no address' }, 'The email field must be a valid email address.'],
    [{ name: '' }, 'The name field is required.'],
    [{ name: 'Grace\u202e' }, 'The name field contains characters that are not allowed.'],
    [{ name: 'x'.repeat(256) }, 'The name field must not be greater than 255 characters.'],
    [{ password: '' }, 'The password field is required.'],
    [{ password: 'short' }, 'The password field must be at least 8 characters.'],
    [{ password: 'password1' }, 'The given password has appeared in a data leak.'],
  ] as const) {
    const form = { ...typed, remember: '1', ...change }
    const answer = await visitor.send(`${path}?return_to=/a`, form)
    t.equal(answer.statusCode, 422, message)
    t.match(answer.body, message)
    t.match(answer.body, 'name="return_to" value="/a"')
    t.match(answer.body, /id="remember"[^>]* checked/)
    if (form.password !== '') t.notMatch(answer.body, `value="${form.password}"`)
    if (form.name === typed.name) t.match(answer.body, `value="${typed.name}"`)
  }
  const hostile = '"><script>alert(1)</script>'
  const answer = await visitor.send(path, { ...typed, name: hostile, email: hostile })
  t.equal(answer.statusCode, 422)
  t.notMatch(answer.body, '<script>alert')
  for (const fields of [{}, { name: ['a'], email: {}, password: 1 }, { email: 'x'.repeat(80_000) }]) {
    const sent = await visitor.browser.post(path, fields, { accept: 'text/html', 'sec-fetch-site': 'same-origin' })
    t.equal(sent.statusCode, 422)
  }
  t.equal(await svc.database.prisma.user.count(), 1)
})

t.test('accepts no field that the form does not have', async (t) => {
  const svc = await buildTestApp(t)
  const visitor = new ScriptlessBrowser(svc)
  const more = { role: 'admin', email_verified_at: '2026-01-01T00:00:00Z', id: '7', password_confirmation: 'x' }
  t.equal((await visitor.send(path, { ...typed, ...more })).statusCode, 303)
  t.match(await svc.database.prisma.user.findFirstOrThrow(), { role: 'user', emailVerifiedAt: null, id: 1n })
})

t.test('rejects forms without the CSRF token, and too many registrations', async (t) => {
  const svc = await buildTestApp(t, { settings: { rate_limits: { register: '2/1h' } } })
  const visitor = new ScriptlessBrowser(svc)
  await visitor.open(path)
  t.equal((await visitor.post(path, typed)).statusCode, 419)
  t.equal(await svc.database.prisma.user.count(), 0)
  const statuses: number[] = []
  for (const n of [1, 2, 3]) {
    const answer = await new ScriptlessBrowser(svc).send(path, { ...typed, email: `grace${n}@example.com` })
    statuses.push(answer.statusCode)
    if (answer.statusCode === 429) t.match(answer.body, 'Too many attempts')
  }
  t.strictSame(statuses, [303, 303, 429])
  const body = { ...typed, email: 'other@example.com', password_confirmation: typed.password }
  const spa = svc.browser()
  await spa.get('/svc/csrf-cookie')
  const { statusCode } = await spa.post('/register', body)
  t.equal(statusCode, 429, 'the page and the API share the limit')
})

t.test('sends signed-in visitors on, and creates no second account for them', async (t) => {
  const svc = await buildTestApp(t)
  const visitor = new ScriptlessBrowser(svc)
  const { body } = await visitor.open(path)
  await visitor.send(path, typed)
  t.strictSame(redirectOf(await visitor.open(`${path}?return_to=/a`)), [303, '/a'])
  const [, _token = ''] = /name="_token" value="([^"]+)"/.exec((await visitor.open('/')).body) ?? []
  t.ok(body.includes('_token'))
  const again = await visitor.post(path, { ...typed, email: 'second@example.com', _token })
  t.equal(again.statusCode, 409)
  t.match(again.body, 'You are signed in already.')
  t.equal(await svc.database.prisma.user.count(), 1)
})

t.test('has no registration page where users cannot register', async (t) => {
  const svc = await buildTestApp(t, { settings: { registration: { enabled: false } } })
  const visitor = new ScriptlessBrowser(svc)
  t.equal((await visitor.open(path)).statusCode, 404)
  const signIn = await visitor.open('/oauth/login')
  t.notMatch(signIn.body, 'oauth/register')
  const [, _token = ''] = /name="_token" value="([^"]+)"/.exec(signIn.body) ?? []
  t.equal((await visitor.post(path, { ...typed, _token })).statusCode, 404)
  t.equal(await svc.database.prisma.user.count(), 0)
})

t.test('leads to the registration page of the application', async (t) => {
  const links = { register: 'https://app.example.com/join?from=svc' }
  const svc = await buildTestApp(t, { settings: { links } })
  const visitor = new ScriptlessBrowser(svc)
  const target = 'https://app.example.com/join?from=svc&return_to=%2Fa'
  t.strictSame(redirectOf(await visitor.open(`${path}?return_to=/a`)), [302, target])
  t.match((await visitor.open('/oauth/login?return_to=/a')).body, target.replaceAll('&', '&amp;'))
})
