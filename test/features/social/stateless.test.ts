// engine: none
import t from 'tap'
import { strongPassword } from '../../support/accounts.ts'
import { hour, minute } from '../../support/clock.ts'
import { enableTwoFactor } from '../../support/totp.ts'
import { exchange, handIn, verifier } from './mobile.ts'
import { buildSocial, callbackUri, mobileUri, Visitor } from './visitor.ts'

const home = callbackUri('acme')

t.test('returns a token from the callback without a session', async (t) => {
  const svc = await buildSocial(t)
  const visitor = new Visitor(svc)
  const start = await visitor.open('/auth/acme/redirect?stateless=1&device_name=Phone')
  const set = [start.headers['set-cookie'] ?? []].flat()
  t.ok(
    set.some((line) => /^svc_social_.+; HttpOnly; .*SameSite=Lax/.test(line)),
    'the state is in a cookie',
  )
  t.equal(await svc.database.prisma.session.count(), 0)
  const back = await visitor.allow(new URL(String(start.headers.location)), 'grace')
  t.notMatch(set.join(), back.searchParams.get('state')?.slice(0, 20) ?? 'x', 'which does not contain it')
  const cookies = await visitor.browser.jar.getCookies(home)
  const answer = await visitor.back(back)
  t.equal(answer.statusCode, 200, answer.body)
  t.same(Object.keys(answer.json()).sort(), ['token', 'user'])
  t.match(answer.json(), { user: { email: 'grace@example.com', two_factor_enabled: false } })
  t.match(answer.headers['cache-control'], 'no-store')
  const api = await svc.bearer(answer.json().token, 'GET', '/api/user')
  t.equal(api.json().email, 'grace@example.com')
  const tokens = (await svc.bearer(answer.json().token, 'GET', '/api/tokens')).json()
  t.match(tokens, [{ name: 'Phone' }])
  t.equal(await visitor.user(), null, 'no session')
  t.equal(await svc.database.prisma.session.count(), 0)

  for (const cookie of cookies) await visitor.browser.jar.setCookie(cookie, home)
  const replay = await visitor.browser.get(back.pathname + back.search)
  t.equal(replay.statusCode, 400)
  t.match(replay.json(), { code: 'invalid_state' })
  t.equal(svc.acme.callsTo('/token').length, 1)
})

t.test('binds the cookie to one browser, one time and one state', async (t) => {
  const svc = await buildSocial(t)
  const begin = async () => {
    const visitor = new Visitor(svc)
    return {
      visitor,
      back: await visitor.allow(await visitor.begin('acme', { stateless: '1', device_name: 'P' }), 'grace'),
    }
  }
  const ask = ({ visitor, back }: Awaited<ReturnType<typeof begin>>) => visitor.browser.get(back.pathname + back.search)
  const [one, other] = [await begin(), await begin()]
  t.equal((await ask({ visitor: other.visitor, back: one.back })).json().code, 'invalid_state')
  t.equal((await ask({ visitor: new Visitor(svc), back: one.back })).json().code, 'invalid_state')
  const forged = await begin()
  for (const cookie of await forged.visitor.browser.jar.getCookies(home)) {
    cookie.value = `${cookie.value.slice(0, -4)}AAAA`
    await forged.visitor.browser.jar.setCookie(cookie, home)
  }
  t.equal((await ask(forged)).json().code, 'invalid_state', 'changed')
  const late = await begin()
  svc.clock.advance(hour)
  const code = (await ask(late)).json().code
  t.ok(['expired', 'invalid_state'].includes(code), code)
  t.equal(svc.acme.callsTo('/token').length, 0)
  const parallel = await begin()
  const answers = await Promise.all(Array.from({ length: 5 }, () => ask(parallel)))
  t.equal(answers.filter(({ statusCode }) => statusCode === 200).length, 1, 'once')
  t.equal(await svc.database.prisma.personalAccessToken.count(), 1)
  const denied = new Visitor(svc)
  const refused = await denied.allow(await denied.begin('acme', { stateless: '1', device_name: 'P' }), 'grace', 'deny')
  const told = await denied.back(refused)
  t.equal(told.statusCode, 400, 'as JSON, for every caller')
  t.equal(told.json().code, 'access_denied')
})

