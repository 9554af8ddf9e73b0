// engine: none
import t from 'tap'
import type { TestApp } from '../../support/app.ts'
import { hour, minute } from '../../support/clock.ts'
import { asking, askPath, codeApp, enter, mailedCode, otherThan } from './setup.ts'

/** All rows that a request creates, before the outbox processes them. */
async function rows({ database: { prisma } }: TestApp): Promise<Record<string, number>> {
  return {
    outbox: await prisma.outbox.count(),
    codes: await prisma.loginCode.count(),
    events: await prisma.event.count(),
    sessions: await prisma.session.count(),
    limits: await prisma.loginLimit.count(),
  }
}

t.test('answers the same with the same work for known, unknown, disabled and unverified addresses', async (t) => {
  const svc = await codeApp(t)
  svc.app.outbox.close()
  const [known, disabled] = [await svc.createUser(), await svc.createUser()]
  const unverified = await svc.createUser({ verified: false })
  await svc.database.prisma.user.update({ where: { email: disabled.email }, data: { disabledAt: new Date(0) } })
  let transactions = 0
  const work = svc.database.transaction.bind(svc.database)
  svc.database.transaction = (run) => {
    transactions++
    return work(run)
  }
  const recorded: Promise<void>[] = []
  svc.app.background = (record) => void recorded.push(record())
  const seen: unknown[] = []
  for (const email of [known.email, 'unknown@example.com', disabled.email, unverified.email, 'x@localhost']) {
    const browser = svc.browser()
    await browser.get('/svc/csrf-cookie')
    const before = await rows(svc)
    transactions = 0
    const asked = await browser.post(askPath, { email })
    const after = await rows(svc)
    const wrong = await enter(browser, 'wrong')
    await Promise.all(recorded.splice(0))
    const shown = [asked, wrong].map(({ statusCode, body, headers }) => {
      const cookies = [headers['set-cookie'] ?? []].flat().map((line) => String(line).replace(/=[^;]*/, ''))
      return { statusCode, body, names: Object.keys(headers).sort(), cookies }
    })
    const created = Object.keys(after).map((name) => (after[name] ?? 0) - (before[name] ?? 0))
    seen.push({ shown, created, transactions })
  }
  const [first, ...others] = seen
  t.match(first, { shown: [{ statusCode: 202 }, { statusCode: 422 }], created: [1, 1, 0, 0, 1] })
  for (const other of others) t.strictSame(other, first)
})

t.test('limits the codes for one address the same way, whether it has an account or not', async (t) => {
  const svc = await codeApp(t)
  const { email } = await svc.createUser()
  const statuses = async (address: string) => {
    const found: (number | string | undefined)[] = []
    for (let n = 1; n <= 7; n++) {
      const browser = svc.browser({ remoteAddress: `192.0.2.${n}` })
      await browser.get('/svc/csrf-cookie')
      const { statusCode, headers } = await browser.post(askPath, { email: address })
      found.push(statusCode, headers['retry-after'])
    }
    return found
  }
  const known = await statuses(email)
  t.strictSame(
    known.filter((_, at) => at % 2 === 0),
    [202, 202, 202, 202, 202, 429, 429],
  )
  t.strictSame(await statuses('unknown@example.com'), known)
  t.equal((await svc.mailbox.to(email)).length, 5, 'from any number of sources')
  svc.clock.advance(minute)
  await asking(svc, email)
  t.equal((await svc.mailbox.to(email)).length, 6)
})

t.test('does not charge the mail to the source, which would reveal known addresses', async (t) => {
  const svc = await codeApp(t, { rate_limits: { mail: '2/1s' } })
  const names: string[] = []
  const { counters } = svc.app
  const within = counters.within.bind(counters)
  counters.within = (tx) => {
    const inner = within(tx)
    const hit = inner.hit.bind(inner)
    inner.hit = (name, rule, now) => {
      names.push(name)
      return hit(name, rule, now)
    }
    return inner
  }
  const { email } = await svc.createUser()
  await asking(svc, email)
  t.not(await mailedCode(svc, email), '')
  t.strictSame(names, [`mails-to:guest:${email}`])
  await asking(svc, 'unknown@example.com')
  await svc.mailbox.all()
  t.strictSame(names.slice(1), ['mails-to:guest:unknown@example.com'])
})

t.test('answers the same for a right code of an address without an account', async (t) => {
  const svc = await codeApp(t)
  const codes: string[] = []
  const outbox = svc.app.outbox
  const add = outbox.add.bind(outbox)
  outbox.add = (tx, kind, payload, timing) => {
    if ('code' in payload) codes.push(String(payload.code))
    return add(tx, kind, payload, timing)
  }
  const browser = await asking(svc, 'unknown@example.com')
  const [code = ''] = codes
  const wrong = await enter(browser, otherThan(code))
  const right = await enter(browser, code)
  t.equal(right.statusCode, 422)
  t.equal(right.body, wrong.body)
  t.strictSame(await svc.mailbox.all(), [])
  t.equal(await svc.database.prisma.user.count(), 0)
})

t.test('slows down guessing on one account from many sources', async (t) => {
  const svc = await codeApp(t)
  const { email } = await svc.createUser()
  const statuses = new Set<number>()
  for (let n = 0; n < 60 && !statuses.has(429); n++) {
    // The limit on requests for codes ends meanwhile.
    svc.clock.advance(hour)
    const browser = await asking(svc, email, {}, { remoteAddress: `198.51.100.${n}` })
    for (let i = 0; i < 5; i++) statuses.add((await enter(browser, 'wrong')).statusCode)
  }
  t.strictSame([...statuses], [422, 429])
})
