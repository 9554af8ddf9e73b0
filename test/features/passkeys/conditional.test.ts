// engine: none
import t from 'tap'
import { Authenticator, type CeremonyOptions } from '../../support/authenticator.ts'
import { minute } from '../../support/clock.ts'
import { challenged, enableTwoFactor } from '../../support/totp.ts'
import { buildPasskeyApp, eventsOf, refusal, signedIn, texts, Visitor, withPasskey } from './visitor.ts'

const path = '/user/passkeys/conditional'

/** What a password manager returns that noticed no user. */
const silent = { userPresent: false, userVerified: false, backedUp: true }

const optionsFor = async ({ browser }: Visitor): Promise<CeremonyOptions> => {
  const answer = await browser.get(`${path}/options`)
  if (answer.statusCode !== 200) throw new Error(answer.body)
  return answer.json().options
}

const statusOf = async ({ browser }: Visitor) => (await browser.get(`${path}/options`)).statusCode

t.test('registers a passkey without a gesture after a sign-in by password', async (t) => {
  const svc = await buildPasskeyApp(t, { passkeys: { confirm_password: true } })
  const { user, visitor } = await signedIn(svc)
  const options = await optionsFor(visitor)
  t.match(options, { authenticatorSelection: { residentKey: 'required', userVerification: 'preferred' } })
  t.strictSame(await statusOf(visitor), 403, 'once per session')
  const authenticator = new Authenticator()
  const credential = authenticator.register(options, silent)
  const headers = { 'user-agent': 'Mozilla/5.0 (Windows NT 10.0) Chrome/140.0.0.0 Safari/537.36' }
  const answers = await Promise.all([1, 2].map(() => visitor.browser.post(path, { credential }, headers)))
  t.strictSame(answers.map(({ statusCode }) => statusCode).sort(), [200, 422], 'two concurrent responses')
  const answer = answers.find(({ statusCode }) => statusCode === 200)
  t.match(answer?.json(), { name: 'Chrome on Windows', status: 'passkey-registered' })
  t.match(await eventsOf(svc, 'passkey_registered'), [{ userId: user.id, data: { backed_up: true } }])
  t.match(await svc.mailbox.to(user.email), [{ subject: /passkey/i }], 'the owner is notified')
  const again = await visitor.browser.post(path, { credential })
  t.strictSame(again.json(), refusal(texts.registrationExpired), 'a response cannot be replayed')

  const guest = new Visitor(svc.browser())
  t.equal((await guest.login(authenticator, { userVerified: false })).statusCode, 422, 'signing in verifies the user')
  t.equal((await guest.login(authenticator, { userPresent: false })).statusCode, 422)
  t.equal((await guest.login(authenticator)).statusCode, 200)
})

t.test('accepts a registration without user presence only for its own options', async (t) => {
  const svc = await buildPasskeyApp(t, { passkeys: { user_verification: 'discouraged' } })
  const { visitor } = await signedIn(svc)
  const register = await visitor.options('register')
  const conditional = await optionsFor(visitor)
  const post = (options: CeremonyOptions, forgery = silent) =>
    visitor.browser.post(path, { credential: new Authenticator().register(options, forgery) })
  t.strictSame((await visitor.register(new Authenticator(), silent)).json(), refusal(texts.notRegistered))
  const swapped = await visitor.answer('register', new Authenticator().register(conditional, silent))
  t.strictSame(swapped.json(), refusal(texts.registrationExpired), 'the other route')
  t.strictSame((await post(register)).json(), refusal(texts.notRegistered), 'options of the other ceremony')
  t.strictSame((await post(conditional)).json(), refusal(texts.registrationExpired), 'a failure uses them up')

  const thief = (await signedIn(svc)).visitor
  const other = (await signedIn(svc)).visitor
  await optionsFor(thief)
  const stolen = new Authenticator().register(await optionsFor(other), silent)
  t.strictSame((await thief.browser.post(path, { credential: stolen })).json(), refusal(texts.notRegistered))
  const forged = await other.browser.post(path, {
    credential: new Authenticator().register(conditional, { ...silent, crossOrigin: true }),
  })
  t.strictSame(forged.json(), refusal(texts.notRegistered))
  t.equal(await svc.database.prisma.passkey.count(), 0)
})

t.test('requires a sign-in by password in the last five minutes', async (t) => {
  const svc = await buildPasskeyApp(t)
  const { visitor } = await signedIn(svc)
  const credential = new Authenticator().register(await optionsFor(visitor), silent)
  const late = (await signedIn(svc)).visitor
  svc.clock.advance(5 * minute)
  t.equal((await visitor.browser.post(path, { credential })).statusCode, 423)
  t.equal(await statusOf(late), 423)
  t.equal((await late.browser.post('/user/confirm-password', { password: 'correct horse' })).statusCode, 201)
  t.equal(await statusOf(late), 423, 'the password manager fills in sign-ins only')

  const { authenticator, user } = await withPasskey(svc)
  const byPasskey = new Visitor(svc.browser())
  t.equal((await byPasskey.login(authenticator)).statusCode, 200)
  t.equal(await statusOf(byPasskey), 423, 'a sign-in by passkey')
  const byPassword = new Visitor(svc.browser())
  await byPassword.browser.signIn(user.email)
  t.equal(await statusOf(byPassword), 403, 'a user with a passkey')
  t.equal(await svc.database.prisma.passkey.count(), 1)
})

t.test('registers nothing for a user who got a passkey meanwhile, and waits for the second factor', async (t) => {
  const svc = await buildPasskeyApp(t)
  const { user, visitor } = await signedIn(svc)
  const credential = new Authenticator().register(await optionsFor(visitor), silent)
  t.equal((await visitor.register(new Authenticator())).statusCode, 200)
  t.equal((await visitor.browser.post(path, { credential })).statusCode, 403)
  t.equal(await svc.database.prisma.passkey.count({ where: { userId: BigInt(user.id) } }), 1)

  const two = await enableTwoFactor(svc)
  const pending = new Visitor(await challenged(svc, two.email))
  t.equal(await statusOf(pending), 401)
  t.equal((await pending.browser.post(path, { credential })).statusCode, 401)
  t.equal((await pending.browser.post('/two-factor-challenge', { code: two.code() })).statusCode, 204)
  t.equal(await statusOf(pending), 200)
})

t.test('rejects forged requests, invalid bodies, and everything without passkeys', async (t) => {
  const svc = await buildPasskeyApp(t)
  const { visitor } = await signedIn(svc)
  t.equal((await visitor.browser.post(path, {}, { 'x-xsrf-token': 'wrong' })).statusCode, 419)
  for (const body of [{}, { credential: null }, { credential: 'x' }, { credential: [] }, { credential: {} }])
    t.equal((await visitor.browser.post(path, body)).statusCode, 422, JSON.stringify(body))
  const off = await buildPasskeyApp(t, { passkeys: { enabled: false } })
  const other = await signedIn(off)
  t.equal(await statusOf(other.visitor), 404)
  t.equal((await other.visitor.browser.post(path, {})).statusCode, 404)
})
