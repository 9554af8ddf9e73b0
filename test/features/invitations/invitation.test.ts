import t from 'tap'
import { registration, visitor } from '../../support/accounts.ts'
import { buildTestApp } from '../../support/app.ts'
import { day, hour } from '../../support/clock.ts'
import { runCommandOn } from '../../support/command.ts'
import { redirectOf, ScriptlessBrowser } from '../../support/plain.ts'
import { eventsOf } from '../passkeys/visitor.ts'
import { email, invited, tokenOf, typed } from './setup.ts'

t.test('creates an account with a verified address, also while registration is disabled', async (t) => {
  const registration = { enabled: false, allowed_domains: ['elsewhere.example'], require_verified_email: true }
  const svc = await buildTestApp(t, { settings: { registration } })
  const printed = await runCommandOn(svc, 'user:invite', `--email=${email.toUpperCase()}`, '--role=editor')
  t.match(JSON.parse(printed[0] ?? ''), { email, name: null, role: 'editor', expires_at: String })
  const [mail] = await svc.mailbox.to(email)
  t.equal(mail?.subject, 'You are invited to svc')
  t.match(mail?.text, 'The link is valid for 7 days and works once.')
  t.equal(await svc.database.prisma.user.count(), 0)
  const link = await svc.mailbox.find(email, /http:\/\/localhost:8000(\S+)/)
  t.notMatch(printed.join(), tokenOf(link))
  const person = new ScriptlessBrowser(svc)
  const page = await person.open(link)
  t.equal(page.statusCode, 200)
  t.match(page.body, email)
  t.match(page.body, 'At least 8 characters.')
  t.strictSame(redirectOf(await person.send(link, typed)), [303, '/'])
  const user = (await person.browser.get('/api/user')).json()
  t.match(user, { name: typed.name, email, role: 'editor', email_verified_at: String })
  t.equal((await svc.browser().signIn(email, typed.password)).statusCode, 200)
  t.match(await eventsOf(svc, 'user_invited'), [{ data: { role: 'editor' } }])
  t.match(await eventsOf(svc, 'registered'), [{ userId: user.id, data: { invitation: Number } }])
  t.match(await eventsOf(svc, 'login'), [{ userId: user.id, data: { channel: 'invitation' } }, {}])
})

t.test('prints the link instead of mailing it, if the operator asks for it', async (t) => {
  const svc = await buildTestApp(t)
  const [line = ''] = await runCommandOn(svc, 'user:invite', '--email=ada@example.com', '--role=admin', '--link')
  const { link, role } = JSON.parse(line)
  t.equal(role, 'admin')
  t.strictSame(await svc.mailbox.all(), [], 'no mail')
  const page = await new ScriptlessBrowser(svc).open(new URL(link).pathname)
  t.equal(page.statusCode, 200)
  t.match(page.body, 'ada@example.com')
})

t.test('accepts an invitation once, and stores nothing that reveals its link', async (t) => {
  const svc = await buildTestApp(t)
  const link = await invited(svc, email, '--name=Grace')
  const kept = JSON.stringify([
    await svc.database.prisma.invitation.findMany({ select: { tokenHash: true, email: true, name: true } }),
    await svc.database.prisma.event.findMany({ select: { data: true } }),
    await svc.database.prisma.outbox.findMany({ select: { payload: true } }),
  ])
  t.notMatch(kept, tokenOf(link))
  const person = new ScriptlessBrowser(svc)
  t.match((await person.open(link)).body, 'value="Grace"')
  t.equal((await person.send(link, typed)).statusCode, 303)
  const late = await new ScriptlessBrowser(svc).open(link)
  t.equal(late.statusCode, 403)
  t.match(late.body, 'This invitation is invalid')
  t.notMatch(late.body, email)
  t.equal(await svc.database.prisma.invitation.count(), 0)
  t.notMatch(svc.logs.join('\n'), tokenOf(link), 'no log line has the token')
})

t.test('rejects expired and replaced invitations, and deletes them', async (t) => {
  const svc = await buildTestApp(t, { settings: { invitations: { ttl: '30h' } } })
  const first = await invited(svc, email)
  t.match((await svc.mailbox.to(email))[0]?.text, 'The link is valid for 30 hours')
  const second = await invited(svc, email)
  t.not(first, second)
  t.equal(await svc.database.prisma.invitation.count(), 1)
  const person = new ScriptlessBrowser(svc)
  t.equal((await person.open(first)).statusCode, 403)
  t.equal((await person.open(second)).statusCode, 200)
  svc.clock.advance(30 * hour)
  t.equal((await person.open(second)).statusCode, 403)
  const { body } = await person.open('/oauth/login')
  const [, _token = ''] = /name="_token" value="([^"]+)"/.exec(body) ?? []
  t.equal((await person.post(second, { ...typed, _token })).statusCode, 403)
  svc.clock.advance(day)
  for (const { prune } of svc.app.features) await prune?.(svc.database, svc.clock.now())
  t.equal(await svc.database.prisma.invitation.count(), 0)
  t.equal(await svc.database.prisma.user.count(), 0)
})

