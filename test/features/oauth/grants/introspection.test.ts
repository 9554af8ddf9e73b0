// engine: none
import t from 'tap'
import { buildTestApp } from '../../../support/app.ts'
import { hour, minute } from '../../../support/clock.ts'
import { codeFlow, introspect, oauthSettings, Person, post, refresh, revoke, token } from '../../../support/oauth.ts'
import { stopTime, travel } from '../../../support/time.ts'

const dead = { active: false }

t.test('introspects tokens for their client, and for clients with permission for all', async (t) => {
  const svc = await buildTestApp(t, { settings: oauthSettings, clock: stopTime(t) })
  const user = await svc.createUser()
  const ada = new Person(svc, user.email)
  const tokens = await codeFlow(svc, ada, 'web', { scope: 'openid orders:read' })
  const now = Math.floor(svc.clock.now() / 1000)
  const access = {
    active: true,
    sub: String(user.id),
    client_id: 'web',
    iss: 'http://localhost:8000',
    aud: 'http://localhost:8000',
    scope: 'openid orders:read',
    scopes: ['openid', 'orders:read'],
    token_type: 'Bearer',
    iat: now,
    exp: now + 900,
  }
  const machine = (await token(svc, 'machine', { grant_type: 'client_credentials' })).json().access_token
  for (const client of ['web', 'watcher']) {
    t.match(await introspect(svc, client, tokens.access_token), access, client)
    t.match(
      await introspect(svc, client, tokens.refresh_token),
      { active: true, client_id: 'web', sub: access.sub },
      client,
    )
    for (const token_type_hint of ['access_token', 'refresh_token', 'nonsense'])
      t.match(
        await introspect(svc, client, tokens.access_token, { token_type_hint }),
        { active: true },
        token_type_hint,
      )
  }
  t.match(await introspect(svc, 'watcher', machine), { active: true, client_id: 'machine', gty: 'client_credentials' })
  t.match(await introspect(svc, 'machine', machine), { active: true, sub: 'machine' })
  for (const client of ['other', 'machine', 'spa']) {
    t.same(await introspect(svc, client, tokens.access_token), dead, client)
    t.same(await introspect(svc, client, tokens.refresh_token), dead, client)
  }
  t.same(await introspect(svc, 'web', machine), dead)
  for (const text of [
    'x',
    '~',
    `~${tokens.access_token}`,
    `${tokens.access_token}x`,
    tokens.id_token ?? '',
    '1|x',
    'a.b.c',
  ])
    t.same(await introspect(svc, 'watcher', text), dead, text)
  const bare = await svc.app.inject({
    method: 'POST',
    url: '/oauth/introspect',
    payload: { token: tokens.access_token },
  })
  t.ok([400, 401].includes(bare.statusCode), 'unauthenticated callers get nothing')
  t.equal((await post(svc, '/oauth/introspect', 'watcher', {})).statusCode, 400)
  travel(svc, 15 * minute)
  t.same(await introspect(svc, 'watcher', tokens.access_token), dead, 'expired')
})

