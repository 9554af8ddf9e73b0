// engine: none
import t from 'tap'
import { minute } from '../../support/clock.ts'
import { secret, token } from '../../support/oauth.ts'
import { stopTime, travel } from '../../support/time.ts'
import { app, signedIn } from './sessions.ts'
import { api, buildGuarded, navigation } from './setup.ts'

t.test('denies requests that no rule allows, with any credential', async (t) => {
  const svc = await buildGuarded(t, [])
  const token = await svc.createToken(await svc.createUser())
  const answer = await svc.ask({ headers: { authorization: `Bearer ${token}` } })
  t.match(answer.json(), { code: 'forbidden' })
  t.equal(answer.statusCode, 403)
  t.equal((await svc.ask()).statusCode, 403, 'and does not ask for a credential')
})

t.test('applies guard.default to requests that no rule matches', async (t) => {
  const open = await buildGuarded(t, [{ paths: ['/admin/*'], roles: ['admin'] }], { guard: { default: 'public' } })
  t.equal((await open.ask()).statusCode, 200)
  t.equal((await open.ask({ url: `${api}/admin/x` })).statusCode, 401)
  const closed = await buildGuarded(t, [], { guard: { default: 'authenticated' } })
  t.equal((await closed.ask()).statusCode, 401)
  const token = await closed.createToken(await closed.createUser(), { abilities: [] })
  t.equal((await closed.ask({ headers: { authorization: `Bearer ${token}` } })).statusCode, 200)
})

t.test('describes the caller to the service', async (t) => {
  const svc = await buildGuarded(t, [{ hosts: ['api.example.com'] }])
  const user = await svc.createUser({ role: 'staff' })
  // As in an introspection response, an ability with a space must not read as two.
  const token = await svc.createToken(user, { abilities: ['orders:read', 'orders:write', 'x admin'] })
  const answer = await svc.ask({ headers: { authorization: `Bearer ${token}` } })
  t.equal(answer.statusCode, 200)
  t.equal(answer.body, '')
  t.match(answer.headers, {
    'remote-user': String(user.id),
    'remote-email': user.email,
    'remote-name': user.name,
    'svc-user-id': String(user.id),
    'svc-credential': `token ${token.split('|')[0]}`,
  })
  t.equal(answer.headers['svc-abilities'], 'orders:read orders:write')
})

t.test('omits an unverified address, renames headers and encodes names', async (t) => {
  const guard = { remote_user: 'email', headers: { user: 'X-User', name: 'X-Name', groups: null } }
  const svc = await buildGuarded(t, [{ hosts: ['api.example.com'] }], { guard })
  const user = await svc.createUser({ verified: false })
  await svc.database.prisma.user.update({ where: { id: BigInt(user.id) }, data: { name: 'Zoë 100%\r\nEvil: x' } })
  const authorization = `Bearer ${await svc.createToken(user)}`
  const { headers } = await svc.ask({ headers: { authorization } })
  t.equal(headers['x-name'], 'Zo%C3%AB 100%25%0D%0AEvil: x')
  t.notHas(headers, { 'x-user': '' }, 'no unverified address')
  t.notHas(headers, { 'remote-email': '' })
  t.notHas(headers, { 'remote-groups': '' })
  t.notHas(headers, { 'remote-user': '' })
})

t.test('allows everyone under a public rule, without headers about the caller', async (t) => {
  const svc = await buildGuarded(t, [{ paths: ['/public/*'], access: 'public' }])
  const authorization = `Bearer ${await svc.createToken(await svc.createUser())}`
  const answer = await svc.ask({ url: `${api}/public/x`, headers: { authorization } })
  t.equal(answer.statusCode, 200)
  t.notHas(answer.headers, { 'remote-user': '' })
})

t.test('requires all abilities, or any of them', async (t) => {
  const svc = await buildGuarded(t, [
    { paths: ['/all'], abilities: ['a', 'b'] },
    { paths: ['/any'], any_ability: ['a', 'b'] },
  ])
  const user = await svc.createUser()
  const statusOf = async (path: string, abilities: string[]) => {
    const authorization = `Bearer ${await svc.createToken(user, { abilities })}`
    return (await svc.ask({ url: api + path, headers: { authorization } })).statusCode
  }
  t.equal(await statusOf('/all', ['a', 'b']), 200)
  t.equal(await statusOf('/all', ['a']), 403)
  t.equal(await statusOf('/any', ['b']), 200)
  t.equal(await statusOf('/any', ['c']), 403)
  t.equal(await statusOf('/any', ['*']), 200)
})

