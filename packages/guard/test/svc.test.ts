// engine: none
// process: own
import fastify from 'fastify'
import t, { type Test } from 'tap'
import { abilities, type GuardOptions, guard, role } from '../src/fastify.ts'
import { audience } from './issuer.ts'
import { introspection, startSvc } from './svc.ts'

const svc = await startSvc(t)

async function api(t: Test, options: Partial<GuardOptions> = {}) {
  const app = fastify()
  t.teardown(() => app.close())
  await app.register(guard({ issuer: svc.url, audience, ...options }))
  app.get('/', async ({ caller }) => ({ ...caller }))
  app.get('/write', { onRequest: abilities('orders:write') }, async () => ({}))
  app.get('/staff', { onRequest: role('staff') }, async () => ({}))
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  return async (path: string, authorization: string) => {
    const response = await fetch(`${url}${path}`, { headers: { authorization } })
    return { status: response.status, body: (await response.json()) as Record<string, unknown> }
  }
}

t.test('accepts the token that the forward authentication of svc passes to the API', async (t) => {
  const call = await api(t)
  const phantom = await svc.phantom(await svc.apiTokenWith(['orders:read', 'unrelated']))
  const { status, body } = await call('/', phantom)
  t.equal(status, 200)
  t.match(body, { id: '1', kind: 'jwt', abilities: ['orders:read'], email: 'ada@example.com', role: 'user' })
  t.match(await call('/write', phantom), { status: 403 })
  t.match(await call('/staff', phantom), { status: 403 })
  t.match(
    await call('/write', await svc.phantom(await svc.apiToken())),
    { status: 200 },
    'an API token with all abilities',
  )
})

t.test('accepts access tokens of svc for its audience, and no ID tokens', async (t) => {
  const { access_token, id_token } = await svc.jwts()
  const { aud } = JSON.parse(atob(access_token.split('.')[1] ?? ''))
  const call = await api(t, { audience: aud })
  t.match(await call('/', `Bearer ${access_token}`), { status: 200, body: { id: '1', kind: 'jwt' } })
  t.match(await call('/', `Bearer ${id_token}`), { status: 401 })
  const ownAudience = await api(t, { audience: 'phone' })
  t.match(await ownAudience('/', `Bearer ${id_token}`), { status: 401 }, 'also for the audience of the ID token')
  t.match(await ownAudience('/', `Bearer ${access_token}`), { status: 401 })
  t.match(await (await api(t))('/', `Bearer ${access_token}`), { status: 401 }, 'for another API')
})

t.test('rejects API tokens unless it may introspect them', async (t) => {
  const call = await api(t)
  t.match(await call('/', `Bearer ${await svc.apiToken()}`), { status: 401, body: { code: 'unauthenticated' } })
})

t.test('accepts the access token of a machine for its audience', async (t) => {
  const call = await api(t)
  const bearer = `Bearer ${await svc.machineJwt('orders:write')}`
  t.match(await call('/', bearer), {
    status: 200,
    body: { id: 'cron', kind: 'jwt', role: null, abilities: ['orders:write'] },
  })
  t.match(await call('/write', bearer), { status: 200 })
})

t.test('introspects API tokens, and rejects a revoked one with the next request', async (t) => {
  const call = await api(t, { introspection })
  const read = await svc.apiTokenWith(['orders:read', 'unrelated'])
  const all = await svc.apiToken()
  const calls = [call('/', `Bearer ${read}`), call('/write', `Bearer ${read}`), call('/write', `Bearer ${all}`)]
  const [own, rejected, wildcard] = await Promise.all(calls)
  t.match(own, { status: 200, body: { id: '1', kind: 'token', abilities: ['orders:read', 'unrelated'], role: 'user' } })
  t.match(rejected, { status: 403, body: { code: 'invalid_ability' } })
  t.match(wildcard, { status: 200 })
  t.match(await call('/', `Bearer ${read}x`), { status: 401 }, 'a wrong secret')
  await svc.revoke(all)
  t.match(await call('/write', `Bearer ${all}`), { status: 401, body: { code: 'unauthenticated' } })
})

t.test('answers 503 if svc rejects the client of the introspection', async (t) => {
  const call = await api(t, { introspection: { ...introspection, clientSecret: 'wrong' } })
  t.match(await call('/', `Bearer ${await svc.apiToken()}`), { status: 503, body: { code: 'unavailable' } })
})

t.test('rejects a revoked access token by the status list of svc', async (t) => {
  const [valid, revoked] = await Promise.all([svc.machineJwt('orders:read'), svc.machineJwt('orders:read')])
  // svc signs a list once for 30 seconds, so the revocation comes first.
  await svc.revokeJwt(revoked)
  const call = await api(t, { statusLists: true })
  t.match(await call('/', `Bearer ${valid}`), { status: 200, body: { id: 'cron' } })
  t.match(await call('/', `Bearer ${revoked}`), { status: 401, body: { code: 'unauthenticated' } })
  t.match(await (await api(t))('/', `Bearer ${revoked}`), { status: 200 }, 'without status lists')
})
