import { randomBytes } from 'node:crypto'
import t from 'tap'
import { confirming } from '../../support/app.ts'
import { Authenticator, type Forgery } from '../../support/authenticator.ts'
import { minute } from '../../support/clock.ts'
import { Scrape } from '../../support/metrics.ts'
import { freePort } from '../../support/process.ts'
import {
  buildPasskeyApp,
  eventsOf,
  forgedCeremonies,
  refusal,
  signedIn,
  texts,
  Visitor,
  withPasskey,
} from './visitor.ts'

t.test('signs in by passkey without an address, in a new session', async (t) => {
  const svc = await buildPasskeyApp(t, confirming)
  const { user, authenticator, guest } = await withPasskey(svc)
  const answer = await guest.browser.get('/passkeys/login/options')
  const { options } = answer.json()
  t.strictSame(
    { ...options, challenge: '' },
    { challenge: '', rpId: 'localhost', timeout: 300_000, userVerification: 'required' },
    'no credential is named, so nothing about accounts is revealed',
  )
  const before = await guest.browser.cookie('svc_session')
  svc.clock.advance(minute)
  const signed = await guest.answer('login', authenticator.assert(options, { backedUp: true }), { user_id: 999 })
  t.equal(signed.statusCode, 200, signed.body)
  t.strictSame(signed.json(), { redirect: 'http://localhost:5173/' })
  t.not(await guest.browser.cookie('svc_session'), before, 'the session has a new id')
  t.equal(await guest.userId(), user.id)
  t.notOk(await guest.browser.cookie('svc_remember'))
  const [row] = await svc.database.prisma.passkey.findMany()
  t.match(row, { counter: 2n, backedUp: true, lastUsedAt: new Date(svc.clock.now()) })
  t.match((await eventsOf(svc, 'login')).at(-1), { userId: user.id, data: { method: 'passkey', remember: false } })
  const confirmed = await guest.browser.get('/user/confirmed-password-status')
  if (confirmed.statusCode === 200) t.strictSame(confirmed.json(), { confirmed: false }, 'a login confirms nothing')

  const { visitor: other } = await signedIn(svc)
  t.equal((await other.login(authenticator)).statusCode, 200)
  t.equal(await other.userId(), user.id, 'in place of the signed-in user')
})

t.test('remembers the browser on request, in the accepted forms', async (t) => {
  const svc = await buildPasskeyApp(t, confirming)
  const { authenticator } = await withPasskey(svc)
  for (const [remember, expected] of [
    [true, true],
    [1, true],
    ['1', true],
    [false, false],
    [0, false],
    ['0', false],
  ]) {
    const guest = new Visitor(svc.browser())
    t.equal((await guest.login(authenticator, {}, { remember })).statusCode, 200)
    t.equal((await guest.browser.cookie('svc_remember')) !== undefined, expected, JSON.stringify(remember))
  }
  for (const remember of ['yes', 'true', 2, null, '', [], {}]) {
    const answer = await new Visitor(svc.browser()).login(authenticator, {}, { remember })
    t.equal(answer.statusCode, 422)
    t.strictSame(answer.json().errors, { remember: ['The remember field must be true or false.'] })
  }
})