t.test('requires roles, verified addresses and kinds of credentials', async (t) => {
  const svc = await buildGuarded(t, [
    { paths: ['/staff'], roles: ['staff', 'admin'] },
    { paths: ['/verified'], verified: true },
    { paths: ['/browser'], credentials: ['session'] },
    { paths: ['/jwt'], credentials: ['jwt'] },
  ])
  const bearerOf = async (facts: object) => ({
    authorization: `Bearer ${await svc.createToken(await svc.createUser(facts))}`,
  })
  const staff = await bearerOf({ role: 'staff' })
  const other = await bearerOf({ verified: false })
  const codeOf = async (path: string, headers: Record<string, string>) => {
    const answer = await svc.ask({ url: api + path, headers })
    return answer.statusCode === 200 ? 200 : [answer.statusCode, answer.json().code]
  }
  t.same(await codeOf('/staff', staff), 200)
  t.same(await codeOf('/staff', other), [403, 'forbidden'])
  t.same(await codeOf('/verified', staff), 200)
  t.same(await codeOf('/verified', other), [403, 'email_unverified'])
  t.same(await codeOf('/browser', staff), [403, 'forbidden'])
  t.same(await codeOf('/jwt', staff), [403, 'forbidden'])
})

t.test('requires a verified address of users for every rule with registration.require_verified_email', async (t) => {
  stopTime(t)
  const rules = [
    { paths: ['/public'], access: 'public' },
    { paths: ['/orders/*'], audience: 'orders' },
  ]
  const svc = await buildGuarded(t, rules, {
    apis: { orders: { audience: 'https://orders.example.com', scopes: ['orders:read'] } },
    registration: { require_verified_email: true },
    guard: { default: 'authenticated' },
    clients: [
      { client_id: 'machine', type: 'confidential', secret, grants: ['client_credentials'], scopes: ['orders:read'] },
    ],
  })
  const visit = async (facts: object) => {
    const user = await svc.createUser(facts)
    const cookie = await signedIn(svc, user.email)
    return [{ cookie, origin: app }, { authorization: `Bearer ${await svc.createToken(user)}` }]
  }
  for (const path of ['/orders/1', '/other']) {
    for (const headers of await visit({ verified: false })) {
      const answer = await svc.ask({ url: api + path, headers })
      t.same([answer.statusCode, answer.json().code], [403, 'email_unverified'], `${path} ${Object.keys(headers)}`)
      t.notHas(answer.headers, { authorization: '' }, 'no token for the API')
      t.equal((await svc.ask({ url: `${api}/public`, headers })).statusCode, 200)
    }
    for (const headers of await visit({})) t.equal((await svc.ask({ url: api + path, headers })).statusCode, 200, path)
  }
  const issued = await token(svc, 'machine', { grant_type: 'client_credentials', scope: 'orders:read' })
  const authorization = `Bearer ${issued.json().access_token}`
  t.equal((await svc.ask({ headers: { authorization } })).statusCode, 200, 'a machine has no address')
})

t.test('requires a second factor and a recent confirmation of the session', async (t) => {
  const svc = await buildGuarded(t, [
    { paths: ['/second'], second_factor: true },
    { paths: ['/recent'], confirmed_within: '1h' },
  ])
  const user = await svc.createUser()
  const cookie = await signedIn(svc, user.email)
  const codeOf = async (path: string, headers: Record<string, string>) => {
    const answer = await svc.ask({ url: api + path, headers: { ...navigation, accept: '*/*', ...headers } })
    return answer.statusCode === 200 ? 200 : [answer.statusCode, answer.json().code]
  }
  t.same(await codeOf('/second', { cookie }), [403, 'second_factor_required'])
  t.same(await codeOf('/recent', { cookie }), 200, 'a sign-in is a confirmation')
  travel(svc, 61 * minute)
  t.same(await codeOf('/recent', { cookie }), [423, 'password_confirmation_required'])
  const authorization = `Bearer ${await svc.createToken(user)}`
  t.same(await codeOf('/second', { authorization }), [403, 'second_factor_required'])
  t.same(await codeOf('/recent', { authorization }), [423, 'password_confirmation_required'])
})

