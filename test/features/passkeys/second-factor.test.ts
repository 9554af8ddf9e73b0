import t from 'tap'
import type { TestApp } from '../../support/app.ts'
import { Authenticator } from '../../support/authenticator.ts'
import { minute } from '../../support/clock.ts'
import { credentials, redirectOf, ScriptlessBrowser } from '../../support/plain.ts'
import { challenged, enableTwoFactor } from '../../support/totp.ts'
import { buildPasskeyApp, eventsOf, forgedCeremonies, refusal, texts, Visitor, withPasskey } from './visitor.ts'

const options = '/passkeys/challenge/options'
const nothingPending = {
  code: 'no_pending_sign_in',
  message: 'No sign-in is waiting for a second factor. Please sign in again.',
}

/** A user with a passkey and an authenticator app. */
async function withBoth(svc: TestApp) {
  const owned = await withPasskey(svc)
  return { ...owned, factor: await enableTwoFactor(svc, owned.user) }
}

/** A browser whose sign-in by password waits for its second factor. */
const pending = async (svc: TestApp, { email }: { email: string }, more: object = {}) =>
  new Visitor(await challenged(svc, email, more))

const pass = async (visitor: Visitor, authenticator: Authenticator, forgery = {}) =>
  visitor.answer('challenge', authenticator.assert(await visitor.options('challenge'), forgery))

t.test('completes a sign-in by password with a passkey', async (t) => {
  const svc = await buildPasskeyApp(t)
  const { user, authenticator } = await withBoth(svc)
  const visitor = await pending(svc, user, { remember: true })
  const { challenge, ...rest } = await visitor.options('challenge')
  t.ok(challenge)
  t.strictSame(rest, {
    ...{ rpId: 'localhost', timeout: 300_000, userVerification: 'required' },
    allowCredentials: [{ id: authenticator.id, type: 'public-key', transports: ['hybrid', 'internal'] }],
  })
  t.equal(await visitor.userId(), null)
  const answer = await pass(visitor, authenticator)
  t.equal(answer.statusCode, 200, answer.body)
  t.strictSame(answer.json(), { redirect: 'http://localhost:5173/' })
  t.equal(await visitor.userId(), user.id)
  t.ok(await visitor.browser.cookie('svc_remember'), 'remembered, as the password form asked')
  const sessions = await svc.database.prisma.session.findMany({
    where: { userId: BigInt(user.id) },
    orderBy: { createdAt: 'asc' },
  })
  const proofs = sessions.map(({ data }) => JSON.parse(data).proof?.methods)
  t.strictSame(proofs.at(-1), ['pwd', 'pop', 'user', 'mfa'])
  t.match((await eventsOf(svc, 'login')).at(-1), { userId: user.id, data: { method: 'password', remember: true } })
  t.strictSame(await pass(visitor, authenticator).catch((error: Error) => JSON.parse(error.message)), nothingPending)
})

t.test("accepts only a verified passkey of the user, in the pending sign-in's session", async (t) => {
  const svc = await buildPasskeyApp(t, { passkeys: { user_verification: 'discouraged' } })
  const { user, authenticator } = await withBoth(svc)
  const other = await withBoth(svc)
  const visitor = await pending(svc, user)

  for (const [name, forgery] of Object.entries(forgedCeremonies)) {
    const answer = await pass(visitor, authenticator, forgery)
    t.strictSame([answer.statusCode, answer.json()], [422, refusal(texts.refused)], name)
  }
  t.strictSame((await pass(visitor, other.authenticator)).json(), refusal(texts.unknown), 'of another user')
  t.strictSame(
    (await pass(visitor, new Authenticator())).json(),
    refusal(texts.unknown, 'unknown_passkey'),
    'that svc does not know',
  )
  t.match(
    (await eventsOf(svc, 'passkey_failed')).map(({ data }) => data),
    [{ ceremony: 'second_factor' }],
  )

  const elsewhere = await pending(svc, user)
  const stolen = authenticator.assert(await elsewhere.options('challenge'))
  t.strictSame((await visitor.answer('challenge', stolen)).json(), refusal(texts.loginExpired), 'of another session')
  const fromLogin = authenticator.assert(await visitor.options('login'))
  t.strictSame((await visitor.answer('challenge', fromLogin)).json(), refusal(texts.loginExpired), 'for a sign-in')
  for (const credential of [null, {}, 'x', { id: 'x' }])
    t.equal((await visitor.answer('challenge', credential)).statusCode, 422)
  t.equal(await visitor.userId(), null)

  const good = authenticator.assert(await visitor.options('challenge'))
  const forged = await visitor.browser.send(
    'POST',
    '/passkeys/challenge',
    { credential: good },
    { 'x-xsrf-token': 'x' },
  )
  t.equal(forged.statusCode, 419, 'not from another site')
  const answers = await Promise.all([1, 2].map(() => visitor.answer('challenge', good)))
  t.match(answers.map(({ statusCode }) => statusCode).sort(), [200, /409|422/], 'a challenge works once')
  t.equal(await visitor.userId(), user.id)
})

