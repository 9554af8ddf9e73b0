import t from 'tap'
import { pruneExpired } from '../../../src/app/upkeep.ts'
import { Authenticator, type CeremonyOptions } from '../../support/authenticator.ts'
import { minute, second } from '../../support/clock.ts'
import { buildPasskeyApp, refusal, signedIn, texts, Visitor, withPasskey } from './visitor.ts'

const forged = { challenge: 'A'.repeat(43) }

t.test('accepts a response once', async (t) => {
  const svc = await buildPasskeyApp(t)
  const { authenticator, owner, guest } = await withPasskey(svc, new Authenticator())
  const credential = authenticator.assert(await guest.options('login'))
  const cookies = await guest.browser.jar.serialize()
  t.equal((await guest.answer('login', credential)).statusCode, 200)
  t.strictSame((await guest.answer('login', credential)).json(), refusal(texts.loginExpired), 'in the new session')
  const old = new Visitor(svc.browser())
  for (const { key, value } of cookies.cookies)
    await old.browser.jar.setCookie(`${key}=${value}; Path=/`, 'http://localhost:8000/')
  t.strictSame((await old.answer('login', credential)).json(), refusal(texts.loginExpired), 'in the old one')
  t.strictSame((await new Visitor(svc.browser()).login(authenticator)).statusCode, 200)
  await old.options('login')
  t.strictSame((await old.answer('login', credential)).json(), refusal(texts.refused), 'with another challenge pending')

  const attestation = new Authenticator().register(await owner.options('register'))
  t.equal((await owner.answer('register', attestation)).statusCode, 200)
  t.strictSame((await owner.answer('register', attestation)).json(), refusal(texts.registrationExpired))
  const assertion = authenticator.assert(await owner.options('confirm'))
  t.equal((await owner.answer('confirm', assertion)).statusCode, 200)
  t.strictSame((await owner.answer('confirm', assertion)).json(), refusal(texts.loginExpired))
  t.equal(await svc.database.prisma.passkeyChallenge.count(), 0)
})

t.test('accepts one of many concurrent copies of a response', async (t) => {
  const svc = await buildPasskeyApp(t)
  const { authenticator, guest, owner } = await withPasskey(svc, new Authenticator())
  const credential = authenticator.assert(await guest.options('login'))
  const cookie = await guest.browser.jar.getCookieString('http://localhost:8000/')
  const token = (await guest.browser.cookie('XSRF-TOKEN')) ?? ''
  const headers = { cookie, 'x-xsrf-token': token, origin: 'http://localhost:5173' }
  const send = () => svc.app.inject({ method: 'POST', url: '/passkeys/login', headers, payload: { credential } })
  const answers = await Promise.all(Array.from({ length: 8 }, send))
  t.strictSame(answers.map(({ statusCode }) => statusCode).sort(), [200, ...Array(7).fill(422)])
  const attestation = new Authenticator().register(await owner.options('register'))
  const stored = await Promise.all(Array.from({ length: 8 }, () => owner.answer('register', attestation)))
  t.strictSame(stored.map(({ statusCode }) => statusCode).sort(), [200, ...Array(7).fill(422)])
  for (const { statusCode, body } of stored)
    if (statusCode === 422) t.strictSame(JSON.parse(body), refusal(texts.registrationExpired))
})

t.test('uses the challenge up on an invalid response, even an unreadable one', async (t) => {
  const svc = await buildPasskeyApp(t)
  const { authenticator, guest, owner } = await withPasskey(svc)
  for (const bad of [{}, { id: 'x' }, { ...authenticator.assert(forged), type: 'x' }, authenticator.assert(forged)]) {
    const options = await guest.options('login')
    t.equal((await guest.answer('login', bad)).statusCode, 422)
    const honest = await guest.answer('login', authenticator.assert(options))
    t.strictSame(honest.json(), refusal(texts.loginExpired))
    const confirmation = await owner.options('confirm')
    t.equal((await owner.answer('confirm', bad)).statusCode, 422)
    t.strictSame(
      (await owner.answer('confirm', authenticator.assert(confirmation))).json(),
      refusal(texts.loginExpired),
    )
    const creation = await owner.options('register')
    t.equal((await owner.answer('register', bad)).statusCode, 422)
    const late = await owner.answer('register', new Authenticator().register(creation))
    t.strictSame(late.json(), refusal(texts.registrationExpired))
  }
  const options = await guest.options('login')
  t.equal((await guest.browser.post('/passkeys/login', {})).statusCode, 422)
  t.equal(
    (await guest.answer('login', authenticator.assert(options))).statusCode,
    200,
    'a missing response uses nothing up',
  )
})

t.test('rejects a response without a challenge or after five minutes', async (t) => {
  const svc = await buildPasskeyApp(t)
  const { authenticator, guest, owner } = await withPasskey(svc)
  await guest.browser.get('/svc/csrf-cookie')
  t.strictSame((await guest.answer('login', authenticator.assert(forged))).json(), refusal(texts.loginExpired))
  t.strictSame((await owner.answer('confirm', authenticator.assert(forged))).json(), refusal(texts.loginExpired))
  const attestation = new Authenticator().register(forged)
  t.strictSame((await owner.answer('register', attestation)).json(), refusal(texts.registrationExpired))

  const late = await guest.options('login')
  svc.clock.advance(6 * minute)
  t.strictSame((await guest.answer('login', authenticator.assert(late))).json(), refusal(texts.loginExpired))
  const creation = await owner.options('register')
  svc.clock.advance(6 * minute)
  const answer = await owner.answer('register', new Authenticator().register(creation))
  t.strictSame(answer.json(), refusal(texts.registrationExpired))
  const inTime = await guest.options('login')
  svc.clock.advance(6 * minute - second)
  t.equal((await guest.answer('login', authenticator.assert(inTime))).statusCode, 200)
})

