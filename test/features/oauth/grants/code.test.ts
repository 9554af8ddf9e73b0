import t from 'tap'
import { buildTestApp } from '../../../support/app.ts'
import { day, minute, second } from '../../../support/clock.ts'
import { untilWaiting } from '../../../support/hold.ts'
import {
  callback,
  clients,
  codeFlow,
  introspect,
  oauthSettings,
  Person,
  partner,
  redeem,
  refresh,
  request,
  response,
  verifier,
} from '../../../support/oauth.ts'
import { testEngine } from '../../../support/postgresql.ts'
import { stopTime, travel } from '../../../support/time.ts'

t.test('signs in, asks for consent, and issues tokens that work', async (t) => {
  const svc = await buildTestApp(t, { settings: oauthSettings, clock: stopTime(t) })
  const user = await svc.createUser()
  const ada = new Person(svc, user.email)
  const asked = await ada.authorize(request('web', { scope: 'openid orders:read' }))
  t.equal(asked.page, 'Sign in')
  const stop = await ada.decide(asked)
  t.match(stop.out?.href, `${callback}?`)
  t.match(response(stop), { code: /./, state: 'the-state', iss: 'http://localhost:8000' })
  const answer = await redeem(svc, 'web', response(stop).code ?? '')
  t.match(answer.headers, { 'cache-control': /no-store/, 'content-type': /^application\/json/ })
  const tokens = answer.json()
  t.match(tokens, { token_type: 'Bearer', expires_in: 900, scope: 'openid orders:read', refresh_token: /./ })
  t.match((await svc.bearer(tokens.access_token, 'GET', '/api/user')).json(), { id: user.id })
  t.match((await svc.bearer(tokens.access_token, 'GET', '/oauth/userinfo')).json(), { sub: String(user.id) })
})

t.test('grants the listed scopes by default, and a refresh token with or without openid', async (t) => {
  const svc = await buildTestApp(t, { settings: oauthSettings, clock: stopTime(t) })
  const ada = new Person(svc, (await svc.createUser()).email)
  t.match(await codeFlow(svc, ada, 'web'), {
    scope: 'orders:read orders:write',
    refresh_token: /./,
    id_token: undefined,
  })
  t.match(
    await codeFlow(svc, ada, 'web', { scope: '' }),
    { scope: 'orders:read orders:write' },
    'empty counts as missing',
  )
  t.match(await codeFlow(svc, ada, 'web', { scope: 'openid' }), { scope: 'openid', refresh_token: /./, id_token: /./ })
})

t.test('rejects a reused authorization code and revokes its tokens', async (t) => {
  const svc = await buildTestApp(t, { settings: oauthSettings, clock: stopTime(t) })
  const ada = new Person(svc, (await svc.createUser()).email)
  const { code = '' } = response(await ada.allow(request('web', { scope: 'openid' })))
  const first = (await redeem(svc, 'web', code)).json()
  const renewed = (await refresh(svc, 'web', first.refresh_token)).json()
  t.equal((await svc.bearer(renewed.access_token, 'GET', '/api/user')).statusCode, 200)
  const again = await redeem(svc, 'web', code)
  t.match([again.statusCode, again.json().error], [400, 'invalid_grant'])
  for (const { access_token, refresh_token } of [first, renewed]) {
    t.equal((await svc.bearer(access_token, 'GET', '/api/user')).statusCode, 401)
    t.match(await introspect(svc, 'web', refresh_token), { active: false })
    t.match((await refresh(svc, 'web', refresh_token)).json(), { error: 'invalid_grant' })
  }
})

