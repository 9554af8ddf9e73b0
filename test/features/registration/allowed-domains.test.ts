// engine: none
import t from 'tap'
import { registration, visitor } from '../../support/accounts.ts'
import { buildTestApp } from '../../support/app.ts'
import { ScriptlessBrowser } from '../../support/plain.ts'
import { confirmedBrowser } from '../../support/totp.ts'
import { buildSocial, failure, frontEnd, Visitor } from '../social/visitor.ts'

const allowed_domains = ['Example.com', '*.example.org', 'bücher.example']
const message = 'The email must be an address at: Example.com, *.example.org, bücher.example'
const settings = { registration: { allowed_domains }, rate_limits: { register: null, mail: null } }

t.test('registers addresses of the allowed domains only', async (t) => {
  const svc = await buildTestApp(t, { settings })
  const statusOf = async (email: string) => {
    const answer = await (await visitor(svc)).post('/register', registration(email))
    if (answer.statusCode === 422) t.strictSame(answer.json().errors, { email: [message] }, email)
    return answer.statusCode
  }
  for (const email of [
    'ada@example.com',
    'bob@EXAMPLE.COM',
    '"odd@evil.example"@example.com',
    'ada@team.example.org',
    'ada@a.b.example.org',
    'ada@xn--bcher-kva.example',
    'bob@BÜCHER.example',
  ])
    t.equal(await statusOf(email), 201, email)
  for (const email of [
    'ada@team.example.com',
    'ada@example.org',
    'ada@notexample.com',
    'ada@notexample.org',
    'ada@example.com.evil.example',
    '"ada@example.com"@evil.example',
    'ada@bucher.example',
    'ada@exаmple.com',
    'ada@localhost',
  ])
    t.equal(await statusOf(email), 422, email)
  const page = await new ScriptlessBrowser(svc).send('/oauth/register', {
    name: 'Ada',
    email: 'ada@evil.example',
    password: 'violet engine on the hill',
  })
  t.equal(page.statusCode, 422)
  t.match(page.body, message)
})

t.test('limits changed addresses, and keeps existing ones', async (t) => {
  const svc = await buildTestApp(t, { settings })
  const { email } = await svc.createUser({ email: 'old@elsewhere.example' })
  const browser = await confirmedBrowser(svc, email)
  const change = (to: string) => browser.put('/user/profile-information', { name: 'Ada', email: to })
  t.equal((await change(email)).statusCode, 200, 'the current address')
  const refused = await change('new@elsewhere.example')
  t.equal(refused.statusCode, 422)
  t.strictSame(refused.json().errors, { email: [message] })
  t.strictSame(await svc.mailbox.to('new@elsewhere.example'), [])
  t.equal((await change('new@example.com')).statusCode, 200)
})

t.test('creates no account for an identity of another domain, and signs known ones in', async (t) => {
  const svc = await buildSocial(t, {
    acme: { trust_email: true },
    settings: { app: { frontend_url: frontEnd }, registration: { allowed_domains: ['example.org'] } },
  })
  const visitor = new Visitor(svc)
  t.equal(failure(await visitor.signIn('grace')), 'email_domain_not_allowed')
  const back = await visitor.allow(await visitor.begin(), 'grace')
  const answer = await visitor.browser.get(back.pathname + back.search)
  t.equal(answer.statusCode, 422)
  t.match(answer.json(), { code: 'email_domain_not_allowed' })
  t.equal(await svc.database.prisma.user.count(), 0)
  await svc.createUser({ email: 'grace@example.com' })
  t.equal((await new Visitor(svc).signIn('grace')).headers.location, `${frontEnd}/`)
})