t.test('binds a challenge to one session and one ceremony', async (t) => {
  const svc = await buildPasskeyApp(t)
  const { authenticator, owner, guest } = await withPasskey(svc)
  const other = await signedIn(svc)
  const stranger = new Visitor(svc.browser())

  const asked = authenticator.assert(await stranger.options('login'))
  await guest.browser.get('/svc/csrf-cookie')
  t.strictSame((await guest.answer('login', asked)).json(), refusal(texts.loginExpired), "another session's")
  await guest.options('login')
  t.strictSame((await guest.answer('login', asked)).json(), refusal(texts.refused), 'with a challenge of its own')
  const registered = new Authenticator().register(await other.visitor.options('register'))
  await owner.options('register')
  t.strictSame((await owner.answer('register', registered)).json(), refusal(texts.notRegistered))

  const mine = new Authenticator().register(await owner.options('register'))
  await svc.database.prisma.passkeyChallenge.updateMany({ data: { userId: BigInt(other.user.id) } })
  t.strictSame((await owner.answer('register', mine)).json(), refusal(texts.registrationExpired), "another user's")

  const take = async (from: 'login' | 'confirm' | 'register', to: 'login' | 'confirm' | 'register') => {
    const { authenticator, owner } = await withPasskey(svc)
    const options: CeremonyOptions = await owner.options(from)
    const { challenge } = options
    const make = () =>
      to === 'register' ? new Authenticator().register({ challenge }) : authenticator.assert({ challenge })
    const expired = to === 'register' ? texts.registrationExpired : texts.loginExpired
    t.strictSame((await owner.answer(to, make())).json(), refusal(expired), `${from} for ${to}`)
    await owner.options(to)
    const refused = to === 'register' ? texts.notRegistered : texts.refused
    t.strictSame(
      (await owner.answer(to, make())).json(),
      refusal(refused),
      `${from} for ${to}, with a challenge of its own`,
    )
  }
  await take('register', 'confirm')
  await take('login', 'confirm')
  await take('confirm', 'register')
  await take('login', 'register')
  await take('register', 'login')
  await take('confirm', 'login')
})

t.test('allows five pending challenges in tabs, and the first response ends them all', async (t) => {
  const svc = await buildPasskeyApp(t)
  const { authenticator, guest } = await withPasskey(svc)
  const waiting = () => svc.database.prisma.passkeyChallenge.count()
  const [first, second] = [await guest.options('login'), await guest.options('login')]
  t.equal((await guest.answer('login', authenticator.assert(first))).statusCode, 200, 'the older tab')
  t.strictSame((await guest.answer('login', authenticator.assert(second))).json(), refusal(texts.loginExpired))
  t.equal(await waiting(), 0)

  const visitor = new Visitor(svc.browser())
  const asked = []
  for (let tab = 0; tab < 8; tab++) asked.push(await visitor.options('login'))
  t.equal(await waiting(), 5)
  const oldest = authenticator.assert(asked[0] ?? forged)
  t.strictSame((await visitor.answer('login', oldest)).json(), refusal(texts.refused), 'the oldest is dropped')
  await Promise.all(Array.from({ length: 12 }, () => visitor.options('login')))
  t.ok((await waiting()) <= 12)
  await visitor.options('login')
  t.equal(await waiting(), 5)
})

t.test('deletes unanswered challenges on the next request, and by daily pruning', async (t) => {
  const svc = await buildPasskeyApp(t)
  const waiting = () => svc.database.prisma.passkeyChallenge.count()
  await new Visitor(svc.browser()).options('login')
  await new Visitor(svc.browser()).options('login')
  t.equal(await waiting(), 2)
  svc.clock.advance(6 * minute)
  await new Visitor(svc.browser()).options('login')
  t.equal(await waiting(), 1)
  await pruneExpired(svc.app)
  t.equal(await waiting(), 1)
  svc.clock.advance(6 * minute + second)
  await pruneExpired(svc.app)
  t.equal(await waiting(), 0)
})

t.test('limits challenges to sixty a minute per address', async (t) => {
  const svc = await buildPasskeyApp(t)
  const ask = (remoteAddress: string) => svc.app.inject({ url: '/passkeys/login/options', remoteAddress })
  for (let asked = 0; asked < 60; asked++) t.equal((await ask('192.0.2.1')).statusCode, 200)
  const refused = await ask('192.0.2.1')
  t.equal(refused.statusCode, 429)
  t.strictSame(refused.json(), { message: 'Too Many Attempts.', code: 'too_many_requests' })
  t.match(refused.headers, { 'retry-after': '60', 'x-ratelimit-limit': '60', 'x-ratelimit-remaining': '0' })
  t.equal((await ask('192.0.2.2')).statusCode, 200, 'others are not affected')
  svc.clock.advance(minute)
  t.equal((await ask('192.0.2.1')).statusCode, 200)
})
