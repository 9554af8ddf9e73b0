import t from 'tap'
import { mailedLink, registration, strongPassword, visitor } from '../../support/accounts.ts'
import { buildTestApp, type TestApp } from '../../support/app.ts'
import type { Browser } from '../../support/browser.ts'
import { day, minute, second } from '../../support/clock.ts'

const settings = { rate_limits: { mail: null } }
const page = { accept: 'text/html' }

async function confirmed(svc: TestApp, email: string, password = 'correct horse'): Promise<Browser> {
  const spa = svc.browser()
  await spa.signIn(email, password)
  await spa.post('/user/confirm-password', { password })
  return spa
}

const move = (spa: Browser, email: string) => spa.put('/user/profile-information', { name: 'Ada', email })

/** The undo link of the last notice to the address. */
async function undoOf(svc: TestApp, address: string): Promise<string> {
  const texts = (await svc.mailbox.to(address)).map(({ text }) => /http:\S+\/email\/undo\/\S+/.exec(text)?.[0])
  return (texts.findLast((text) => text !== undefined) ?? 'none').replace('http://localhost:8000', '')
}

/** As a mail client opens it: without cookies. */
const open = (svc: TestApp, url: string) => svc.app.inject({ url, headers: page })
const press = (svc: TestApp, url: string) =>
  svc.app.inject({
    method: 'POST',
    url,
    headers: { ...page, 'content-type': 'application/x-www-form-urlencoded', origin: 'http://localhost:8000' },
    payload: '',
  })

/** Resets the password through the mailbox, as the owner does after an undo. */
async function recover(svc: TestApp, email: string): Promise<number> {
  const guest = await visitor(svc)
  await guest.post('/forgot-password', { email })
  const token = await svc.mailbox.find(email, /reset-password\/(\w+)/)
  const form = { email, token, password: strongPassword, password_confirmation: strongPassword }
  await guest.post('/reset-password', form)
  return (await svc.browser().signIn(email, strongPassword)).statusCode
}

t.test('restores the account of the old owner after an attacker changed the address', async (t) => {
  const svc = await buildTestApp(t, { settings })
  const ada = await svc.createUser({ email: 'ada@example.com' })
  const attacker = await confirmed(svc, 'ada@example.com')
  t.equal((await move(attacker, 'evil@example.com')).statusCode, 200)
  t.equal((await attacker.get(await mailedLink(svc, 'evil@example.com'))).statusCode, 204)
  const [requested, changed] = (await svc.mailbox.to('ada@example.com')).slice(-2)
  t.equal(requested?.subject, 'Your email address is about to change')
  t.equal(changed?.subject, 'Your email address was changed')
  t.notMatch(`${requested?.raw}${changed?.raw}`, 'evil@example.com')
  const token = await svc.createToken(ada)
  const password = {
    current_password: 'correct horse',
    password: strongPassword,
    password_confirmation: strongPassword,
  }
  t.equal((await attacker.put('/user/password', password)).statusCode, 200)
  await attacker.post('/user/confirm-password', { password: strongPassword })
  t.equal((await attacker.post('/user/two-factor-authentication')).statusCode, 200)

  const link = await undoOf(svc, 'ada@example.com')
  t.match(requested?.text, link, 'both mails have the same link')
  const shown = await open(svc, link)
  t.equal(shown.statusCode, 200)
  t.match(shown.body, 'ada@example.com the address of your svc account again, instead of e…@example.com')
  t.match(shown.body, 'id="undo-email-submit"')
  t.notMatch(shown.body, 'evil@')
  t.notOk(shown.headers['set-cookie'])
  t.equal((await attacker.get('/api/user')).json().email, 'evil@example.com', 'opening the page changes nothing')
  const done = await press(svc, link)
  t.equal(done.statusCode, 200, done.body)
  t.match(done.body, 'Your old email address is restored')
  t.match(done.body, 'href="/oauth/forgot-password"')

  t.equal((await attacker.get('/api/user')).statusCode, 401, 'sessions ended')
  t.equal((await svc.bearer(token, 'GET', '/api/user')).statusCode, 401, 'tokens are revoked')
  for (const email of ['ada@example.com', 'evil@example.com']) {
    for (const secret of ['correct horse', strongPassword]) {
      t.equal((await svc.browser().signIn(email, secret)).statusCode, 401, 'no known password signs in')
    }
  }
  const row = await svc.database.prisma.user.findUniqueOrThrow({ where: { id: BigInt(ada.id) } })
  t.match(row, { email: 'ada@example.com', pendingEmail: null, twoFactorSecret: null })
  t.ok(row.emailVerifiedAt)
  t.equal(await recover(svc, 'ada@example.com'), 200)
  t.equal(await svc.database.prisma.event.count({ where: { type: 'email_change_undone', userId: BigInt(ada.id) } }), 1)
  for (const answer of [await open(svc, link), await press(svc, link)]) {
    t.equal(answer.statusCode, 403, 'the link works once')
    t.match(answer.body, 'This link is invalid')
  }
})