t.test('creates one account for two simultaneous requests', async (t) => {
  const svc = await buildTestApp(t)
  const link = await invited(svc, email)
  const people = [new ScriptlessBrowser(svc), new ScriptlessBrowser(svc)]
  const answers = await Promise.all(people.map((person) => person.send(link, typed)))
  const statuses = answers.map(({ statusCode }) => statusCode).sort()
  t.equal(statuses[0], 303)
  t.ok([403, 422].includes(statuses[1] ?? 0), String(statuses))
  t.equal(await svc.database.prisma.user.count(), 1)
  t.equal(await svc.database.prisma.session.count({ where: { userId: { not: null } } }), 1)
})

t.test('rejects invitations of invalid and taken addresses on the command line', async (t) => {
  const svc = await buildTestApp(t)
  const { email: known } = await svc.createUser()
  for (const [words, message] of [
    [[`--email=${known.toUpperCase()}`], 'The email has already been taken.'],
    [['--email=no address'], 'The email field must be a valid email address.'],
    [['--email='], 'The email field is required.'],
    [[`--email=${email}`, '--name=Grace\r\nBcc: evil@example.com'], 'characters that are not allowed'],
    [[`--email=${email}\r\nBcc: evil@example.com`], 'must be a valid email address'],
    [[`--email=${email}`, `--name=${'x'.repeat(256)}`], 'must not be greater than 255 characters'],
  ] as const)
    await t.rejects(runCommandOn(svc, 'user:invite', ...words), { message: new RegExp(message) }, message)
  t.strictSame(await svc.mailbox.all(), [])
  t.equal(await svc.database.prisma.invitation.count(), 0)
  for (let n = 0; n < 6; n++) await runCommandOn(svc, 'user:invite', `--email=${email}`)
  await t.rejects(runCommandOn(svc, 'user:invite', `--email=${email}`), { message: /too much mail/ })
})

t.test('leads to the sign-in page if the address got an account meanwhile', async (t) => {
  const svc = await buildTestApp(t)
  const link = await invited(svc, email)
  t.equal((await (await visitor(svc)).post('/register', registration(email))).statusCode, 201)
  const browser = new ScriptlessBrowser(svc)
  const { body } = await browser.open(await invited(svc, 'other@example.com'))
  const [, _token = ''] = /name="_token" value="([^"]+)"/.exec(body) ?? []
  for (const answer of [await browser.open(link), await browser.post(link, { ...typed, _token })]) {
    t.equal(answer.statusCode, 403)
    t.match(answer.body, /You already have an account[\s\S]*grace@example\.com[\s\S]*href="[^"]*\/oauth\/login/)
  }
  t.equal(await svc.database.prisma.user.count(), 1)
})

t.test('shows an invalid form again without using the invitation up', async (t) => {
  const svc = await buildTestApp(t, { settings: { rate_limits: { register: null } } })
  const link = await invited(svc, email)
  const person = new ScriptlessBrowser(svc)
  for (const [change, message] of [
    [{ name: '' }, 'The name field is required.'],
    [{ name: 'Grace\u202e' }, 'The name field contains characters that are not allowed.'],
    [{ name: 'Grace\r\nBcc: evil@example.com' }, 'The name field contains characters that are not allowed.'],
    [{ password: 'short' }, 'The password field must be at least 8 characters.'],
    [{ password: 'password1' }, 'The given password has appeared in a data leak.'],
  ] as const) {
    const answer = await person.send(link, { ...typed, ...change })
    t.equal(answer.statusCode, 422, message)
    t.match(answer.body, message)
    t.notMatch(answer.body, typed.password)
  }
  const more = { role: 'admin', email: 'other@example.com', id: '7', email_verified_at: 'x' }
  t.equal((await person.send(link, { ...typed, ...more })).statusCode, 303)
  t.match(await svc.database.prisma.user.findFirstOrThrow(), { email, role: 'user', id: 1n })
})

t.test('keeps the token from other sites, and rejects forms of other sites', async (t) => {
  const svc = await buildTestApp(t, { settings: { theme: { logo: 'https://cdn.example.com/logo.svg' } } })
  const link = await invited(svc, email)
  const person = new ScriptlessBrowser(svc)
  const page = await person.open(link)
  t.match(page.headers, { 'referrer-policy': 'same-origin', 'cache-control': /no-store/, 'x-frame-options': 'DENY' })
  t.equal((await person.post(link, typed)).statusCode, 419)
  t.equal((await person.open(`${link}x`)).headers['referrer-policy'], 'same-origin')
  const forged = await person.browser.send('POST', link, Buffer.from(new URLSearchParams(typed).toString()), {
    accept: 'text/html',
    'content-type': 'application/x-www-form-urlencoded',
    origin: 'https://evil.example',
    referer: undefined,
    'sec-fetch-site': 'cross-site',
  })
  t.equal(forged.statusCode, 419)
  t.equal(await svc.database.prisma.user.count(), 0)
})

t.test('replaces the session of a signed-in visitor', async (t) => {
  const svc = await buildTestApp(t)
  const link = await invited(svc, email)
  const person = new ScriptlessBrowser(svc)
  await person.send('/oauth/login', { email: (await svc.createUser()).email, password: 'correct horse' })
  const before = await person.user()
  t.equal((await person.send(link, typed)).statusCode, 303)
  t.not(await person.user(), before)
})
