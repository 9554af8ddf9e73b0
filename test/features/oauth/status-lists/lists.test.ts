import { inflateSync } from 'node:zlib'
import { createLocalJWKSet, decodeJwt, decodeProtectedHeader, jwtVerify } from 'jose'
import t, { type Test } from 'tap'
import { listSize } from '../../../../src/features/oauth/status-lists/bits.ts'
import { buildTestApp, type Settings, type TestApp } from '../../../support/app.ts'
import { hour, minute } from '../../../support/clock.ts'
import { basic, codeFlow, Person, post, revoke, secret, token } from '../../../support/oauth.ts'
import { stopTime, travel } from '../../../support/time.ts'
import { apis, orders, reload, settings, stock } from '../apis/setup.ts'

const listed = {
  ...apis,
  orders: { ...apis.orders, status_list: true },
  stock: { ...apis.stock, status_list: true },
}

const exchangerOf = (client_id: string) => ({
  client_id,
  type: 'confidential',
  secret,
  grants: ['token_exchange'],
  exchange: ['svc-api-tokens'],
  scopes: ['orders:read'],
})

const agent = { ...exchangerOf('agent'), may_act_for: { scopes: ['orders:read'], max_ttl: '5m' } }
const clients = [...(settings.clients as object[]), exchangerOf('exchanger'), agent]

const build = (t: Test, more: Settings = {}) =>
  buildTestApp(t, { settings: { ...settings, apis: listed, clients, ...more }, clock: stopTime(t) })

interface Reference {
  idx: number
  uri: string
}

const referenceOf = (jwt: string): Reference => {
  const { status }: { status?: { status_list: Reference } } = decodeJwt(jwt)
  if (!status) throw new Error('The token has no status list.')
  return status.status_list
}

const pathOf = (uri: string): string => uri.replace('http://localhost:8000', '')

/** The status of a token as an API reads it: with a fresh list, and all checks of the specification. */
async function statusOf(svc: TestApp, jwt: string): Promise<number> {
  const { idx, uri } = referenceOf(jwt)
  const answer = await svc.app.inject(pathOf(uri))
  if (answer.statusCode !== 200) throw new Error(answer.body)
  const jwks = createLocalJWKSet((await svc.app.inject('/.well-known/jwks.json')).json())
  const { payload } = await jwtVerify<{ status_list: { bits: number; lst: string } }>(answer.body, jwks, {
    typ: 'statuslist+jwt',
    subject: uri,
    issuer: 'http://localhost:8000',
    currentDate: new Date(svc.clock.now()),
  })
  const bytes = inflateSync(Buffer.from(payload.status_list.lst, 'base64url'))
  return ((bytes[idx >> 3] ?? 0) >> (idx & 7)) & 1
}

/** The time after which every cache has a new list. */
const renewed = (svc: TestApp): void => travel(svc, 31_000)

const machineToken = async (svc: TestApp, more = { resource: orders }): Promise<string> =>
  (await token(svc, 'machine', { grant_type: 'client_credentials', ...more })).json().access_token

t.test('serves a signed list that caches may keep for half a minute', async (t) => {
  const svc = await build(t)
  const jwt = await machineToken(svc)
  const { idx, uri } = referenceOf(jwt)
  t.match(uri, /^http:\/\/localhost:8000\/oauth\/status\/\d+$/)
  t.ok(Number.isInteger(idx) && idx >= 0 && idx < listSize)
  const answer = await svc.app.inject(pathOf(uri))
  t.equal(answer.statusCode, 200)
  t.equal(answer.headers['content-type'], 'application/statuslist+jwt')
  t.equal(answer.headers['cache-control'], 'public, max-age=30')
  const now = Math.floor(svc.clock.now() / 1000)
  t.match(decodeJwt(answer.body), { sub: uri, iat: now, exp: now + 90, ttl: 30, status_list: { bits: 1, lst: /./ } })
  t.match(decodeProtectedHeader(answer.body), { typ: 'statuslist+jwt', alg: 'ES256' })
  t.notMatch(answer.body, /machine|orders/)
  t.equal((await svc.bearer(answer.body, 'GET', '/api/user')).statusCode, 401, 'it is no access token')

  const { etag = '' } = answer.headers
  for (const tag of [etag, `W/${etag}`, `"x", ${etag}`]) {
    const again = await svc.app.inject({ url: pathOf(uri), headers: { 'if-none-match': String(tag) } })
    t.same([again.statusCode, again.body], [304, ''], String(tag))
  }
  t.equal((await svc.app.inject({ url: pathOf(uri), headers: { 'if-none-match': '"x"' } })).statusCode, 200)
  travel(svc, 20_000)
  const later = await svc.app.inject(pathOf(uri))
  t.equal(later.body, answer.body, 'svc signs it once')
  t.equal(later.headers['cache-control'], 'public, max-age=10')
  const other = await machineToken(svc, { resource: stock })
  t.equal(await statusOf(svc, other), 0)
  t.equal(decodeProtectedHeader((await svc.app.inject(pathOf(referenceOf(other).uri))).body).alg, 'EdDSA')
})