t.test('rejects a revoked token on the next request, on every replica', async (t) => {
  const clock = stopTime(t)
  const one = await buildTestApp(t, { settings: oauthSettings, clock })
  const two = await buildTestApp(t, { settings: oauthSettings, clock, database: one.where })
  const ada = new Person(one, (await one.createUser()).email)
  const replicas = [one, two]
  const alive = async (text: string) => {
    const answers: boolean[] = []
    for (const svc of replicas) {
      answers.push((await introspect(svc, 'watcher', text)).active)
      if (text.includes('.')) answers.push((await svc.bearer(text, 'GET', '/api/user')).statusCode === 200)
      if (text.includes('.')) answers.push((await svc.bearer(text, 'GET', '/oauth/userinfo')).statusCode === 200)
    }
    t.equal(new Set(answers).size, 1, 'all agree')
    return answers[0]
  }

  const first = await codeFlow(one, ada, 'web', { scope: 'openid' })
  for (const text of [first.access_token, first.refresh_token]) {
    t.equal((await revoke(one, 'other', text)).statusCode, 200)
    t.equal((await revoke(one, 'watcher', text)).statusCode, 200)
    t.ok(await alive(text), 'another client cannot revoke it')
  }
  t.equal((await revoke(two, 'web', first.refresh_token)).statusCode, 200)
  t.notOk(await alive(first.refresh_token))
  t.notOk(await alive(first.access_token), 'tokens of the same grant end with it')
  t.match((await refresh(one, 'web', first.refresh_token)).json(), { error: 'invalid_grant' })

  const next = await codeFlow(one, ada, 'web', { scope: 'openid' })
  t.ok(await alive(next.access_token), 'the next authorization makes a new grant')
  t.equal((await revoke(two, 'web', next.access_token, { token_type_hint: 'access_token' })).statusCode, 200)
  t.notOk(await alive(next.access_token))

  const machine = (await token(one, 'machine', { grant_type: 'client_credentials' })).json().access_token
  const other = (await token(one, 'machine', { grant_type: 'client_credentials' })).json().access_token
  t.equal((await revoke(two, 'machine', machine)).statusCode, 200)
  for (const svc of replicas) {
    t.same(await introspect(svc, 'watcher', machine), dead)
    t.equal((await svc.bearer(machine, 'GET', '/api/user')).statusCode, 401)
    t.equal((await svc.bearer(other, 'GET', '/api/user')).statusCode, 403, 'another of its tokens is valid')
  }
  for (const text of [machine, 'x', '', first.id_token ?? '']) {
    const answer = await revoke(one, 'machine', text)
    t.equal(answer.statusCode, text === '' ? 400 : 200, 'an unknown token counts as revoked')
  }
  const bare = await one.app.inject({ method: 'POST', url: '/oauth/revoke', payload: { token: other } })
  t.ok([400, 401].includes(bare.statusCode))
})

t.test('introspects API tokens for clients with permission, and lets their holder revoke them', async (t) => {
  const svc = await buildTestApp(t, { settings: oauthSettings, clock: stopTime(t) })
  const user = await svc.createUser()
  const expiresAt = new Date(svc.clock.now() + hour)
  const text = await svc.createToken(user, { abilities: ['orders:read', 'place-orders'], expiresAt })
  const endless = await svc.createToken(user)
  const told = await introspect(svc, 'watcher', text)
  t.match(told, {
    active: true,
    sub: String(user.id),
    scope: 'orders:read place-orders',
    scopes: ['orders:read', 'place-orders'],
    token_type: 'Bearer',
    exp: Math.floor(expiresAt.getTime() / 1000),
  })
  t.equal(told.client_id, undefined, 'it has no client')
  t.match(await introspect(svc, 'watcher', endless), { active: true, scope: '*', exp: undefined })
  for (const client of ['web', 'machine', 'spa']) t.same(await introspect(svc, client, text), dead, client)
  t.same(await introspect(svc, 'watcher', `${text}x`), dead)
  t.equal((await svc.bearer(text, 'GET', '/oauth/userinfo')).statusCode, 401, 'it is not an OpenID Connect token')
  t.match((await refresh(svc, 'web', text)).json(), { error: 'invalid_grant' })

  t.equal((await revoke(svc, 'web', text)).statusCode, 200)
  t.same(await introspect(svc, 'watcher', text), dead)
  t.equal((await svc.bearer(text, 'GET', '/api/user')).statusCode, 401)
  t.equal((await svc.bearer(endless, 'GET', '/api/user')).statusCode, 200)
  const events = await svc.database.prisma.event.findMany({ where: { type: 'token_revoked' } })
  t.equal(events.length, 1)
  await svc.database.prisma.user.update({
    where: { id: BigInt(user.id) },
    data: { disabledAt: new Date(svc.clock.now()) },
  })
  t.same(await introspect(svc, 'watcher', endless), dead)
})