t.test('accepts a code that a mobile app got itself', async (t) => {
  const svc = await buildSocial(t, { acme: { redirect_uris: [mobileUri] } })
  const good = await handIn(svc, 'grace')
  const answer = await exchange(svc, good)
  t.equal(answer.statusCode, 200, answer.body)
  t.match(answer.json(), { token: String, user: { email: 'grace@example.com' } })
  t.same(answer.headers['set-cookie'] ?? [], [])
  t.match((await svc.bearer(answer.json().token, 'GET', '/api/tokens')).json(), [{ name: 'Phone' }])
  t.match((await exchange(svc, good)).json(), { code: 'provider_error' }, 'the code works once')
  for (const more of [{ nonce: 'another' }, { code_verifier: `${verifier}x` }, { code: 'nonsense' }]) {
    const wrong = await exchange(svc, await handIn(svc, 'grace', more))
    t.equal(wrong.statusCode, 400, JSON.stringify(more))
    t.equal(wrong.json().code, 'provider_error')
  }
  const asked = svc.acme.callsTo('/token').length
  for (const more of [
    { redirect_uri: 'https://evil.example/cb' },
    { redirect_uri: callbackUri('acme') },
    { redirect_uri: `${mobileUri}/` },
    { nonce: undefined },
    { code_verifier: undefined },
    { device_name: undefined },
    { device_name: 'x'.repeat(300) },
    { code: undefined },
    { code: ['a'] },
    { nonce: '' },
  ]) {
    const wrong = await exchange(svc, await handIn(svc, 'grace', more))
    t.equal(wrong.statusCode, 422, JSON.stringify(more))
    t.equal(wrong.json().code, 'validation_failed')
  }
  t.equal(svc.acme.callsTo('/token').length, asked, 'no code is sent for them')
  t.equal((await exchange(svc, good, 'unknown')).statusCode, 404)
  t.match((await exchange(svc, await handIn(svc, 'nameless'))).json(), { code: 'email_missing' })
  const none = await buildSocial(t)
  t.equal((await exchange(none, await handIn(none, 'grace'))).statusCode, 422, 'nothing is listed')
})

t.test('limits codes per address by rate_limits.token', async (t) => {
  const svc = await buildSocial(t, {
    acme: { redirect_uris: [mobileUri] },
    settings: { rate_limits: { token: '3/1m' } },
  })
  const statuses = []
  for (let tries = 0; tries < 4; tries++)
    statuses.push((await exchange(svc, await handIn(svc, 'grace', { code: 'x' }))).statusCode)
  t.same(statuses, [400, 400, 400, 429])
  const asked = svc.acme.callsTo('/token').length
  const limited = await exchange(svc, await handIn(svc, 'grace'))
  t.match(limited.json(), { code: 'too_many_requests' })
  t.ok(Number(limited.headers['retry-after']) > 0)
  t.equal(svc.acme.callsTo('/token').length, asked)
  svc.clock.advance(minute)
  t.equal((await exchange(svc, await handIn(svc, 'grace'))).statusCode, 200)
})

