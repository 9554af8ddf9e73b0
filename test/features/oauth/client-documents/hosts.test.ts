// engine: none
import t, { type Test } from 'tap'
import { buildTestApp, type Settings, type TestApp } from '../../../support/app.ts'
import { day, hour, minute } from '../../../support/clock.ts'
import { DocumentHost, loopback, openTo } from '../../../support/document-host.ts'
import { Person, pkce, response, verifier } from '../../../support/oauth.ts'
import { stopTime, travel } from '../../../support/time.ts'
import { assertion, newKey, post } from '../clients/parties.ts'

const asks = (client_id: string, more: Record<string, string> = {}) => ({
  client_id,
  response_type: 'code',
  redirect_uri: loopback,
  scope: 'orders:read',
  ...pkce,
  ...more,
})

async function start(t: Test, more: Settings = {}, others: Settings = {}) {
  const host = await DocumentHost.start(t)
  const svc = await buildTestApp(t, { settings: { ...openTo(more), ...others }, clock: stopTime(t) })
  const ada = new Person(svc, (await svc.createUser()).email)
  await ada.signIn()
  return { host, svc, ada }
}

const from = async (svc: TestApp, client_id: string, remoteAddress: string): Promise<number> =>
  (await svc.app.inject({ url: `/oauth/authorize?${new URLSearchParams(asks(client_id))}`, remoteAddress })).statusCode

async function tokensOf(svc: TestApp, ada: Person, client_id: string, more: Record<string, string> = {}) {
  const { code = '' } = response(await ada.allow(asks(client_id, more)))
  const exchange = { grant_type: 'authorization_code', code, redirect_uri: loopback, code_verifier: verifier }
  return (await post(svc, '/oauth/token', { ...exchange, client_id })).json()
}

t.test('compares the host of a client_id only, on every port unless the entry has one', async (t) => {
  const host = await DocumentHost.start(t)
  const ids = [host.serve('/client.json'), host.serve('/client.json?\\')]
  const outcome = async (more: Settings, id: string) => {
    const svc = await buildTestApp(t, { settings: openTo(more), clock: stopTime(t) })
    return (await new Person(svc, 'ada@example.com').authorize(asks(id))).page
  }
  for (const id of ids) {
    t.equal(await outcome({ blocked_hosts: ['localhost'] }, id), 'Error', `${id}, all ports`)
    t.equal(await outcome({ blocked_hosts: [`localhost:${host.port}`] }, id), 'Error', `${id}, this port`)
    for (const port of [1, 80, 443]) {
      t.equal(await outcome({ blocked_hosts: [`localhost:${port}`] }, id), 'Sign in', `${id}, port ${port}`)
    }
    t.equal(await outcome({ allowed_hosts: ['localhost'] }, id), 'Sign in', `${id}, allowed`)
  }
})

t.test('refuses an address over its limit alone, also while others wait for the same document', async (t) => {
  const { host, svc } = await start(t)
  for (let count = 0; count < 30; count++) await from(svc, host.serve(`/a${count}`), '198.51.100.1')
  const slow = host.serve('/slow.json')
  const answer = host.answerOf('/slow.json')
  const release = Promise.withResolvers<void>()
  host.answer('/slow.json', (request, reply) => void release.promise.then(() => answer?.(request, reply)))
  const others = ['198.51.100.2', '198.51.100.3'].map((address) => from(svc, slow, address))
  t.same(await Promise.all([from(svc, slow, '198.51.100.1'), from(svc, slow, '198.51.100.1')]), [429, 429])
  release.resolve()
  t.same(await Promise.all(others), [303, 303])
})

t.test('replaces the oldest unused documents when there are too many', async (t) => {
  const { host, svc, ada } = await start(t)
  const { prisma } = svc.database
  const at = BigInt(svc.clock.now())
  const row = { document: '{}', fetchedAt: at - BigInt(hour), freshUntil: at, expiresAt: at }
  const used = { ...row, id: 'https://used.example/c', usedAt: at }
  const fresh = { ...row, id: 'https://fresh.example/c', fetchedAt: at }
  const unused = Array.from({ length: 20_000 }, (_, index) => ({ ...row, id: `https://a.example/${index}` }))
  await prisma.oauthClientDocument.createMany({ data: [used, fresh] })
  await prisma.oauthClientDocument.createMany({ data: unused })
  t.equal((await ada.authorize(asks(host.serve('/client.json')))).page, 'Authorize')
  t.equal(await prisma.oauthClientDocument.count(), 20_002 - 100 + 1)
  const kept = await prisma.oauthClientDocument.count({ where: { id: { in: [used.id, fresh.id] } } })
  t.equal(kept, 2, 'not those that are in use or new')
  await prisma.oauthClientDocument.updateMany({ data: { usedAt: at } })
  await prisma.oauthClientDocument.createMany({
    data: Array.from({ length: 200 }, (_, index) => ({ ...used, id: `${used.id}${index}` })),
  })
  t.equal((await ada.authorize(asks(host.serve('/second.json')))).page, 'Error', 'all are in use')
  travel(svc, 8 * day)
  await ada.signIn()
  t.equal((await ada.authorize(asks(host.serve('/third.json')))).page, 'Authorize', 'those not used for a week')
})

