// engine: none
// process: own
import fastify from 'fastify'
import t from 'tap'
import { guard, role } from '../src/fastify.ts'
import { Guard } from '../src/guard.ts'
import { actingAs, testOptions } from '../src/testing.ts'
import { audience, fakeIssuer } from './issuer.ts'

t.test('signs tokens that the guard of the API accepts, without svc', async (t) => {
  const app = fastify()
  t.teardown(() => app.close())
  await app.register(guard({ ...(await testOptions()), fetch: () => t.fail('no request') as never }))
  app.get('/', { onRequest: role('staff') }, async ({ caller }) => ({ ...caller, reads: caller.can('orders:read') }))
  const headers = await actingAs({ id: 7, abilities: ['orders:read'], role: 'staff', email: 'a@b.c', name: 'Ada' })
  const answer = await app.inject({ url: '/', headers })
  t.equal(answer.statusCode, 200)
  t.match(answer.json(), {
    id: '7',
    role: 'staff',
    email: 'a@b.c',
    name: 'Ada',
    abilities: ['orders:read'],
    reads: true,
  })
  t.equal((await app.inject({ url: '/', headers: await actingAs({ id: 8, abilities: ['*'] }) })).statusCode, 403)
  t.equal((await app.inject('/')).statusCode, 401)
})

t.test('signs no tokens that a guard with other options accepts', async (t) => {
  const issuer = await fakeIssuer(t)
  const { authorization } = await actingAs({ id: '1', abilities: ['*'] })
  const names = await testOptions()
  await t.rejects(issuer.guard().authenticate([authorization]), { status: 401, code: 'unauthenticated' })
  // Even the names of the throw-away issuer do not help without its key.
  const sameNames = new Guard({
    issuer: names.issuer,
    audience: names.audience,
    jwksUri: `${issuer.url}/.well-known/jwks.json`,
  })
  await t.rejects(sameNames.authenticate([authorization]), { status: 401, code: 'unauthenticated' })
  const real = await issuer.token({ aud: audience })
  await t.rejects(new Guard(names).authenticate([`Bearer ${real}`]), { status: 401, code: 'unauthenticated' })
})

t.test('refuses to work in production', async (t) => {
  const before = process.env.NODE_ENV
  t.teardown(() => {
    if (before === undefined) delete process.env.NODE_ENV
    else process.env.NODE_ENV = before
  })
  process.env.NODE_ENV = 'production'
  await t.rejects(testOptions(), /must not be used in production/)
  await t.rejects(actingAs({ id: 1 }), /must not be used in production/)
})