t.test('returns a challenge for the second factor without a session, for one attempt', async (t) => {
  const svc = await buildSocial(t, { acme: { redirect_uris: [mobileUri] } })
  const first = await exchange(svc, await handIn(svc, 'grace'))
  const userId = BigInt(first.json().user.id)
  const user = await svc.createUser({ email: 'factor@example.com' })
  const ada = await enableTwoFactor(svc, user)
  await svc.database.prisma.socialAccount.updateMany({ where: { userId }, data: { userId: BigInt(user.id) } })
  await svc.database.prisma.personalAccessToken.deleteMany()

  const visitor = new Visitor(svc)
  const callback = await visitor.signIn('grace', 'acme', { stateless: '1', device_name: 'Phone' })
  t.equal(callback.statusCode, 422, callback.body)
  t.match(callback.json(), { errors: { code: [String] }, challenge: String })
  const asked = await exchange(svc, await handIn(svc, 'grace'))
  t.equal(asked.statusCode, 422)
  t.match(asked.json(), { code: 'two_factor_required', errors: { code: [String] }, challenge: String })
  t.equal(await svc.database.prisma.personalAccessToken.count(), 0)
  const late = callback.json().challenge
  for (const odd of ['x', `${late.slice(0, -4)}AAAA`, late.slice(1), 'a.b.c', '__proto__']) {
    const wrong = await exchange(svc, { challenge: odd, code: ada.code() })
    t.equal(wrong.statusCode, 422, odd)
    t.match(wrong.json(), { errors: { challenge: [String] } }, odd)
  }
  t.match((await exchange(svc, { challenge: late, code: ada.wrong() })).json(), { errors: { code: [String] } })
  t.equal((await exchange(svc, { challenge: late })).statusCode, 422)
  t.equal(await svc.database.prisma.personalAccessToken.count(), 0)
  const { challenge: waiting } = asked.json()
  const answer = await exchange(svc, { challenge: waiting, code: ada.code(), device_name: 'Phone' })
  t.equal(answer.statusCode, 200, answer.body)
  t.equal((await svc.bearer(answer.json().token, 'GET', '/api/user')).json().id, user.id)
  const replay = await exchange(svc, { challenge: waiting, code: ada.code(1), device_name: 'Phone' })
  t.equal(replay.statusCode, 422)
  t.equal(await svc.database.prisma.personalAccessToken.count(), 1)
  const changes = {
    'a changed password': async () => {
      const passwords = {
        current_password: 'correct horse',
        password: strongPassword,
        password_confirmation: strongPassword,
      }
      t.equal((await ada.browser.put('/user/password', passwords)).statusCode, 200)
    },
    'ten minutes': async () => svc.clock.advance(10 * minute),
    'a disabled user': () => svc.database.prisma.user.updateMany({ data: { disabledAt: new Date(svc.clock.now()) } }),
  }
  for (const [name, change] of Object.entries(changes)) {
    const { challenge: begun } = (await exchange(svc, await handIn(svc, 'grace'))).json()
    await change()
    const [recovery_code] = ada.recoveryCodes
    t.equal((await exchange(svc, { challenge: begun, recovery_code })).statusCode, 422, name)
  }
  t.equal(await svc.database.prisma.personalAccessToken.count(), 1)
})

t.test('rejects a challenge whose account has an unverified address by then', async (t) => {
  const settings = { registration: { require_verified_email: true } }
  const svc = await buildSocial(t, { acme: { redirect_uris: [mobileUri] }, settings })
  const { id } = (await exchange(svc, await handIn(svc, 'grace'))).json().user
  const user = await svc.createUser({ email: 'factor@example.com' })
  const ada = await enableTwoFactor(svc, user)
  const { prisma } = svc.database
  await prisma.socialAccount.updateMany({ where: { userId: BigInt(id) }, data: { userId: BigInt(user.id) } })
  await prisma.personalAccessToken.deleteMany()
  const { challenge } = (await exchange(svc, await handIn(svc, 'grace'))).json()
  await prisma.user.update({ where: { id: BigInt(user.id) }, data: { emailVerifiedAt: null } })
  const answer = await exchange(svc, { challenge, code: ada.code() })
  t.equal(answer.statusCode, 422, answer.body)
  t.equal(answer.json().code, 'email_unverified')
  t.equal(await prisma.personalAccessToken.count(), 0)
})