t.test('uses its copy when it may not ask a host, however old the copy is', async (t) => {
  const { host, svc } = await start(t, { cache: '1m' })
  const client_id = host.serve('/client.json')
  t.equal(await from(svc, client_id, '198.51.100.1'), 303)
  travel(svc, 2 * day)
  const rule = { max: 600, window: minute, block: 'window' } as const
  const name = `client-document:known localhost:${host.port}`
  for (let count = 0; count <= 600; count++) await svc.app.counters.hit(name, rule, svc.clock.now())
  t.equal(await from(svc, client_id, '198.51.100.1'), 303)
  t.equal(host.callsTo('/client.json'), 1)
})

t.test('fetches the keys of a client not again for each request after a failure', async (t) => {
  const { host, svc, ada } = await start(t)
  const key = await newKey('ES256')
  host.answer('/jwks', (_, reply) => void reply.end('not JSON'))
  const keys = { token_endpoint_auth_method: 'private_key_jwt', jwks_uri: `${host.origin()}/jwks` }
  const client_id = host.serve('/client.json', keys)
  const { code = '' } = response(await ada.allow(asks(client_id)))
  const exchange = { grant_type: 'authorization_code', code, redirect_uri: loopback, code_verifier: verifier }
  for (let count = 0; count < 8; count++) {
    const fields = { ...exchange, ...(await assertion(key, client_id)) }
    const answer = await post(svc, '/oauth/token', fields, {}, `198.51.100.${count}`)
    t.equal(answer.json().error, 'invalid_client')
  }
  t.equal(host.callsTo('/jwks'), 1)
})

t.test('signs a user out although a client that they allowed no longer has a valid document', async (t) => {
  const { host, svc, ada } = await start(t)
  t.ok((await tokensOf(svc, ada, host.serve('/client.json'))).access_token)
  const { document } = await svc.database.prisma.oauthClientDocument.findFirstOrThrow()
  const broken = JSON.stringify({ ...JSON.parse(document), jwks: { keys: [{ kty: 'oct', k: 'AAAA' }] } })
  await svc.database.prisma.oauthClientDocument.updateMany({ data: { document: broken } })
  const done = await ada.press(await ada.go('/oauth/logout'), { logout: 'yes' })
  t.match(done.answer, { statusCode: 200, body: 'signed out' })
  t.equal(await ada.plain.user(), null)
})

t.test('adds only claims of allowed scopes to the tokens of unregistered clients', async (t) => {
  const scopes = ['openid', 'email', 'orders:read']
  const oauth = { client_id_metadata: { enabled: true, scopes }, access_token_claims: ['email', 'name', 'role'] }
  const { host, svc, ada } = await start(t, {}, { oauth })
  const { access_token } = await tokensOf(svc, ada, host.serve('/client.json'))
  const [, payload = ''] = access_token.split('.')
  const claims = JSON.parse(Buffer.from(payload, 'base64url').toString())
  t.match(claims, { email: ada.email, name: undefined, role: undefined })
})

t.test('warns of loopback however the redirect URI spells it, and drops URIs with blanks', async (t) => {
  const { host, ada } = await start(t)
  const upper = 'HTTP://127.0.0.1:33418/callback'
  const odd = [' http://127.0.0.1/x', 'ht\ntp://127.0.0.1/y']
  const client_id = host.serve('/client.json', { redirect_uris: [upper, ...odd] })
  const page = await ada.authorize(asks(client_id, { redirect_uri: upper }))
  t.match(page.answer.body, 'Any program on this device can claim')
  for (const redirect_uri of odd) {
    t.equal((await ada.authorize(asks(client_id, { redirect_uri }))).page, 'Error', JSON.stringify(redirect_uri))
  }
})

