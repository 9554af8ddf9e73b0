// engine: none
import t from 'tap'
import { mailboxOf } from '../../src/platform/mail/budget.ts'
import { removePassword } from '../support/accounts.ts'
import { buildTestApp, type Settings, type TestApp } from '../support/app.ts'
import type { Browser } from '../support/browser.ts'
import { hour, minute } from '../support/clock.ts'
import { ScriptlessBrowser } from '../support/plain.ts'
import { until } from '../support/until.ts'

/** A source address per request, as a botnet has. */
const from = (index: number) => ({ 'x-forwarded-for': `198.51.${index >> 8}.${index & 255}` })
const proxied: Settings = { server: { trust_proxy: ['127.0.0.1/32'] } }
const victim = (index: number) => `victim+${index}@example.com`

const total = async (svc: TestApp) =>
  (await svc.mailbox.all()).filter(({ to }) => mailboxOf(to) === 'victim@example.com').length

/** Signed-in browsers of this many users with confirmed passwords. */
async function confirmed(svc: TestApp, count: number, email: (index: number) => string): Promise<Browser[]> {
  const browsers: Browser[] = []
  for (let i = 0; i < count; i++) {
    await svc.createUser({ email: email(i) })
    const browser = svc.browser()
    await browser.signIn(email(i))
    await browser.post('/user/confirm-password', { password: 'correct horse' })
    browsers.push(browser)
  }
  return browsers
}

const attacker = (index: number) => `attacker${index}@example.com`

const change = async (browser: Browser, email: string, source: number) =>
  (await browser.put('/user/profile-information', { name: 'Mallory', email }, from(source))).statusCode

t.test('changes of address', async (t) => {
  await t.test('limits mails of many users from many addresses to one mailbox', async (t) => {
    const svc = await buildTestApp(t, { settings: proxied })
    const statuses: number[] = []
    for (const [i, browser] of (await confirmed(svc, 4, attacker)).entries()) {
      for (let n = 0; n < 3; n++) statuses.push(await change(browser, victim(n % 2), 10 * i + n))
    }
    t.strictSame(statuses, [200, 200, 200, 200, 200, 200, 429, 429, 429, 429, 429, 429])
    t.equal(await total(svc), 6)
    const pending = await svc.database.prisma.user.count({ where: { pendingEmail: { not: null } } })
    t.equal(pending, 2, 'a rejected change is not stored')
  })

  await t.test('delays changes of one user to new mailboxes increasingly', async (t) => {
    const svc = await buildTestApp(t, { settings: proxied })
    const [browser] = await confirmed(svc, 1, attacker)
    if (!browser) throw new Error('There is no browser.')
    const statuses: number[] = []
    for (let i = 0; i < 40; i++) {
      statuses.push(await change(browser, `person${i}@example.com`, i))
      svc.clock.advance(minute)
    }
    const accepted = statuses.flatMap((status, i) => (status === 200 ? [i] : []))
    t.strictSame(accepted, [0, 1, 2, 3, 4, 5, 6, 7, 9, 13, 21, 37], 'the waits double')
    t.ok(statuses.every((status) => [200, 429].includes(status)))
  })

  await t.test('rejects changes of many users from one address', async (t) => {
    const svc = await buildTestApp(t)
    const statuses: number[] = []
    for (const [i, browser] of (await confirmed(svc, 7, attacker)).entries()) {
      const body = { name: 'Mallory', email: `person${i}@example.com` }
      statuses.push((await browser.put('/user/profile-information', body)).statusCode)
    }
    t.strictSame(statuses, [200, 200, 200, 200, 200, 200, 429])
  })
})

