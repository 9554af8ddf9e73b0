import t from 'tap'
import { visitor as guest, registration, strongPassword } from '../../support/accounts.ts'
import { buildTestApp } from '../../support/app.ts'
import { Device } from '../../support/device.ts'
import { redirectOf, ScriptlessBrowser } from '../../support/plain.ts'
import { stopTime } from '../../support/time.ts'
import { invited, typed } from '../invitations/setup.ts'
import { buildSocial, Visitor } from '../social/visitor.ts'
import { hooked, type Service, startService } from './policy.ts'

const message = 'Only members may register.'
const deny = () => ({ deny: { message } })
const refused = { message, code: 'denied_by_policy', errors: { email: [message] } }

const settings = (service: Service) => ({
  rate_limits: { register: null, mail: null },
  users: {
    username: { enabled: true },
    name_parts: true,
    fields: { team: { schema: { type: 'string' }, registration: 'optional', write: ['user'] } },
  },
  ...hooked(service, { before_registration: {} }),
})

t.test('asks before it creates an account, in browsers, on the page and in apps', async (t) => {
  const service = await startService(t)
  const svc = await buildTestApp(t, { settings: settings(service), clock: stopTime(t) })
  service.answer = deny
  const count = () => svc.database.prisma.user.count()

  const browser = await guest(svc)
  const more = { username: 'ada', given_name: 'Ada', family_name: 'Łovelace', fields: { team: 'Maths' } }
  const answer = await browser.post('/register', registration('ada@example.com', more))
  t.equal(answer.statusCode, 422)
  t.strictSame(answer.json(), refused)
  t.match(service.questions[0]?.data, {
    method: 'password',
    invited: false,
    account: { ...more, email: 'ada@example.com' },
    ip_address: '203.0.113.77',
  })
  t.notMatch(JSON.stringify(service.questions), strongPassword)

  const page = await new ScriptlessBrowser(svc).send('/oauth/register', {
    name: 'Ada',
    email: 'ada@example.com',
    password: strongPassword,
  })
  t.equal(page.statusCode, 422)
  t.match(page.body, message)
  t.match(page.body, 'value="ada@example.com"', 'the form keeps what was typed')
  t.strictSame((await new Device(svc).post('/svc/register', registration('ada@example.com'))).json(), refused)
  t.equal(await count(), 0)
  t.equal((await svc.mailbox.to('ada@example.com')).length, 0)
  t.equal(service.asked().length, 3, 'one question each')
  const events = await svc.database.prisma.event.findMany({ where: { type: 'denied_by_hook' } })
  t.strictSame(
    events.map(({ data, userId, repeats }) => [JSON.parse(data), userId, repeats]),
    [[{ hook: 'before_registration', method: 'password' }, null, 2]],
    'repeats share a row',
  )

  service.answer = () => ({})
  t.equal((await browser.post('/register', registration('ada@example.com', more))).statusCode, 201)
  t.equal(await count(), 1)
  service.asked()
  t.equal((await (await guest(svc)).post('/register', registration('ada@example.com'))).statusCode, 422)
  t.equal((await (await guest(svc)).post('/register', registration('no address'))).statusCode, 422)
  t.strictSame(service.asked(), [], 'not about input that svc refuses itself')
})

t.test('asks about new users of an identity provider, not about known ones', async (t) => {
  const service = await startService(t)
  const svc = await buildSocial(t, { acme: { trust_email: true }, settings: settings(service) })
  service.answer = deny
  const signIn = async () => {
    const visitor = new Visitor(svc)
    return { visitor, answer: await visitor.back(await visitor.allow(await visitor.begin(), 'grace')) }
  }
  t.strictSame(redirectOf((await signIn()).answer), [302, 'http://localhost:5173/?error=denied_by_policy'])
  t.equal(await svc.database.prisma.user.count(), 0)
  t.strictSame(service.asked(), ['before_registration'])
  t.match(service.questions[0]?.data, {
    method: 'acme',
    invited: false,
    account: { name: 'Grace Acme', email: 'grace@example.com' },
  })
  service.answer = () => ({})
  const { visitor } = await signIn()
  t.match(await visitor.user(), { email: 'grace@example.com' })
  t.strictSame(service.asked(), ['before_registration'])
  t.match(await (await signIn()).visitor.user(), { email: 'grace@example.com' })
  t.strictSame(service.asked(), [], 'a known user')
})

t.test('asks about invited people, whose invitation survives a refusal', async (t) => {
  const service = await startService(t)
  const svc = await buildTestApp(t, { settings: settings(service), clock: stopTime(t) })
  const link = await invited(svc, 'grace@example.com')
  service.answer = deny
  const grace = new ScriptlessBrowser(svc)
  const answer = await grace.send(link, typed)
  t.equal(answer.statusCode, 422)
  t.match(answer.body, message)
  t.match(service.questions[0]?.data, { method: 'password', invited: true, account: { email: 'grace@example.com' } })
  t.equal(await svc.database.prisma.user.count(), 0)
  service.answer = () => ({})
  t.equal((await grace.send(link, typed)).statusCode, 303)
  t.equal(await svc.database.prisma.user.count(), 1)
})

t.test('asks about accounts of invited people at a provider', async (t) => {
  const service = await startService(t)
  const own = { app: { frontend_url: 'http://localhost:8000' } }
  const svc = await buildSocial(t, { settings: { ...settings(service), ...own } })
  const link = await invited(svc, 'ada@work.example')
  const accept = async () => {
    const browser = new ScriptlessBrowser(svc)
    const visitor = new Visitor(svc, browser.browser)
    const { body } = await browser.press(link, 'accept-acme')
    const href = /<a [^>]*href="(http[^"]+)"/.exec(body)?.[1]?.replaceAll('&amp;', '&') ?? ''
    return { visitor, answer: await visitor.back(await visitor.allow(new URL(href), 'alan')) }
  }
  service.answer = deny
  const { answer } = await accept()
  t.equal(answer.statusCode, 422)
  t.match(answer.body, message)
  t.equal(await svc.database.prisma.user.count(), 0)
  t.match(service.questions[0]?.data, { method: 'acme', invited: true, account: { email: 'ada@work.example' } })
  service.answer = () => ({})
  t.match(await (await accept()).visitor.user(), { email: 'ada@work.example' })
})

t.test('asks nothing about accounts that an administrator creates', async (t) => {
  const service = await startService(t)
  const svc = await buildTestApp(t, { settings: settings(service), clock: stopTime(t) })
  await svc.createUser()
  t.strictSame(service.asked(), [])
})