t.test('keeps a document for as long as its refresh tokens work', async (t) => {
  const client_id_metadata = { enabled: true, scopes: ['orders:read', 'offline_access'] }
  const { host, svc, ada } = await start(t, {}, { oauth: { refresh_token_ttl: '180d', client_id_metadata } })
  await tokensOf(svc, ada, host.serve('/client.json'), { scope: 'orders:read offline_access' })
  const { usedAt, expiresAt } = await svc.database.prisma.oauthClientDocument.findFirstOrThrow()
  t.equal(Number(expiresAt) - Number(usedAt), 180 * day)
})

t.test('does not tell visitors in production how private hosts answer', async (t) => {
  const host = await DocumentHost.start(t)
  const app = { url: 'https://auth.example.com', environment: 'production' }
  const settings = { ...openTo(), app, test_page: false, mail: { url: 'smtp://mail.example.com' } }
  const svc = await buildTestApp(t, { settings, clock: stopTime(t) })
  host.answer('/wrong', (_, reply) => void reply.setHeader('content-type', 'text/html').end())
  for (const path of ['/missing', '/wrong']) {
    const query = new URLSearchParams(asks(host.origin() + path))
    const { body } = await svc.app.inject({ url: `/oauth/authorize?${query}`, headers: { accept: 'text/html' } })
    t.match(body, 'the metadata document of the client is not available', path)
    t.notMatch(body, /status 404|Content-Type/)
  }
  t.match(svc.logs.join(''), /answers with status 404/, 'the log says it')
})

t.test('shows errors of every kind of request before an app receives them', async (t) => {
  const { host, svc, ada } = await start(t, { scopes: ['openid', 'orders:read'] })
  const client_id = host.serve('/client.json')
  const visitor = new Person(svc, 'eve@example.com')
  const pushed = await post(svc, '/oauth/par', asks(client_id, { prompt: 'none' }))
  const { request_uri } = pushed.json()
  const requests: Record<string, Record<string, string>> = {
    ...Object.fromEntries(
      ['query', 'fragment', 'form_post', 'jwt', 'form_post.jwt', 'web_message', 'x'].map((mode) => [
        mode,
        asks(client_id, { prompt: 'none', response_mode: mode }),
      ]),
    ),
    token: asks(client_id, { response_type: 'token' }),
    unknown: asks(client_id, { response_type: 'x' }),
    plain: asks(client_id, { code_challenge_method: 'plain' }),
    scope: asks(client_id, { scope: 'orders:write' }),
    resource: asks(client_id, { resource: 'https://x.example' }),
    prompt: asks(client_id, { prompt: 'none login' }),
    object: asks(client_id, { request: 'x.y.z' }),
    pushed: { client_id, request_uri },
  }
  for (const [name, query] of Object.entries(requests)) {
    const { page, out, answer } = await visitor.authorize(query)
    t.match([page, out, answer.statusCode], ['Error', null, 400], name)
    t.notMatch(answer.body, /<form[^>]+127/, name)
  }
  const json = await svc.app.inject(`/oauth/authorize?${new URLSearchParams(asks(client_id, { prompt: 'none' }))}`)
  t.match([json.statusCode, json.json()], [400, { error: 'login_required' }], 'without a browser')
  const claims = JSON.stringify({ id_token: { acr: { essential: true, value: 'none' } } })
  const unmet = { scope: 'openid orders:read', claims }
  for (const mode of ['query', 'form_post']) {
    const { page, out } = await ada.authorize(asks(client_id, { ...unmet, response_mode: mode }))
    t.same([page, out], ['Error', null], 'a requirement that no user can meet')
  }
  const other = await visitor.authorize(asks(client_id, { prompt: 'none', redirect_uri: 'http://127.0.0.1/other' }))
  t.notMatch(other.answer.body, 'Back to', 'no link to a redirect URI that is not valid')
})

t.test('drops nested members beside the keys of a client', async (t) => {
  const { host, svc } = await start(t)
  const deep = `${'['.repeat(4_000)}${']'.repeat(4_000)}`
  const client_id = `${host.origin()}/deep.json`
  const body = `{"client_id":"${client_id}","redirect_uris":["${loopback}"],"jwks":{"keys":[],"x":${deep}}}`
  host.answer('/deep.json', (_, reply) => void reply.setHeader('content-type', 'application/json').end(body))
  t.equal(await from(svc, client_id, '198.51.100.1'), 303)
  t.notMatch((await svc.database.prisma.oauthClientDocument.findFirstOrThrow()).document, '[[')
})