t.test('undoes a pending change too, and invalidates its verification link', async (t) => {
  const svc = await buildTestApp(t, { settings })
  await svc.createUser({ email: 'ada@example.com' })
  const attacker = await confirmed(svc, 'ada@example.com')
  await move(attacker, 'evil@example.com')
  const verify = await mailedLink(svc, 'evil@example.com')
  t.equal((await press(svc, await undoOf(svc, 'ada@example.com'))).statusCode, 200)
  t.equal((await attacker.get(verify)).statusCode, 401)
  t.equal(await recover(svc, 'ada@example.com'), 200)
  const owner = svc.browser()
  await owner.signIn('ada@example.com', strongPassword)
  t.equal((await owner.get(verify)).statusCode, 403)
  t.notOk('pending_email' in (await owner.get('/api/user')).json())
})

t.test('mails the new link at once when the same change is made again after an undo', async (t) => {
  const svc = await buildTestApp(t, { settings })
  await svc.createUser({ email: 'ada@example.com' })
  await move(await confirmed(svc, 'ada@example.com'), 'evil@example.com')
  const first = await undoOf(svc, 'ada@example.com')
  t.equal((await press(svc, first)).statusCode, 200)
  t.equal(await recover(svc, 'ada@example.com'), 200)
  await move(await confirmed(svc, 'ada@example.com', strongPassword), 'evil@example.com')
  const second = await undoOf(svc, 'ada@example.com')
  t.not(second, first)
  t.equal((await press(svc, second)).statusCode, 200)
})

t.test('lets the first owner undo every later change, and invalidates the later links', async (t) => {
  const svc = await buildTestApp(t, { settings })
  await svc.createUser({ email: 'ada@example.com' })
  const attacker = await confirmed(svc, 'ada@example.com')
  for (const email of ['evil@example.com', 'worse@example.com']) {
    await move(attacker, email)
    t.equal((await attacker.get(await mailedLink(svc, email))).statusCode, 204)
  }
  const [first, second] = [await undoOf(svc, 'ada@example.com'), await undoOf(svc, 'evil@example.com')]
  t.equal((await press(svc, first)).statusCode, 200)
  t.equal((await press(svc, second)).statusCode, 403)
  t.equal((await svc.database.prisma.user.findFirstOrThrow()).email, 'ada@example.com')
})

t.test("keeps the first owner's link when an attacker undoes the change", async (t) => {
  const svc = await buildTestApp(t, { settings })
  await svc.createUser({ email: 'ada@example.com' })
  const attacker = await confirmed(svc, 'ada@example.com')
  for (const email of ['evil@example.com', 'worse@example.com']) {
    await move(attacker, email)
    await attacker.get(await mailedLink(svc, email))
  }
  t.equal((await press(svc, await undoOf(svc, 'evil@example.com'))).statusCode, 200)
  t.equal((await svc.database.prisma.user.findFirstOrThrow()).email, 'evil@example.com')
  t.equal((await press(svc, await undoOf(svc, 'ada@example.com'))).statusCode, 200)
  t.equal((await svc.database.prisma.user.findFirstOrThrow()).email, 'ada@example.com')
})

t.test('keeps credentials from more than a week before the change, and removes later ones', async (t) => {
  const svc = await buildTestApp(t, { settings })
  const { id } = await svc.createUser({ email: 'ada@example.com' })
  const userId = BigInt(id)
  const key = (name: string) => {
    const date = new Date(svc.clock.now())
    const facts = { userId, name, credentialId: name, publicKey: 'x', createdAt: date, updatedAt: date }
    return svc.database.prisma.passkey.create({ data: facts })
  }
  await key('old')
  const confirmedAt = new Date(svc.clock.now())
  const factor = { twoFactorSecret: 'x', twoFactorRecoveryCodes: 'x', twoFactorConfirmedAt: confirmedAt }
  svc.clock.advance(7 * day + second)
  await key('prepared')
  const attacker = await confirmed(svc, 'ada@example.com')
  await svc.database.prisma.user.update({ where: { id: userId }, data: factor })
  await move(attacker, 'evil@example.com')
  svc.clock.advance(minute)
  await key('later')
  t.equal((await press(svc, await undoOf(svc, 'ada@example.com'))).statusCode, 200)
  t.strictSame(
    (await svc.database.prisma.passkey.findMany()).map(({ name }) => name),
    ['old'],
  )
  t.equal((await svc.database.prisma.user.findFirstOrThrow()).twoFactorSecret, 'x')
})