t.test('signs a list once for concurrent requests', async (t) => {
  const svc = await build(t)
  const { uri } = referenceOf(await machineToken(svc))
  const answers = await Promise.all(Array.from({ length: 10 }, () => svc.app.inject(pathOf(uri))))
  // Each ES256 signature of the same text differs.
  t.equal(new Set(answers.map(({ body }) => body)).size, 1)
})

t.test('assigns random indexes to tokens of APIs with a list, and none to other tokens', async (t) => {
  const svc = await build(t)
  const places: number[] = []
  for (let n = 0; n < 12; n++) places.push(referenceOf(await machineToken(svc)).idx)
  t.equal(new Set(places).size, places.length)
  const ordered = [...places].sort((a, b) => a - b)
  t.not(String(places), String(ordered), 'not in the order of their issue')
  t.not(String(places), String(ordered.reverse()))
  for (const more of [{ scope: 'view-tasks' }]) t.notOk('status' in decodeJwt(await machineToken(svc, more as never)))
  t.equal(await svc.database.prisma.oauthStatusEntry.count(), 12)
  const [entry] = await svc.database.prisma.oauthStatusEntry.findMany({ take: 1 })
  t.notMatch(entry?.claims, /machine|orders/, 'the claims are encrypted')

  const off = await build(t, { apis })
  t.notOk('status' in decodeJwt(await machineToken(off)), 'off by default')
  t.equal(await off.database.prisma.oauthStatusEntry.count(), 0)
})

t.test('lists a token as revoked for every reason that ends it', async (t) => {
  const svc = await build(t)
  const { prisma } = svc.database
  const ada = await svc.createUser()
  const where = { id: BigInt(ada.id) }
  const person = new Person(svc, ada.email)
  const web = () => codeFlow(svc, person, 'web', { scope: 'openid orders:read offline_access', prompt: 'consent' })
  const spa = svc.browser()
  const fresh = async (): Promise<string> => {
    await spa.signIn(ada.email)
    return (await spa.post('/oauth/token/fresh', { resource: orders })).json().access_token
  }
  const exchange = async (apiToken: string, client = 'exchanger'): Promise<string> =>
    (
      await svc.app.inject({
        method: 'POST',
        url: '/oauth/token',
        headers: basic(client),
        payload: {
          grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
          subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
          subject_token: apiToken,
          audience: 'orders',
        },
      })
    ).json().access_token

  const bystander = await machineToken(svc)
  const machine = await machineToken(svc)
  const granted = await web()
  const revoked = (await web()).access_token
  const own = await fresh()
  const apiToken = await svc.createToken(ada)
  const exchanged = await exchange(apiToken)
  const delegated = await exchange(await svc.createToken(ada), 'agent')
  const disabled = (await web()).access_token
  const all = [machine, granted.access_token, revoked, own, exchanged, delegated, disabled, bystander]
  for (const jwt of all) t.equal(await statusOf(svc, jwt), 0)

  await revoke(svc, 'machine', machine)
  await revoke(svc, 'web', revoked)
  await revoke(svc, 'web', granted.refresh_token)
  await spa.delete('/oauth/agents/agent')
  await spa.post('/logout')
  await svc.bearer(apiToken, 'DELETE', '/api/tokens/current')
  t.equal(await statusOf(svc, machine), 0, 'a list that caches may still have')
  renewed(svc)
  for (const jwt of [machine, revoked, granted.access_token, own, exchanged, delegated])
    t.equal(await statusOf(svc, jwt), 1)
  t.same([await statusOf(svc, disabled), await statusOf(svc, bystander)], [0, 0])
  await prisma.user.update({ where, data: { disabledAt: new Date(svc.clock.now()) } })
  renewed(svc)
  t.same([await statusOf(svc, disabled), await statusOf(svc, bystander)], [1, 0])
  await prisma.user.delete({ where })
  renewed(svc)
  t.equal(await statusOf(svc, disabled), 1, 'a deleted user')
  reload(svc, { apis: listed, clients: clients.filter((client) => !JSON.stringify(client).includes('"machine"')) })
  renewed(svc)
  t.equal(await statusOf(svc, bystander), 1, 'a removed client')
})