t.test('accepts a code only from its client, with its verifier and redirect URI, within a minute', async (t) => {
  const svc = await buildTestApp(t, { settings: oauthSettings, clock: stopTime(t) })
  const ada = new Person(svc, (await svc.createUser()).email)
  const fresh = async () => response(await ada.allow(request('web', { scope: 'openid' }))).code ?? ''
  const code = await fresh()
  const refused = async (answer: ReturnType<typeof redeem>, expected: string, name: string) => {
    const { statusCode, body } = await answer
    t.match([statusCode, JSON.parse(body).error], [expected === 'invalid_client' ? 401 : 400, expected], name)
  }
  await refused(redeem(svc, 'other', code), 'invalid_grant', 'another client')
  await refused(redeem(svc, 'spa', code), 'invalid_grant', 'a public client')
  await refused(redeem(svc, 'web', code, { redirect_uri: `${callback}/` }), 'invalid_grant', 'another redirect URI')
  await refused(redeem(svc, 'web', code, { code_verifier: `${verifier}x` }), 'invalid_grant', 'another verifier')
  await refused(redeem(svc, 'web', code, { code_verifier: '' }), 'invalid_grant', 'no verifier: PKCE downgraded')
  await refused(redeem(svc, 'web', `${code}x`), 'invalid_grant', 'another code')
  await refused(redeem(svc, 'web', ''), 'invalid_request', 'no code')
  t.equal((await redeem(svc, 'web', code)).statusCode, 200, 'none of that used it up')

  const late = await fresh()
  travel(svc, minute + second)
  await refused(redeem(svc, 'web', late), 'invalid_grant', 'too late')

  const { code_challenge: _, code_challenge_method: __, ...plain } = request('web', { scope: 'openid' })
  const unbound = response(await ada.allow(plain)).code ?? ''
  await refused(redeem(svc, 'web', unbound), 'invalid_grant', 'a verifier without a challenge: PKCE downgraded')
})

const reader = partner('reader', { grants: ['authorization_code'] })

t.test('accepts one of several concurrent redemptions on two replicas', async (t) => {
  const clock = stopTime(t)
  const settings = { ...oauthSettings, clients: [...clients, reader] }
  const one = await buildTestApp(t, { settings, clock })
  const two = await buildTestApp(t, { settings, clock, database: one.where })
  const ada = new Person(one, (await one.createUser()).email)
  for (const client of ['web', 'reader', 'web']) {
    const { code = '' } = response(await ada.allow(request(client, { scope: 'openid', redirect_uri: callback })))
    const sent = { redirect_uri: callback }
    const uses = Array.from({ length: 10 }, (_, index) => redeem(index % 2 ? one : two, client, code, sent))
    const answers = await Promise.all(uses)
    const won = answers.filter(({ statusCode }) => statusCode === 200)
    t.equal(won.length, 1)
    for (const answer of answers) if (!won.includes(answer)) t.match(answer.json(), { error: 'invalid_grant' })
    // A use after the winner's is a reuse, which revokes the tokens.
    const stored = await one.database.prisma.oauthRecord.count({ where: { kind: 'RefreshToken' } })
    t.ok(stored <= 1, 'the others store no refresh token')
    await one.database.prisma.oauthRecord.deleteMany({ where: { kind: 'RefreshToken' } })
  }
})

t.test('revokes the tokens of a reused code of a client without refresh tokens', async (t) => {
  const settings = { ...oauthSettings, clients: [...clients, reader] }
  const svc = await buildTestApp(t, { settings, clock: stopTime(t) })
  const ada = new Person(svc, (await svc.createUser()).email)
  const sent = { redirect_uri: callback }
  const { code = '' } = response(await ada.allow(request('reader', { scope: 'openid', ...sent })))
  const { access_token, refresh_token } = (await redeem(svc, 'reader', code, sent)).json()
  t.equal(refresh_token, undefined)
  t.equal((await svc.bearer(access_token, 'GET', '/api/user')).statusCode, 200)
  t.match((await redeem(svc, 'reader', code, sent)).json(), { error: 'invalid_grant' })
  t.equal((await svc.bearer(access_token, 'GET', '/api/user')).statusCode, 401)
})

if (testEngine === 'postgresql') {
  t.test('uses a code without waiting for its grant, which a revocation may hold', async (t) => {
    const svc = await buildTestApp(t, { settings: oauthSettings, clock: stopTime(t) })
    const { pg, prisma } = svc.database
    const ada = new Person(svc, (await svc.createUser()).email)
    const { code = '' } = response(await ada.allow(request('web', { scope: 'openid' })))
    const other = await pg?.connect()
    if (!other) throw new Error('The test needs PostgreSQL.')
    await other.query("BEGIN; SELECT 1 FROM oauth_records WHERE kind = 'Grant' FOR UPDATE")
    const redeemed = redeem(svc, 'web', code)
    await untilWaiting(svc, redeemed)
    t.equal(await prisma.oauthRecord.count({ where: { kind: 'RefreshToken' } }), 1, 'it waits after the exchange')
    await other.query('COMMIT')
    other.release()
    t.equal((await redeemed).statusCode, 200)
    const { expiresAt } = await prisma.oauthRecord.findFirstOrThrow({ where: { kind: 'Grant' } })
    t.ok(Number(expiresAt) > svc.clock.now() + 30 * day, 'the grant lasts as long as the refresh token')
  })
}
