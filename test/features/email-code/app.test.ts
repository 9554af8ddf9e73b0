import t from 'tap'
import type { TestApp } from '../../support/app.ts'
import { minute } from '../../support/clock.ts'
import { Device } from '../../support/device.ts'
import { enableTwoFactor } from '../../support/totp.ts'
import { asking, codeApp, enter, mailedCode, otherThan } from './setup.ts'

const text = 'The provided code was incorrect or has expired.'
const wrong = { message: text, code: 'validation_failed', errors: { email_code: [text] } }

/** Requests a code in an app; returns its fields of `POST /svc/token`. */
async function begin(svc: TestApp, email: string) {
  const answer = await new Device(svc).post('/svc/email-code', { email })
  if (answer.statusCode !== 202) throw new Error(answer.body)
  return { challenge_token: String(answer.json().challenge_token), email_code: await mailedCode(svc, email) }
}

t.test('signs an app in by mailed code, without cookies, and returns an API token', async (t) => {
  const svc = await codeApp(t)
  const user = await svc.createUser()
  const device = new Device(svc)
  const begun = await device.post('/svc/email-code', { email: ` ${user.email.toUpperCase()} ` })
  t.equal(begun.statusCode, 202, begun.body)
  t.same(Object.keys(begun.json()).sort(), ['challenge_token', 'message', 'status'])
  t.equal(begun.headers['set-cookie'], undefined)
  const { challenge_token } = begun.json()
  const email_code = await mailedCode(svc, user.email)
  const [mail] = await svc.mailbox.to(user.email)
  t.notMatch(mail?.text, '/oauth/email-code', 'an app has no page for a link')
  const answer = await device.token({ email_code: `${email_code.slice(0, 3)} ${email_code.slice(3)}`, challenge_token })
  t.equal(answer.statusCode, 200, answer.body)
  t.equal(answer.headers['set-cookie'], undefined)
  t.equal(answer.json().user.id, user.id)
  t.match((await svc.bearer(answer.json().token, 'GET', '/api/tokens')).json(), [{ name: 'Phone', abilities: ['*'] }])
  const event = await svc.database.prisma.event.findFirst({ where: { type: 'token_created' } })
  t.match(JSON.parse(event?.data ?? ''), { channel: 'email_code' })
})

t.test('answers the same for an address without an account', async (t) => {
  const svc = await codeApp(t)
  const { email } = await svc.createUser()
  const device = new Device(svc)
  const shown = async (address: string) => {
    const answer = await device.post('/svc/email-code', { email: address })
    const { challenge_token, ...rest } = answer.json()
    const tried = await device.token({ email_code: '000000', challenge_token })
    return { status: answer.statusCode, rest, length: challenge_token.length, tried: tried.json() }
  }
  t.strictSame(await shown('unknown@example.com'), await shown(email))
  t.strictSame((await shown('unknown@example.com')).tried, wrong)
})

t.test('accepts a code once, with the challenge token of its app, on 20 parallel requests', async (t) => {
  const svc = await codeApp(t)
  const { email } = await svc.createUser()
  const device = new Device(svc)
  const [mine, browser] = [await begin(svc, email), await asking(svc, email)]
  const newest = await mailedCode(svc, email)
  t.strictSame((await device.token({ ...mine, email_code: newest })).json(), wrong, "a browser's code")
  const foreign = (await new Device(svc).post('/svc/email-code', { email: 'other@example.com' })).json()
  const stolen = { email_code: mine.email_code, challenge_token: foreign.challenge_token }
  t.strictSame((await device.token(stolen)).json(), wrong, "another app's challenge token")
  const sessionId = String(await browser.cookie('svc_session')).split('.')[0]
  t.strictSame((await device.token({ email_code: newest, challenge_token: sessionId })).json(), wrong)
  t.equal((await enter(browser, mine.email_code)).statusCode, 422, 'in a browser')
  const credential = { credential: {}, challenge_token: mine.challenge_token }
  t.equal((await device.token(credential)).statusCode, 422, 'for a passkey')
  const answers = await Promise.all(Array.from({ length: 20 }, () => device.token(mine)))
  t.equal(answers.filter(({ statusCode }) => statusCode === 200).length, 1)
  t.strictSame((await device.token(mine)).json(), wrong)
  t.equal(await svc.database.prisma.personalAccessToken.count(), 1)
})

t.test('allows five attempts within ten minutes', async (t) => {
  const svc = await codeApp(t)
  const { email } = await svc.createUser()
  const device = new Device(svc)
  const tried = await begin(svc, email)
  for (let tries = 0; tries < 5; tries++)
    t.strictSame((await device.token({ ...tried, email_code: otherThan(tried.email_code) })).json(), wrong)
  t.strictSame((await device.token(tried)).json(), wrong)
  const late = await begin(svc, email)
  svc.clock.advance(10 * minute)
  t.strictSame((await device.token(late)).json(), wrong)
  t.equal(await svc.database.prisma.personalAccessToken.count(), 0)
})

t.test('asks for a second factor, and rejects disabled users', async (t) => {
  const svc = await codeApp(t)
  const ada = await enableTwoFactor(svc)
  const device = new Device(svc)
  const asked = await device.token(await begin(svc, ada.email))
  t.equal(asked.statusCode, 422)
  t.same(Object.keys(asked.json().errors), ['code'])
  const { challenge } = asked.json()
  t.equal((await device.token({ challenge, code: ada.wrong() })).statusCode, 422)
  t.equal((await device.token({ challenge, code: ada.code() })).statusCode, 200)
  const code = await begin(svc, ada.email)
  await svc.database.prisma.user.updateMany({ data: { disabledAt: new Date(svc.clock.now()) } })
  t.strictSame((await device.token(code)).json(), wrong)
  t.equal(await svc.database.prisma.personalAccessToken.count(), 1)
})

t.test('validates the fields, and rejects pages of other origins and a disabled feature', async (t) => {
  const svc = await codeApp(t)
  const device = new Device(svc)
  const missing = await device.post('/svc/token', { email_code: '123456' })
  t.same(Object.keys(missing.json().errors), ['challenge_token', 'device_name'])
  for (const email_code of [['1'], 5, 'x'.repeat(33)])
    t.same(Object.keys((await device.token({ email_code, challenge_token: 'x' })).json().errors), ['email_code'])
  const headers = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }
  t.equal((await device.post('/svc/email-code', { email: 'a@example.com' }, headers)).statusCode, 419)
  const off = await codeApp(t, { login: { email_code: false } })
  t.equal((await new Device(off).post('/svc/email-code', { email: 'a@example.com' })).statusCode, 404)
  t.strictSame((await new Device(off).token({ email_code: '123456', challenge_token: 'x' })).json(), wrong)
})