t.test('rejects every forged response, and signs no user in', async (t) => {
  const svc = await buildPasskeyApp(t, confirming)
  const { user, authenticator, guest } = await withPasskey(svc)
  const other = await withPasskey(svc)
  const { user: handles } = await other.owner.options('register')
  const forgeries: Record<string, Forgery> = {
    ...forgedCeremonies,
    'another scheme': { origin: 'https://localhost:5173' },
    'the other ceremony': { type: 'webauthn.create' },
    'a payment': { type: 'payment.get' },
    "another user's handle": { userHandle: handles?.id },
    'an unknown handle': { userHandle: randomBytes(32).toString('base64url') },
  }
  for (const [what, forgery] of Object.entries(forgeries)) {
    const answer = await guest.login(authenticator, forgery)
    t.equal(answer.statusCode, 422, what)
    t.strictSame(answer.json(), refusal(texts.refused), what)
    t.equal(await guest.userId(), null, what)
  }
  const failures = await eventsOf(svc, 'passkey_failed')
  t.equal(failures.length, Object.keys(forgeries).length)
  for (const failure of failures)
    t.strictSame(failure, { userId: user.id, data: { ceremony: 'login', reason: 'verification' } })

  const tampered = async (field: 'signature' | 'authenticatorData' | 'clientDataJSON') => {
    const credential = authenticator.assert(await guest.options('login'))
    const bytes = Buffer.from(credential.response[field], 'base64url')
    bytes.writeUInt8(bytes.readUInt8(bytes.length - 3) ^ 1, bytes.length - 3)
    return guest.answer('login', {
      ...credential,
      response: { ...credential.response, [field]: bytes.toString('base64url') },
    })
  }
  for (const field of ['signature', 'authenticatorData', 'clientDataJSON'] as const)
    t.strictSame((await tampered(field)).json(), refusal(texts.refused), `a bit of ${field}`)

  const honest = authenticator.assert(await guest.options('login'))
  const doubled = await guest.answer('login', { ...honest, rawId: other.authenticator.id })
  t.strictSame(doubled.json(), refusal(texts.format), 'two ids')
  const foreign = other.authenticator.assert(await guest.options('login'), { userHandle: undefined })
  const swapped = { ...foreign, id: authenticator.id, rawId: authenticator.id }
  t.strictSame((await guest.answer('login', swapped)).json(), refusal(texts.refused), "another user's key")
  const copy = new Authenticator({ id: Buffer.from(authenticator.id, 'base64url'), counter: 50 })
  t.strictSame((await guest.login(copy)).json(), refusal(texts.refused), 'another key under the same id')
  t.strictSame(
    (await guest.login(new Authenticator())).json(),
    refusal(texts.unknown, 'unknown_passkey'),
    'an unknown credential',
  )
  t.equal(await guest.userId(), null)
  t.equal((await guest.login(authenticator, { userHandle: undefined })).statusCode, 200, 'a genuine one signs in')
  const secrets = svc.logs.filter((line) => line.includes('passkey rejected'))
  t.ok(
    secrets.length > 0 && !secrets.some((line) => line.includes(authenticator.id)),
    'the log has the reason and no more',
  )
})

t.test('requires an increasing signature counter, unless both sides do not count', async (t) => {
  const svc = await buildPasskeyApp(t, confirming)
  const { user, authenticator, guest } = await withPasskey(svc, new Authenticator({ counter: 10 }))
  t.equal((await guest.login(authenticator, { counter: 20 })).statusCode, 200)
  for (const counter of [20, 19, 11, 1, 0]) {
    const clone = new Visitor(svc.browser())
    t.strictSame((await clone.login(authenticator, { counter })).json(), refusal(texts.refused), `${counter} after 20`)
    t.equal(await clone.userId(), null)
  }
  const failures = await eventsOf(svc, 'passkey_failed')
  t.equal(failures.length, 5)
  t.equal(await svc.database.prisma.event.count({ where: { type: 'passkey_failed' } }), 1, 'one row counts them')
  t.strictSame(failures[0], { userId: user.id, data: { ceremony: 'login', reason: 'counter' } })
  t.equal((await guest.login(authenticator, { counter: 2 ** 32 - 1 })).statusCode, 200)

  const uncounted = await withPasskey(svc, new Authenticator())
  t.equal((await uncounted.guest.login(uncounted.authenticator)).statusCode, 200)
  t.equal((await uncounted.guest.login(uncounted.authenticator)).statusCode, 200, 'zero after zero')
})

t.test('counts a rejected passkey as a failed sign-in', async (t) => {
  const port = await freePort()
  const svc = await buildPasskeyApp(t, { metrics: { port }, server: { host: '127.0.0.1' } })
  const { authenticator, guest } = await withPasskey(svc, new Authenticator({ counter: 10 }))
  t.equal((await guest.login(authenticator, { counter: 9 })).statusCode, 422)
  const metrics = await Scrape.of(port)
  t.equal(metrics.value('svc_logins_total', { channel: 'passkey', outcome: 'failed' }), 1)
  t.equal(metrics.value('svc_security_events_total', { event: 'passkey_failed' }), 1)
})