t.test('the page for a forgotten password', async (t) => {
  const path = '/oauth/forgot-password'
  const ask = async (svc: TestApp, email: string, headers: Record<string, string>) => {
    const plain = new ScriptlessBrowser(svc)
    const [, token = ''] = /name="_token" value="([^"]*)"/.exec((await plain.open(path)).body) ?? []
    const fields = new URLSearchParams({ _token: token, email }).toString()
    const type = { accept: 'text/html', 'content-type': 'application/x-www-form-urlencoded' }
    return (await plain.browser.send('POST', path, Buffer.from(fields), { ...type, ...headers })).statusCode
  }

  await t.test('limits mails to one mailbox without revealing it', async (t) => {
    const svc = await buildTestApp(t, { settings: proxied })
    const statuses = new Set<number>()
    for (let i = 0; i < 9; i++) {
      await svc.createUser({ email: victim(i) })
      statuses.add(await ask(svc, victim(i), from(i)))
      await svc.mailbox.all()
    }
    t.strictSame([...statuses], [200])
    t.equal(await total(svc), 6)
    t.equal(await svc.database.prisma.passwordReset.count(), 6)
  })

  await t.test('rejects one address that asks for many accounts', async (t) => {
    const svc = await buildTestApp(t)
    const statuses: number[] = []
    for (let i = 0; i < 8; i++) statuses.push(await ask(svc, `person${i}@example.com`, {}))
    t.strictSame(statuses, [200, 200, 200, 200, 200, 200, 429, 429])
  })
})

t.test('mailed confirmation codes', async (t) => {
  const without = async (svc: TestApp, count: number, email: (index: number) => string) => {
    const browsers = await confirmed(svc, count, email)
    for (const { id } of await svc.database.prisma.user.findMany()) await removePassword(svc, Number(id))
    return browsers
  }

  await t.test('limits codes to one mailbox', async (t) => {
    const svc = await buildTestApp(t, { settings: proxied })
    const statuses: number[] = []
    for (const [i, browser] of (await without(svc, 4, victim)).entries()) {
      for (let n = 0; n < 3; n++) {
        statuses.push((await browser.post('/user/confirmation-code', {}, from(10 * i + n))).statusCode)
      }
    }
    t.strictSame(statuses, [202, 202, 202, 202, 202, 202, 429, 429, 429, 429, 429, 429])
    t.equal(await total(svc), 6)
  })

  await t.test('rejects codes to many accounts from one address', async (t) => {
    const svc = await buildTestApp(t)
    const statuses: number[] = []
    for (const browser of await without(svc, 7, attacker)) {
      statuses.push((await browser.post('/user/confirmation-code')).statusCode)
    }
    t.strictSame(statuses, [202, 202, 202, 202, 202, 202, 429])
  })
})

t.test('mails with unlock links', async (t) => {
  /** Creates accounts that one more failure locks. */
  const nearlyLocked = async (svc: TestApp, count: number) => {
    for (let i = 0; i < count; i++) {
      await svc.createUser({ email: victim(i) })
      const rule = { max: 50, window: hour, block: 'growing' } as const
      for (let n = 0; n < 49; n++) await svc.app.counters.hit(`account:${victim(i)}`, rule, svc.clock.now())
    }
  }

  /** The statuses of one wrong password for each account, after svc has processed them. */
  const guess = async (svc: TestApp, count: number, headers: (index: number) => Record<string, string>) => {
    const statuses: number[] = []
    for (let i = 0; i < count; i++) {
      const payload = { email: victim(i), password: 'wrong', device_name: 'x' }
      const answer = await svc.app.inject({ method: 'POST', url: '/svc/token', headers: headers(i), payload })
      statuses.push(answer.statusCode)
    }
    const locking = statuses.filter((status) => status === 422).length
    await until(async () => (await svc.database.prisma.event.count({ where: { type: 'lockout' } })) >= locking)
    return statuses
  }

  await t.test('limits unlock mails to one mailbox', async (t) => {
    const svc = await buildTestApp(t, { settings: proxied })
    await nearlyLocked(svc, 9)
    t.strictSame(await guess(svc, 9, from), Array(9).fill(422))
    await svc.app.close()
    t.equal(svc.mailbox.received().length + (await svc.database.prisma.outbox.count()), 6)
  })

  await t.test('limits unlock mails that one address causes to its failed sign-ins', async (t) => {
    const settings = { rate_limits: { login_address: '3/10m' } }
    const svc = await buildTestApp(t, { settings })
    await nearlyLocked(svc, 5)
    t.strictSame(await guess(svc, 5, () => ({})), [422, 422, 422, 429, 429])
    await svc.app.close()
    t.equal(svc.mailbox.received().length + (await svc.database.prisma.outbox.count()), 3)
  })
})