t.test('signs in once if a passkey and a code answer at the same time', async (t) => {
  const svc = await buildPasskeyApp(t)
  const { user, authenticator, factor } = await withBoth(svc)
  const visitor = await pending(svc, user)
  const credential = authenticator.assert(await visitor.options('challenge'))
  const answers = await Promise.all([
    visitor.answer('challenge', credential),
    visitor.browser.post('/two-factor-challenge', { code: factor.code() }),
  ])
  const statuses = answers.map(({ statusCode }) => statusCode)
  t.equal(statuses.filter((status) => status < 300).length, 1, statuses.join())
  t.equal(statuses.filter((status) => status === 409 || status === 422).length, 1, statuses.join())
  t.equal((await eventsOf(svc, 'login')).filter(({ userId }) => userId === user.id).length, 3)
})

t.test('answers 409 when no sign-in is pending or the pending one has expired', async (t) => {
  const svc = await buildPasskeyApp(t)
  const { user, authenticator, owner, guest, factor } = await withBoth(svc)
  for (const visitor of [owner, guest]) {
    const answer = await visitor.browser.get(options)
    t.strictSame([answer.statusCode, answer.json()], [409, nothingPending])
    t.equal((await visitor.answer('challenge', { id: 'x' })).statusCode, 409)
  }
  const late = await pending(svc, user)
  svc.clock.advance(6 * minute)
  const credential = authenticator.assert(await late.options('challenge'))
  svc.clock.advance(4 * minute)
  t.strictSame((await late.answer('challenge', credential)).json(), nothingPending)

  const changed = await pending(svc, user)
  const before = authenticator.assert(await changed.options('challenge'))
  await svc.database.prisma.user.update({ where: { id: BigInt(user.id) }, data: { disabledAt: new Date() } })
  t.strictSame((await changed.answer('challenge', before)).json(), nothingPending, 'a disabled account')
  await svc.database.prisma.user.update({ where: { id: BigInt(user.id) }, data: { disabledAt: null } })

  await svc.database.prisma.passkey.deleteMany({ where: { userId: BigInt(user.id) } })
  const bare = await pending(svc, user)
  t.strictSame((await bare.browser.get(options)).json(), {
    code: 'not_found',
    message: 'This account has no passkey.',
  })
  t.equal((await bare.browser.post('/two-factor-challenge', { code: factor.code() })).statusCode, 204)
})

t.test('offers the passkey on the page for the second factor to users who have one', async (t) => {
  const svc = await buildPasskeyApp(t)
  const button = 'id="passkey-confirm" data-ceremony="challenge"'
  const { user } = await withBoth(svc)
  const bare = await enableTwoFactor(svc)
  const page = async (email: string) => {
    const browser = new ScriptlessBrowser(svc)
    const sent = await browser.send('/oauth/login?return_to=%2Faccount', credentials(email))
    t.match(redirectOf(sent), [303, '/oauth/login?return_to=%2Faccount'])
    return (await browser.open('/oauth/login?return_to=%2Faccount')).body
  }
  const body = await page(user.email)
  for (const part of [button, 'data-return-to="/account"', 'restart=1', 'Use a passkey']) t.match(body, part)
  t.notMatch(await page(bare.email), button, 'not without a passkey')
  const config = svc.config.current()
  svc.config.swap({ ...config, passkeys: { ...config.passkeys, enabled: false } })
  t.notMatch(await page(user.email), button, 'not with passkeys.enabled: false')
  const off = await pending(svc, user)
  t.equal((await off.browser.get(options)).statusCode, 404)
  t.equal((await off.answer('challenge', {})).statusCode, 404)
})
