// engine: none
import { decodeJwt } from 'jose'
import t from 'tap'
import { introspect } from '../../../support/oauth.ts'
import { apis, buildApis, facts, orders, stock, svcAudience } from './setup.ts'

t.test('issues fresh tokens for the requested API', async (t) => {
  const svc = await buildApis(t, { apis: { ...apis, stock: { ...apis.stock, claims: ['role', 'email'] } } })
  const user = await svc.createUser({ role: 'editor' })
  const browser = svc.browser()
  await browser.signIn(user.email)
  const fresh = async (body?: object) => (await browser.post('/oauth/token/fresh', body)).json()
  const status = async (token: string) => (await svc.bearer(token, 'GET', '/api/user')).statusCode
  for (const body of [undefined, {}, { resource: null }, { resource: '' }, { resource: svcAudience }]) {
    const { access_token } = await fresh(body)
    t.match(
      facts(access_token),
      { aud: svcAudience, scope: 'view-tasks', ttl: 900, alg: 'ES256' },
      JSON.stringify(body),
    )
    t.equal(await status(access_token), 200)
  }
  const first = await fresh({ resource: `${orders}/` })
  t.equal(first.expires_in, 600)
  t.match(facts(first.access_token), { aud: orders, scope: 'orders:read orders:write', ttl: 600, alg: 'ES256' })
  t.equal(await status(first.access_token), 401, 'not for svc')
  const { access_token } = await fresh({ resource: stock })
  t.match(facts(access_token), { aud: stock, scope: 'stock:read stock:write', ttl: 120, alg: 'EdDSA' })
  t.match(decodeJwt(access_token), { sub: String(user.id), role: 'editor', email: user.email })
  t.match(await introspect(svc, 'watcher', access_token), { active: true, aud: stock, role: 'editor' })
  await browser.post('/logout')
  t.match(await introspect(svc, 'watcher', access_token), { active: false }, 'ends with the session')
})

t.test('rejects fresh tokens for an unknown resource', async (t) => {
  const svc = await buildApis(t)
  const browser = svc.browser()
  await browser.signIn((await svc.createUser()).email)
  const wrong = [
    'orders',
    'https://other.example',
    `${orders}#x`,
    `${orders}/more`,
    [orders],
    7,
    { a: 1 },
    'x'.repeat(3000),
  ]
  for (const resource of wrong) {
    const answer = await browser.post('/oauth/token/fresh', { resource })
    t.match(
      [answer.statusCode, answer.json().errors?.resource?.length],
      [422, 1],
      JSON.stringify(resource).slice(0, 40),
    )
  }
})

t.test('limits the fresh tokens of a user', async (t) => {
  const svc = await buildApis(t)
  const browser = svc.browser()
  await browser.signIn((await svc.createUser()).email)
  const answers = await Promise.all(Array.from({ length: 62 }, () => browser.post('/oauth/token/fresh', {})))
  t.equal(answers.filter(({ statusCode }) => statusCode === 200).length, 60)
  t.equal(answers.filter(({ statusCode }) => statusCode === 429).length, 2)
})

t.test('offers no scopes of APIs for personal access tokens', async (t) => {
  const svc = await buildApis(t)
  const browser = svc.browser()
  await browser.signIn((await svc.createUser()).email)
  t.strictSame((await browser.get('/oauth/scopes')).json(), [{ id: 'view-tasks', description: 'See your tasks' }])
  for (const scopes of [['orders:read'], ['stock:read'], ['view-tasks', 'orders:read']]) {
    const answer = await browser.post('/oauth/personal-access-tokens', { name: 'x', scopes })
    t.match([answer.statusCode, Object.keys(answer.json().errors)], [422, ['scopes']], scopes.join())
  }
  const { accessToken } = (
    await browser.post('/oauth/personal-access-tokens', { name: 'x', scopes: ['view-tasks'] })
  ).json()
  t.match(facts(accessToken), { aud: svcAudience, scope: 'view-tasks' })
})