t.test('matches networks by the address that trusted proxies report', async (t) => {
  const svc = await buildGuarded(t, [{ networks: ['10.0.0.0/8', 'fd00::/8'], access: 'public' }])
  const statusFrom = async (address: string) => (await svc.ask({ headers: { 'x-forwarded-for': address } })).statusCode
  t.equal(await statusFrom('10.1.2.3'), 200)
  t.equal(await statusFrom('::ffff:10.1.2.3'), 200)
  t.equal(await statusFrom('fd00::9'), 200)
  t.equal(await statusFrom('192.0.2.1'), 403)
  t.equal(await statusFrom('10.1.2.3, 192.0.2.1'), 403, 'a client cannot put an address in front')
})

t.test('selects a rule by name, and rejects an unknown name', async (t) => {
  const svc = await buildGuarded(t, [
    { hosts: ['api.example.com'], access: 'public' },
    { name: 'orders', abilities: ['orders:read'] },
  ])
  t.equal((await svc.ask({ query: '?rule=orders' })).statusCode, 401)
  const unknown = await svc.ask({ query: '?rule=other' })
  t.equal(unknown.statusCode, 400)
  t.match(unknown.json(), { code: 'invalid_original_request', message: 'No rule has this name.' })
})

t.test('rejects a rule name that comes from the query of the client', async (t) => {
  const svc = await buildGuarded(t, [{ name: 'open', hosts: ['open.example.com'], access: 'public' }, {}])
  for (const query of ['?rule=open', '?a=b&rule=open', '?%72ule=open']) {
    const answer = await svc.ask({ url: `${api}/orders/1${query}`, query })
    t.equal(answer.statusCode, 400, query)
    t.match(answer.json(), { code: 'invalid_original_request', message: /query of the client/ })
  }
  t.equal((await svc.ask({ url: `${api}/orders/1?rule=other`, query: '?rule=open' })).statusCode, 200)
})

t.test('rejects the scheme DPoP for a token that is bound to no key', async (t) => {
  const svc = await buildGuarded(t, [{ hosts: ['api.example.com'] }])
  const token = await svc.createToken(await svc.createUser())
  const answer = await svc.ask({ headers: { authorization: `DPoP ${token}` } })
  t.equal(answer.statusCode, 401)
  t.match(answer.headers['www-authenticate'], /^DPoP error="invalid_token"/)
})

t.test('rejects a revoked credential on the next request', async (t) => {
  const svc = await buildGuarded(t, [{ hosts: ['api.example.com'] }])
  const user = await svc.createUser()
  const headers = { authorization: `Bearer ${await svc.createToken(user)}` }
  t.equal((await svc.ask({ headers })).statusCode, 200)
  await svc.database.prisma.personalAccessToken.deleteMany({})
  const refused = await svc.ask({ headers })
  t.equal(refused.statusCode, 401)
  t.equal(refused.headers['www-authenticate'], 'Bearer error="invalid_token"')
})

t.test('answers 503 while the database is down, never 200', async (t) => {
  const svc = await buildGuarded(t, [{ hosts: ['api.example.com'] }])
  const headers = { authorization: `Bearer ${await svc.createToken(await svc.createUser())}` }
  await svc.database.prisma.$executeRawUnsafe('ALTER TABLE personal_access_tokens RENAME TO away')
  t.equal((await svc.ask({ headers })).statusCode, 503)
})

t.test('logs the rule with its line', async (t) => {
  const svc = await buildGuarded(t, [{ name: 'orders', hosts: ['api.example.com'], access: 'public' }])
  await svc.ask({ url: `${api}/orders/1?secret=x` })
  const line = svc.logs.map((text) => JSON.parse(text)).find(({ msg }) => msg === 'guard rule applies')
  t.match(line, {
    rule: 'orders',
    line: Number,
    file: null,
    access: 'public',
    host: 'api.example.com',
    path: '/orders/1',
  })
})