t.test('accepts one of several clones that respond concurrently with one counter', async (t) => {
  const svc = await buildPasskeyApp(t, confirming)
  const { authenticator } = await withPasskey(svc)
  const clones = await Promise.all(
    Array.from({ length: 6 }, async () => {
      const visitor = new Visitor(svc.browser())
      return { visitor, credential: authenticator.assert(await visitor.options('login'), { counter: 5 }) }
    }),
  )
  const answers = await Promise.all(clones.map(({ visitor, credential }) => visitor.answer('login', credential)))
  t.strictSame(answers.map(({ statusCode }) => statusCode).sort(), [200, 422, 422, 422, 422, 422])
  const ids = await Promise.all(clones.map(({ visitor }) => visitor.userId()))
  t.equal(ids.filter((id) => id !== null).length, 1)
})

t.test('rejects a disabled account', async (t) => {
  const svc = await buildPasskeyApp(t, confirming)
  const { user, authenticator, guest } = await withPasskey(svc)
  const where = { id: BigInt(user.id) }
  await svc.database.prisma.user.update({ where, data: { disabledAt: new Date(svc.clock.now()) } })
  t.strictSame((await guest.login(authenticator)).json(), refusal(texts.disabled))
  t.equal(await guest.userId(), null)
  t.strictSame((await guest.login(authenticator, { origin: 'https://evil.example' })).json(), refusal(texts.refused))
  await svc.database.prisma.user.update({ where, data: { disabledAt: null } })
  t.equal((await guest.login(authenticator)).statusCode, 200)
})

t.test('counts a verified passkey as both factors, and an unverified one as the first', async (t) => {
  const svc = await buildPasskeyApp(t, { passkeys: { user_verification: 'preferred' } })
  const { user, authenticator, guest, owner } = await withPasskey(svc)
  t.equal((await guest.login(authenticator, { userVerified: false })).statusCode, 200, 'without a second factor')
  t.equal(await guest.userId(), user.id)
  const confirmed = { twoFactorSecret: 'x', twoFactorConfirmedAt: new Date(svc.clock.now()) }
  await svc.database.prisma.user.update({ where: { id: BigInt(user.id) }, data: confirmed })

  const careless = new Visitor(svc.browser())
  const answer = await careless.login(authenticator, { userVerified: false })
  t.equal(answer.statusCode, 200)
  const challenge = 'http://localhost:5173/two-factor-challenge'
  t.strictSame(answer.json(), { two_factor: true, redirect: challenge }, 'the second factor is still required')
  t.equal(await careless.userId(), null, 'no user is signed in')
  const verified = new Visitor(svc.browser())
  t.strictSame((await verified.login(authenticator)).json(), { redirect: 'http://localhost:5173/' })
  t.equal(await verified.userId(), user.id)

  const refused = await owner.confirm(authenticator, { userVerified: false })
  t.strictSame(refused.json(), refusal(texts.refused), 'nor does it confirm')
  t.equal((await owner.confirm(authenticator)).statusCode, 200)
})

t.test('keeps passkeys valid after a change of the secret', async (t) => {
  const svc = await buildPasskeyApp(t, confirming)
  const { user, authenticator } = await withPasskey(svc)
  const secret = 'another-secret-of-the-tests-32-bytes-long'
  const next = await buildPasskeyApp(t, {}, { database: svc.where, env: { SVC_SECRET: secret }, clock: svc.clock })
  const guest = new Visitor(next.browser())
  t.equal((await guest.login(authenticator)).statusCode, 200)
  t.equal(await guest.userId(), user.id)
  const [before, after] = [svc, next].map(async (each) => {
    const visitor = new Visitor(each.browser())
    await visitor.browser.signIn(user.email)
    return (await visitor.options('register')).user?.id
  })
  t.equal(await after, await before, 'the same handle is issued')
})
