import t from 'tap'
import { buildTestApp } from '../../../support/app.ts'
import { minute, second } from '../../../support/clock.ts'
import {
  callback,
  codeFlow,
  introspect,
  oauthSettings,
  Person,
  redeem,
  refresh,
  request,
  response,
  verifier,
} from '../../../support/oauth.ts'
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

t.test('accepts one of several concurrent redemptions on two replicas', async (t) => {
  const clock = stopTime(t)
  const one = await buildTestApp(t, { settings: oauthSettings, clock })
  const two = await buildTestApp(t, { settings: oauthSettings, clock, database: one.where })
  const ada = new Person(one, (await one.createUser()).email)
  for (let round = 0; round < 3; round++) {
    const { code = '' } = response(await ada.allow(request('web', { scope: 'openid' })))
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, index) => redeem(index % 2 ? one : two, 'web', code)),
    )
    const won = answers.filter(({ statusCode }) => statusCode === 200)
    t.equal(won.length, 1)
    for (const answer of answers) if (!won.includes(answer)) t.match(answer.json(), { error: 'invalid_grant' })
  }
})
