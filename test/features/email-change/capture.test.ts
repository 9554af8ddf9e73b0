import t from 'tap'
import { requestEmailChange } from '../../../src/identity/email-change.ts'
import { findUserById } from '../../../src/identity/users.ts'
import { strongPassword, visitor } from '../../support/accounts.ts'
import { buildTestApp, type TestApp } from '../../support/app.ts'
import { day } from '../../support/clock.ts'
import { untilWaiting } from '../../support/hold.ts'
import { confirmedBrowser } from '../../support/totp.ts'

const settings = {
  registration: { email_change: 'immediate' },
  login: { email_code: true },
  rate_limits: { mail: null, login: null },
}
const page = { accept: 'text/html' }

/** The undo link of the last notice to the address. */
async function undoOf(svc: TestApp, address: string): Promise<string> {
  const texts = (await svc.mailbox.to(address)).map(({ text }) => /http:\S+\/email\/undo\/\S+/.exec(text)?.[0])
  return (texts.findLast((text) => text !== undefined) ?? 'none').replace('http://localhost:8000', '')
}

/** Ways to enter an account by the mailbox of its address. */
const entrances = {
  'a reset': async (svc: TestApp, email: string) => {
    const guest = await visitor(svc)
    await guest.post('/forgot-password', { email })
    const token = await secretFor(svc, email, /reset-password\/(\w+)/)
    const password = { password: strongPassword, password_confirmation: strongPassword }
    return (await guest.post('/reset-password', { email, token, ...password })).statusCode === 200
  },
  'a mailed code': async (svc: TestApp, email: string) => {
    const guest = await visitor(svc)
    await guest.post('/login/email-code', { email })
    const code = await secretFor(svc, email, /\b(\d{3} ?\d{3})\b/)
    await guest.post('/login/email-code/verify', { code: code.replace(' ', '') })
    return (await guest.get('/api/user')).statusCode === 200
  },
}

/** A secret from the last mail to the address, or a wrong one if no mail has one. */
async function secretFor(svc: TestApp, email: string, pattern: RegExp): Promise<string> {
  const found = (await svc.mailbox.to(email)).map(({ text }) => pattern.exec(text)?.[1])
  return found.findLast((secret) => secret !== undefined) ?? '000000'
}

for (const [name, enter] of Object.entries(entrances)) {
  t.test(`does not open a changed account by ${name} while the change can be undone`, async (t) => {
    const svc = await buildTestApp(t, { settings })
    const ada = await svc.createUser({ email: 'ada@example.com' })
    const stranger = await confirmedBrowser(svc, 'ada@example.com')
    await stranger.put('/user/profile-information', { name: 'Ada', email: 'evil@example.com' })
    const apiToken = await svc.createToken(ada)
    t.notOk(await enter(svc, 'evil@example.com'))
    t.equal(await svc.database.prisma.event.count({ where: { type: 'account_claimed' } }), 0)
    const undo = await undoOf(svc, 'ada@example.com')
    t.equal((await svc.app.inject({ url: undo, headers: page })).statusCode, 200)
    const headers = { ...page, 'content-type': 'application/x-www-form-urlencoded', origin: 'http://localhost:8000' }
    t.equal((await svc.app.inject({ method: 'POST', url: undo, headers, payload: '' })).statusCode, 200)
    const restored = await svc.database.prisma.user.findUniqueOrThrow({ where: { id: BigInt(ada.id) } })
    t.equal(restored.email, 'ada@example.com')
    t.equal((await svc.bearer(apiToken, 'GET', '/api/user')).statusCode, 401, 'the undo removes every access')
  })

  t.test(`hands a stranger's account to the owner of its address by ${name} when the change is final`, async (t) => {
    const svc = await buildTestApp(t, { settings })
    const stranger = await svc.createUser({ email: 'stranger@example.com' })
    const browser = await confirmedBrowser(svc, 'stranger@example.com')
    await browser.put('/user/profile-information', { name: 'M', email: 'victim@example.com' })
    const apiToken = await svc.createToken(stranger)
    t.notOk(await enter(svc, 'victim@example.com'), 'the stranger could still take it back')
    svc.clock.advance(8 * day)
    t.ok(await enter(svc, 'victim@example.com'))
    t.equal((await svc.bearer(apiToken, 'GET', '/api/user')).statusCode, 401)
    t.equal((await browser.get('/api/user')).statusCode, 401)
    t.equal(await svc.database.prisma.event.count({ where: { type: 'account_claimed' } }), 1)
  })
}

t.test('gives an address to no other user while its user gives it up', async (t) => {
  const svc = await buildTestApp(t, { settings })
  const { database } = svc
  const ada = await svc.createUser({ email: 'ada@example.com' })
  const bob = await svc.createUser({ email: 'bob@example.com' })
  const browser = await confirmedBrowser(svc, 'bob@example.com')
  const takers = {
    registration: async () => {
      const guest = await visitor(svc)
      const body = {
        name: 'X',
        email: 'ada@example.com',
        password: strongPassword,
        password_confirmation: strongPassword,
      }
      return (await guest.post('/register', body)).statusCode
    },
    'a change': async () =>
      (await browser.put('/user/profile-information', { name: 'Bob', email: 'ada@example.com' })).statusCode,
  }
  for (const [name, take] of Object.entries(takers)) {
    let taken: Promise<number> | undefined
    await database.transaction(async (tx) => {
      const found = await findUserById({ prisma: tx }, ada.id)
      if (!found) throw new Error('gone')
      const to = `${name.replace(/\W/g, '')}@example.com`
      await requestEmailChange(tx, found.user, { to, mode: 'immediate', now: svc.clock.now() })
      // It waits for this transaction: PostgreSQL for its rows, SQLite for its end.
      taken = take()
      await untilWaiting(svc, taken)
    })
    t.equal(await taken, 422, name)
    const data = { email: 'ada@example.com', emailVerifiedAt: new Date() }
    await database.prisma.user.update({ where: { id: BigInt(ada.id) }, data })
    await database.prisma.emailChange.deleteMany()
  }
  const still = await database.prisma.user.findUniqueOrThrow({ where: { id: BigInt(bob.id) } })
  t.equal(still.email, 'bob@example.com')
  t.equal(await database.prisma.user.count(), 2)
})
