// engine: none
import t from 'tap'
import { buildTestApp } from '../../support/app.ts'
import { oauthSettings, Person, request } from '../../support/oauth.ts'
import { credentials, redirectOf, ScriptlessBrowser } from '../../support/plain.ts'

const path = '/oauth/verify-email'
const submit = (visitor: ScriptlessBrowser) => visitor.send(path, {}, '_token')

t.test('sends the verification mail again from the page that the start page links to', async (t) => {
  const svc = await buildTestApp(t)
  const { email } = await svc.createUser({ verified: false })
  const visitor = new ScriptlessBrowser(svc)
  t.strictSame(redirectOf(await visitor.send('/oauth/login', credentials(email))), [303, '/'])
  t.match((await visitor.open('/')).body, `href="${path}"`)
  const page = await visitor.open(path)
  t.equal(page.statusCode, 200)
  t.match(page.body, email)
  t.equal((await svc.mailbox.to(email)).length, 0, 'showing the page sends nothing')
  t.strictSame(redirectOf(await submit(visitor)), [303, `${path}?sent=1`])
  t.match((await visitor.open(`${path}?sent=1`)).body, 'The email is on its way.')
  const link = await svc.mailbox.find(email, /(\/email\/verify\/\S+)/)
  t.equal((await visitor.open(link)).statusCode, 302)
  t.strictSame(redirectOf(await visitor.open(path)), [303, '/'], 'a verified user continues')
  t.notMatch((await visitor.open('/')).body, path)
})

t.test('asks visitors to sign in, and rejects forms without the CSRF token', async (t) => {
  const svc = await buildTestApp(t)
  const { email } = await svc.createUser({ verified: false })
  const visitor = new ScriptlessBrowser(svc)
  const [status, location] = redirectOf(await visitor.open(path))
  t.equal(status, 303)
  t.match(location, '/oauth/login?return_to=%2Foauth%2Fverify-email')
  await visitor.send('/oauth/login', credentials(email))
  t.equal((await visitor.post(path, {})).statusCode, 419)
  t.equal((await svc.mailbox.to(email)).length, 0)
})

t.test('limits the mails together with the API', async (t) => {
  const svc = await buildTestApp(t, { settings: { rate_limits: { mail: '2/1h' } } })
  const { email } = await svc.createUser({ verified: false })
  const visitor = new ScriptlessBrowser(svc)
  await visitor.send('/oauth/login', credentials(email))
  const statuses = [(await submit(visitor)).statusCode, (await submit(visitor)).statusCode]
  const refused = await submit(visitor)
  t.strictSame([...statuses, refused.statusCode], [303, 303, 429])
  t.match(refused.body, 'Too many attempts')
})

t.test('offers the mail where an authorization needs a verified address, and for an expired link', async (t) => {
  const settings = { ...oauthSettings, registration: { require_verified_email: true } }
  const svc = await buildTestApp(t, { settings })
  const { email } = await svc.createUser({ verified: false })
  const person = new Person(svc, email)
  const refused = await person.allow(request('web', { scope: 'openid' }))
  t.equal(refused.answer.statusCode, 403)
  t.match(refused.answer.body, `href="${path}"`)
  t.strictSame(redirectOf(await submit(person.plain)), [303, `${path}?sent=1`], 'an unverified user may use the page')
  const link = await svc.mailbox.find(email, /(\/email\/verify\/\S+)/)
  const broken = await person.plain.open(link.replace(/signature=..../, 'signature=abcd'))
  t.equal(broken.statusCode, 403)
  t.match(broken.body, `href="${path}"`)
})
