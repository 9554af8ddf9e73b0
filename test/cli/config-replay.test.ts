// engine: none
import t from 'tap'
import { batchesSince, saveBatch } from '../../src/features/decision-log/store.ts'
import { basic, callback, oauthSettings, pkce, post, secret, token } from '../support/oauth.ts'
import { ask, buildPlanned, rules, server } from '../support/planned.ts'

t.test('lists the decisions of the guard that would be different, with the rule and its line', async (t) => {
  const svc = await buildPlanned(t, { server, guard: { rules } })
  const [ada, bob] = [await svc.createUser({ role: 'staff' }), await svc.createUser()]
  for (const user of [ada, bob, bob]) {
    const authorization = `Bearer ${await svc.createToken(user)}`
    t.equal((await ask(svc, '/orders/1?secret=of-the-query', { authorization })).statusCode, 200)
  }
  t.equal((await ask(svc, '/orders/1')).statusCode, 401)
  t.equal((await ask(svc, '/public/a')).statusCode, 200)
  t.equal((await ask(svc, '/public/a', { authorization: 'Bearer 1|unchecked-secret' })).statusCode, 200)
  t.equal((await ask(svc, '/other')).statusCode, 403)
  await svc.flush()

  const settings = { server, guard: { rules } }
  t.match(await svc.plan(settings, '--replay=24h'), {
    code: 0,
    replay: { decisions: 7, missing: 0, changed_before: 0, flips: [] },
  })
  const [orders, open] = rules
  const strict = {
    server,
    guard: {
      rules: [
        { ...orders, roles: ['staff'] },
        { ...open, access: 'authenticated' },
      ],
    },
  }
  const { code, replay } = await svc.plan(strict, '--replay=24h')
  t.equal(code, 3)
  const at = (line: number, name: string) => `${name}, line ${line}`
  t.match(replay?.flips, [
    {
      ...{ kind: 'guard', verdict_before: '200', verdict_after: '403 forbidden', count: 2, users: [bob.id] },
      ...{ example: 'GET https://api.example.com/orders/1', after: at(6, 'orders') },
    },
    { verdict_before: '200', verdict_after: '401 unauthenticated', count: 1, after: /^public, line \d+$/ },
    { verdict_before: '200', verdict_after: 'depends on the credential', count: 1 },
  ])
  const lines = (await svc.read(strict, '--replay=24h')).join('\n')
  t.match(lines, '7 recorded decisions, 4 would be different.')
  t.match(lines, new RegExp(`200 → 403 forbidden, 2 times, by orders, line 6 \\(users ${bob.id}\\)`))

  const closed = await svc.plan({ server, guard: { rules: [open] } }, '--replay=24h')
  t.match(closed.replay?.flips, [
    { before: /^orders, line/, after: 'guard.default (deny)', verdict_after: '403 forbidden', count: 3 },
    { verdict_before: '401 unauthenticated', verdict_after: '403 forbidden', count: 1, users: [] },
  ])
  svc.clock.advance(2 * 3_600_000)
  t.match((await svc.plan(strict, '--replay=1h')).replay, { decisions: 0 }, 'older decisions do not count')
  await t.rejects(svc.plan(strict, '--replay=soon'), { message: '--replay must be a duration, such as 24h.' })
})

t.test('lists the decisions about tokens that would be different', async (t) => {
  const settings = { ...oauthSettings, apis: { stock: { audience: 'https://stock.example', scopes: ['stock:read'] } } }
  const svc = await buildPlanned(t, settings)
  const machine = (fields: object) => token(svc, 'machine', { grant_type: 'client_credentials', ...fields })
  t.equal((await machine({ scope: 'orders:read' })).statusCode, 200)
  t.equal((await machine({})).statusCode, 200)
  t.equal((await machine({ scope: 'orders:write' })).statusCode, 400)
  t.equal((await machine({ resource: 'https://stock.example' })).statusCode, 400)
  t.equal((await post(svc, '/oauth/token', 'watcher', { grant_type: 'password' })).statusCode, 400)
  t.equal((await post(svc, '/oauth/token', 'nobody', { grant_type: 'client_credentials' })).statusCode, 401)
  const wrong = { ...basic('machine', 'wrong'), 'content-type': 'application/x-www-form-urlencoded' }
  await svc.app.inject({
    method: 'POST',
    url: '/oauth/token',
    headers: wrong,
    payload: 'grant_type=client_credentials',
  })
  const authorize = (client_id: string, redirect_uri: string) =>
    svc.app.inject(
      `/oauth/authorize?${new URLSearchParams({ client_id, redirect_uri, response_type: 'code', ...pkce })}`,
    )
  t.equal((await authorize('web', 'https://evil.example/cb')).statusCode, 400)
  await svc.flush()

  const same = await svc.plan(settings, '--replay=1h')
  t.match(same, { code: 0, replay: { missing: 0, changed_before: 0, flips: [] } })
  t.equal(same.replay?.decisions, 8)

  const { clients } = oauthSettings
  const others = clients.filter(({ client_id }) => !['machine', 'web'].includes(client_id))
  const after = {
    ...settings,
    clients: [
      ...others,
      {
        client_id: 'machine',
        type: 'confidential',
        secret,
        grants: ['client_credentials'],
        scopes: ['orders:write', 'stock:read'],
      },
      { ...clients[0], redirect_uris: [callback, 'https://evil.example/cb'] },
      { client_id: 'nobody', type: 'confidential', secret, grants: ['client_credentials'], scopes: ['orders:read'] },
    ],
  }
  const { replay } = await svc.plan(after, '--replay=1h')
  const found = replay?.flips.map(({ verdict_before, verdict_after, example }) => [
    verdict_before,
    verdict_after,
    example,
  ])
  t.strictSame(found?.sort(), [
    ['200', '200 without orders:read', 'token machine orders:read'],
    ['200', '400 invalid_scope', 'token machine orders:read'],
    ['400 invalid_redirect_uri', '200', 'authorization web orders:read orders:write https://evil.example/cb'],
    ['400 invalid_scope', '200', 'token machine orders:write'],
    ['400 invalid_target', '200', 'token machine'],
    ['401 invalid_client', 'depends on the credential', 'token nobody'],
  ])
  const gone = await svc.plan({ ...settings, clients: others }, '--replay=1h')
  t.ok(gone.replay?.flips.every(({ verdict_after }) => /^40[01] invalid_client$/.test(verdict_after)))
})