t.test('accepts the link for 7 days, starting again when the new address takes effect', async (t) => {
  const svc = await buildTestApp(t, { settings })
  await svc.createUser({ email: 'ada@example.com' })
  await move(await confirmed(svc, 'ada@example.com'), 'lovelace@example.com')
  const link = await undoOf(svc, 'ada@example.com')
  svc.clock.advance(6 * day)
  const spa = await confirmed(svc, 'ada@example.com')
  await spa.post('/email/verification-notification')
  t.equal((await spa.get(await mailedLink(svc, 'lovelace@example.com'))).statusCode, 204)
  svc.clock.advance(7 * day - second)
  t.equal((await open(svc, link)).statusCode, 200)
  svc.clock.advance(second)
  t.equal((await open(svc, link)).statusCode, 403)
  t.equal((await press(svc, link)).statusCode, 403)
})

t.test('reserves the old address while a change can be undone', async (t) => {
  const svc = await buildTestApp(t, { settings })
  await svc.createUser({ email: 'ada@example.com' })
  await svc.createUser({ email: 'eve@example.com' })
  const ada = await confirmed(svc, 'ada@example.com')
  await move(ada, 'lovelace@example.com')
  await ada.get(await mailedLink(svc, 'lovelace@example.com'))
  const guest = await visitor(svc)
  const answer = await guest.post('/register', registration('ADA@example.com'))
  t.equal(answer.statusCode, 422)
  t.strictSame(answer.json().errors, { email: ['The email has already been taken.'] })
  t.equal((await move(await confirmed(svc, 'eve@example.com'), 'ada@example.com')).statusCode, 422)
  t.equal((await move(ada, 'ada@example.com')).statusCode, 200, 'its former owner may return to it')
  svc.clock.advance(7 * day)
  t.equal((await (await visitor(svc)).post('/register', registration('ada@example.com'))).statusCode, 201)
})

t.test('undoes the change once when the button is pressed twice', async (t) => {
  const svc = await buildTestApp(t, { settings })
  await svc.createUser({ email: 'ada@example.com' })
  await move(await confirmed(svc, 'ada@example.com'), 'evil@example.com')
  const link = await undoOf(svc, 'ada@example.com')
  const answers = await Promise.all([press(svc, link), press(svc, link)])
  t.strictSame(answers.map(({ statusCode }) => statusCode).sort(), [200, 403])
})

t.test('answers 403 to links without a valid signature', async (t) => {
  const svc = await buildTestApp(t, { settings })
  await svc.createUser({ email: 'ada@example.com' })
  await svc.createUser({ email: 'bob@example.com' })
  await move(await confirmed(svc, 'ada@example.com'), 'a2@example.com')
  await move(await confirmed(svc, 'bob@example.com'), 'b2@example.com')
  const [, id = '', signature = ''] = /undo\/(\d+)\/(.+)/.exec(await undoOf(svc, 'ada@example.com')) ?? []
  const [, bobs = ''] = /undo\/(\d+)\//.exec(await undoOf(svc, 'bob@example.com')) ?? []
  const urls = [
    `/email/undo/${bobs}/${signature}`,
    `/email/undo/${id}/${signature.slice(1)}`,
    `/email/undo/${id}/${signature}x`,
    `/email/undo/0${id}/${signature}`,
    `/email/undo/${'9'.repeat(19)}/${signature}`,
    `/email/undo/x/${signature}`,
    `/email/undo/-1/${signature}`,
  ]
  for (const url of urls) {
    for (const answer of [await open(svc, url), await press(svc, url)]) t.equal(answer.statusCode, 403, url)
  }
  t.equal((await press(svc, `/email/undo/${id}/${'x'.repeat(80)}`)).statusCode, 404)
  const users = await svc.database.prisma.user.findMany({ orderBy: { id: 'asc' } })
  t.strictSame(
    users.map(({ email, pendingEmail }) => [email, pendingEmail]),
    [
      ['ada@example.com', 'a2@example.com'],
      ['bob@example.com', 'b2@example.com'],
    ],
  )
})

t.test('answers 409 when another account has the old address', async (t) => {
  const svc = await buildTestApp(t, { settings })
  await svc.createUser({ email: 'ada@example.com' })
  const ada = await confirmed(svc, 'ada@example.com')
  await move(ada, 'lovelace@example.com')
  await ada.get(await mailedLink(svc, 'lovelace@example.com'))
  // svc reserves the address, but an operator may write to the database.
  const { id } = await svc.createUser({ email: 'grace@example.com' })
  await svc.database.prisma.user.update({ where: { id: BigInt(id) }, data: { email: 'ada@example.com' } })
  const answer = await press(svc, await undoOf(svc, 'ada@example.com'))
  t.equal(answer.statusCode, 409)
  t.match(answer.body, 'Another account')
  t.equal((await ada.get('/api/user')).json().email, 'lovelace@example.com', 'nothing changed')
})
