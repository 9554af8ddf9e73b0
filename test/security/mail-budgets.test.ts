import t from 'tap'
import { asking } from '../features/email-code/setup.ts'
import { registration, visitor } from '../support/accounts.ts'
import { buildTestApp, type TestApp } from '../support/app.ts'
import { minute, second } from '../support/clock.ts'

const settings = { rate_limits: { mail: '2/1s' }, login: { email_code: true } }
const known = 'ada@example.com'

/** An app with an account of the known address. */
async function build() {
  const svc = await buildTestApp(t, { settings })
  await svc.createUser({ email: known })
  return svc
}

/** Requests a reset link, and sends every mail that is due. */
async function forget(svc: TestApp, email: string, remoteAddress: string) {
  const browser = await visitor(svc, { remoteAddress })
  const answer = await browser.post('/forgot-password', { email })
  await svc.mailbox.all()
  return [answer.statusCode, answer.headers['retry-after']]
}

/** Registers an alias of an address, which has the same mailbox. Returns the status and `Retry-After`. */
async function registerAlias(svc: TestApp, email: string) {
  const alias = registration(email.replace('@', '+alias@'))
  const { statusCode, headers } = await (await visitor(svc, { remoteAddress: '198.51.100.1' })).post('/register', alias)
  return [statusCode, headers['retry-after']]
}

t.test('counts password reset requests of one source the same way for known and unknown addresses', async (t) => {
  const answersFor = async (victim: string) => {
    const svc = await build()
    const answers: unknown[] = []
    for (let n = 0; n < 21; n++) {
      svc.clock.advance(second)

      answers.push(await forget(svc, n === 0 ? victim : `unknown${n}@example.com`, '203.0.113.7'))
    }
    return answers
  }
  const answers = await answersFor(known)
  t.strictSame(
    answers.map((answer) => [answer].flat()[0]),
    [...Array.from({ length: 20 }, () => 200), 429],
  )
  t.strictSame(await answersFor('unknown@example.com'), answers)
})

t.test('counts password reset requests for one mailbox the same way for known and unknown addresses', async (t) => {
  const answersFor = async (victim: string) => {
    const svc = await build()
    const answers = [await forget(svc, victim, '203.0.113.1')]
    svc.clock.advance(minute)
    answers.push(await forget(svc, victim, '203.0.113.2'))
    answers.push(await registerAlias(svc, victim))
    return { answers, mails: (await svc.mailbox.to(victim)).length }
  }
  const { answers, mails } = await answersFor(known)
  t.equal(mails, 2)
  t.match(answers, [[200], [200], [429]])
  t.strictSame(await answersFor('grace@example.com'), { answers, mails: 0 })
})

t.test('counts repeated requests within the throttle once', async (t) => {
  for (const victim of [known, 'grace@example.com']) {
    const svc = await build()
    for (let n = 1; n <= 5; n++) {
      const browser = await visitor(svc, { remoteAddress: `203.0.113.${n}` })
      t.equal((await browser.post('/forgot-password', { email: victim })).statusCode, 200)
      await svc.mailbox.all()
    }
    t.equal((await registerAlias(svc, victim))[0], 201, 'the mailbox still gets mail')
  }
})

t.test('counts requests for sign-in codes for one mailbox the same way for known and unknown addresses', async (t) => {
  const answersFor = async (victim: string) => {
    const svc = await build()
    for (const remoteAddress of ['203.0.113.1', '203.0.113.2']) {
      await asking(svc, victim, {}, { remoteAddress })
      await svc.mailbox.all()
    }
    return registerAlias(svc, victim)
  }
  const answer = await answersFor(known)
  t.equal(answer[0], 429)
  t.strictSame(await answersFor('grace@example.com'), answer)
})