t.test('does not take a refused credential for refused, where other credentials count', async (t) => {
  const apis = { stock: { audience: 'https://stock.example', scopes: ['stock:read'] } }
  const client = {
    client_id: 'robot',
    type: 'confidential',
    secret,
    grants: ['client_credentials'],
    scopes: ['stock:read'],
  }
  const settings = { server, apis, clients: [client], scopes: { 'stock:read': 'Stock' }, guard: { rules } }
  const svc = await buildPlanned(t, settings)
  const { access_token } = (await token(svc, 'robot', { grant_type: 'client_credentials' })).json()
  t.equal((await ask(svc, '/orders/1', { authorization: `Bearer ${access_token}` })).statusCode, 401)
  await svc.flush()
  t.match(await svc.plan(settings, '--replay=1h'), { code: 0, replay: { flips: [], changed_before: 0 } })
  const opened = { ...settings, guard: { rules: [{ ...rules[0], audience: 'stock' }, rules[1]] } }
  const { replay } = await svc.plan(opened, '--replay=1h')
  t.match(replay?.flips, [{ verdict_before: '401 unauthenticated', verdict_after: 'depends on the credential' }])

  const other = { ...settings, clients: [{ ...client, secret: 'another-secret-that-is-long' }] }
  const replaced = await svc.plan(other, '--replay=1h')
  t.match(replaced.replay?.flips, [
    { kind: 'token', verdict_before: '200', verdict_after: 'depends on the credential' },
  ])
  const both = { ...settings, clients: [{ ...client, secret: ['another-secret-that-is-long', secret] }] }
  t.match(await svc.plan(both, '--replay=1h'), { code: 0 }, 'the former secret still works')
})

t.test('answers as before where the request was wrong, and finds scopes that no longer belong together', async (t) => {
  const scopes = { a: 'A', b: 'B' }
  const client = {
    client_id: 'machine',
    type: 'confidential',
    secret,
    grants: ['client_credentials'],
    scopes: ['a', 'b'],
  }
  const svc = await buildPlanned(t, { scopes, clients: [client] })
  const wanted = { grant_type: 'client_credentials', scope: 'a b' }
  t.equal((await token(svc, 'machine', wanted)).statusCode, 200)
  t.equal((await token(svc, 'machine', { grant_type: 'foo' })).statusCode, 400)
  t.equal((await token(svc, 'machine', {})).statusCode, 400)
  const evil = new URLSearchParams({ client_id: 'nobody', redirect_uri: 'https://x.example/\u001b[2J\nNo one?token=1' })
  t.equal((await svc.app.inject(`/oauth/authorize?${evil}`)).statusCode, 400)
  await svc.flush()
  t.match(await svc.plan({ scopes, clients: [client] }, '--replay=1h'), {
    code: 0,
    replay: { changed_before: 0, flips: [] },
  })
  const split = { scopes, clients: [client], apis: { x: { audience: 'https://x.example', scopes: ['b'] } } }
  t.match((await svc.plan(split, '--replay=1h')).replay?.flips, [
    { verdict_before: '200', verdict_after: '400 invalid_target' },
  ])
  const known = { client_id: 'nobody', type: 'public', grants: ['device_code'] }
  const lines = await svc.read({ scopes, clients: [client, known] }, '--replay=1h')
  t.ok(lines.some((line) => line.includes('nobody')))
  t.notOk(
    lines.some((line) => /^No one|token=1|\n/.test(line)),
    'text of a client stays in its line',
  )
})

t.test('counts a batch of decisions that other replicas made', async (t) => {
  const svc = await buildPlanned(t, { server, guard: { rules } })
  await ask(svc, '/orders/1')
  await svc.flush()
  const secrets = svc.config.current().app.secret
  for await (const batch of batchesSince(svc.database, secrets, 0)) {
    const decisions = (batch?.decisions ?? []).map((one) => ({ ...one, count: 41 }))
    await saveBatch(svc.database, secrets, { decisions, missed: 0 }, svc.clock.now())
    break
  }
  t.match((await svc.plan({ server }, '--replay=1h')).replay, { decisions: 42, flips: [{ count: 42 }] })
})