t.test('keeps a revoked token revoked after its expiry, because the clock of an API may be late', async (t) => {
  const svc = await build(t)
  const machine = await machineToken(svc)
  await revoke(svc, 'machine', machine)
  const { exp = 0 } = decodeJwt(machine)
  travel(svc, exp * 1000 - svc.clock.now() + 5_000)
  t.equal(await statusOf(svc, machine), 1)
})

t.test('shows a revocation of another replica, and counts unreadable entries as revoked', async (t) => {
  const svc = await build(t)
  const other = await buildTestApp(t, {
    settings: { ...settings, apis: listed, clients },
    clock: svc.clock,
    database: svc.where,
  })
  const [one, two] = [await machineToken(svc), await machineToken(other)]
  t.same([await statusOf(other, one), await statusOf(svc, two)], [0, 0])
  await revoke(other, 'machine', one)
  const { idx } = referenceOf(two)
  await svc.database.prisma.oauthStatusEntry.updateMany({ where: { idx }, data: { claims: 'unreadable' } })
  renewed(svc)
  for (const replica of [svc, other]) {
    t.same([await statusOf(replica, one), await statusOf(replica, two)], [1, 1])
  }
})

t.test('answers 404 for unknown lists and other spellings of a number', async (t) => {
  const svc = await build(t)
  const { uri } = referenceOf(await machineToken(svc))
  const known = pathOf(uri)
  t.equal((await svc.app.inject(known)).statusCode, 200)
  const odd = [
    '999999',
    '1000000',
    '-1',
    '01',
    '1.0',
    '1e0',
    'x',
    '%00',
    '%31%20',
    '9'.repeat(18),
    '9'.repeat(300),
    '0x1',
  ]
  for (const list of odd) {
    const answer = await svc.app.inject(`/oauth/status/${list}`)
    t.equal(answer.statusCode, 404, list.slice(0, 30))
    t.match(answer.json(), { code: 'not_found' })
  }
  const post = await svc.app.inject({ method: 'POST', url: known })
  t.equal(post.statusCode, 405)
})

t.test('deletes the entries of a token only after the token expires', async (t) => {
  const svc = await build(t)
  const jwt = await machineToken(svc)
  const long = (await codeFlow(svc, new Person(svc, (await svc.createUser()).email), 'web', { scope: 'orders:read' }))
    .access_token
  const count = () => svc.database.prisma.oauthStatusEntry.count()
  t.equal(await count(), 2)
  travel(svc, 10 * minute)
  await svc.app.oauth.statusLists.prune()
  t.equal(await count(), 2, 'the clocks of APIs differ')
  travel(svc, hour)
  await svc.app.oauth.statusLists.prune()
  t.equal(await count(), 0)
  for (const one of [jwt, long]) t.equal((await svc.app.inject(pathOf(referenceOf(one).uri))).statusCode, 404)
})

t.test('starts a new list when few indexes are free', async (t) => {
  const svc = await build(t)
  const { idx, uri } = referenceOf(await machineToken(svc))
  const list = Number(uri.split('/').at(-1))
  const { prisma } = svc.database
  await prisma.$executeRaw`
    WITH RECURSIVE places (idx) AS (SELECT 0 UNION ALL SELECT idx + 1 FROM places WHERE idx + 1 < CAST(${listSize} AS INTEGER))
    INSERT INTO oauth_status_entries (list, idx, claims, expires_at)
    SELECT CAST(${list} AS INTEGER), idx, '', CAST(${svc.clock.now()} AS BIGINT) FROM places WHERE idx <> CAST(${idx} AS INTEGER)`
  const next = await machineToken(svc)
  t.not(referenceOf(next).uri, uri)
  t.equal(await statusOf(svc, next), 0)
  t.equal(decodeProtectedHeader((await svc.app.inject(pathOf(referenceOf(next).uri))).body).alg, 'ES256')
  t.equal((await post(svc, '/oauth/introspect', 'watcher', { token: next })).json().active, true)
})
