// engine: none
import t from 'tap'
import { adminCall, openAdmin, robotToken } from '../../../support/admin.ts'
import { confirming } from '../../../support/app.ts'
import { codeFlow, exchangeClient, Person, token } from '../../../support/oauth.ts'

t.test('accepts only administrators', async (t) => {
  const { svc, admin, call, signIn } = await openAdmin(t, confirming)
  const user = await svc.createUser({ email: 'ada@example.com' })
  const status = async (bearer: string | null, path = '/users') =>
    (await adminCall(svc, bearer)('GET', path)).statusCode

  await t.test('answers 401 without a valid credential, on every route', async (t) => {
    const { paths } = (await svc.app.inject('/openapi.json')).json()
    const routes = Object.entries<object>(paths).filter(([path]) => path.startsWith('/admin/'))
    t.ok(routes.length > 5)
    for (const [path, methods] of routes) {
      for (const method of Object.keys(methods)) {
        const url = path.replaceAll(/\{\w+\}/g, '1')
        const answer = await svc.app.inject({
          method: method.toUpperCase() as 'GET',
          url,
          headers: { accept: 'application/json' },
        })
        t.equal(answer.statusCode, 401, `${method} ${path}`)
        const asUser = await svc.bearer(await svc.createToken(user), method.toUpperCase() as 'GET', url)
        t.equal(asUser.statusCode, 403, `${method} ${path} as a user`)
      }
    }
    t.equal(await status('1|wrong'), 401)
  })

  await t.test(
    'requires the scope in the token of a machine, and issues it only to clients that list it',
    async (t) => {
      t.equal((await call('GET', '/users')).statusCode, 200)
      t.equal(await status(await robotToken(svc, 'orders:read')), 403)
      const other = await token(svc, 'machine', { grant_type: 'client_credentials' })
      t.equal(await status(other.json().access_token), 403)
      const asked = await token(svc, 'machine', { grant_type: 'client_credentials', scope: 'svc:admin' })
      t.match(asked.json(), { error: 'invalid_scope' })
    },
  )

  await t.test('requires that an API token names the ability and belongs to an administrator', async (t) => {
    t.equal(await status(await svc.createToken(admin, { abilities: ['*'] })), 403)
    t.equal(await status(await svc.createToken(admin, { abilities: ['*', 'svc:admin'] })), 200)
    t.equal(await status(await svc.createToken(user, { abilities: ['svc:admin'] })), 403)
    const stored = await svc.createToken(user, { abilities: ['svc:admin', 'orders:read'] })
    t.same((await svc.bearer(stored, 'GET', '/api/tokens/current')).json().abilities, ['orders:read'])
  })

  await t.test('rejects tokens that clients hold for administrators', async (t) => {
    const person = new Person(svc, admin.email)
    const { access_token } = await codeFlow(svc, person, 'web', { scope: 'openid orders:read' })
    t.equal(await status(access_token), 403)
    const legacy = await token(svc, 'legacy', {
      grant_type: 'password',
      username: admin.email,
      password: 'correct horse',
      scope: 'svc:admin',
    })
    t.match(legacy.json(), { error: 'invalid_scope' })
    const browser = await signIn()
    const fresh = (await browser.post('/oauth/token/fresh')).json()
    t.notMatch(fresh.access_token, undefined)
    t.equal(await status(fresh.access_token), 403)
    const personal = await browser.post('/oauth/personal-access-tokens', { name: 'x', scopes: ['svc:admin'] })
    t.equal(personal.statusCode, 422)
    t.notMatch((await browser.get('/oauth/scopes')).body, /svc:admin/)
  })

  await t.test('checks the current role of the user with each request', async (t) => {
    const browser = await signIn()
    t.equal((await browser.get('/admin/v1/users')).statusCode, 200)
    t.equal((await (await signIn(user.email)).get('/admin/v1/users')).statusCode, 403)
    t.equal(
      (await browser.get('/admin/v1/users', { origin: 'https://evil.example', referer: undefined })).statusCode,
      401,
    )
    const bearer = await svc.createToken(admin, { abilities: ['svc:admin'] })
    await svc.database.prisma.user.update({ where: { id: BigInt(admin.id) }, data: { role: 'user' } })
    t.equal((await browser.get('/admin/v1/users')).statusCode, 403)
    t.equal(await status(bearer), 403)
    await svc.database.prisma.user.update({ where: { id: BigInt(admin.id) }, data: { role: 'admin' } })
  })
})

t.test('lets only administrators create tokens with the ability svc:admin', async (t) => {
  const { svc, admin, signIn } = await openAdmin(t, confirming)
  const user = await svc.createUser({ email: 'ada@example.com' })
  const body = { token_name: 'x', abilities: ['svc:admin'] }
  const create = async (bearer: string, more: object = {}) =>
    svc.bearer(bearer, 'POST', '/tokens/create', { ...body, ...more })

  t.equal((await (await signIn(user.email)).post('/tokens/create', body)).statusCode, 403)
  t.equal((await create(await svc.createToken(user))).statusCode, 403)
  t.equal((await create(await svc.createToken(user, { abilities: ['svc:admin'] }))).statusCode, 403)
  t.equal((await create(await svc.createToken(admin))).statusCode, 403, '* does not include it')

  const browser = await signIn()
  t.equal((await browser.post('/tokens/create', body)).statusCode, 423)
  await browser.post('/user/confirm-password', { password: 'correct horse' })
  const created = (await browser.post('/tokens/create', body)).json()
  t.equal((await adminCall(svc, created.token)('GET', '/users')).statusCode, 200)
  t.equal((await create(created.token)).statusCode, 200)
  const plain = (await browser.post('/tokens/create', { token_name: 'y' })).json()
  t.equal((await adminCall(svc, plain.token)('GET', '/users')).statusCode, 403)
})

t.test('never issues the scope svc:admin to exchanged tokens', async (t) => {
  const clients = [{ ...exchangeClient, exchange: ['svc-api-tokens'] }]
  const { svc, admin } = await openAdmin(t, {
    clients: [...clients, ...(await import('../../../support/admin.ts')).adminSettings.clients],
  })
  const subject_token = await svc.createToken(admin, { abilities: ['*', 'svc:admin'] })
  const exchange = (scope: string) =>
    token(svc, 'gateway', {
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
      subject_token,
      scope,
    })
  t.match((await exchange('svc:admin')).json(), { error: 'invalid_scope' })
  const { access_token } = (await exchange('orders:read')).json()
  t.equal((await adminCall(svc, access_token)('GET', '/users')).statusCode, 403)
})

t.test('limits requests by user and client', async (t) => {
  const { svc, admin, call } = await openAdmin(t, { rate_limits: { admin: '2/1m' } })
  const own = adminCall(svc, await svc.createToken(admin, { abilities: ['svc:admin'] }))
  for (const status of [200, 200, 429]) t.equal((await call('GET', '/keys')).statusCode, status)
  t.equal((await own('GET', '/keys')).statusCode, 200)
})
