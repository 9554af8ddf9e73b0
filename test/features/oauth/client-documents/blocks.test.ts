// engine: both
import t, { type Test } from 'tap'
import { hostOfText } from '../../../../src/features/oauth/client-documents/blocks.ts'
import { adminCall, adminSettings, robotToken } from '../../../support/admin.ts'
import { buildTestApp, type Settings, type TestApp } from '../../../support/app.ts'
import { runCommandOn } from '../../../support/command.ts'
import { DocumentHost, loopback, openTo } from '../../../support/document-host.ts'
import { introspect, Person, pkce, response, verifier } from '../../../support/oauth.ts'
import { stopTime } from '../../../support/time.ts'
import { post } from '../clients/parties.ts'

const asks = (client_id: string) => ({
  client_id,
  response_type: 'code',
  redirect_uri: loopback,
  scope: 'openid orders:read',
  ...pkce,
})

const settingsWith = (more: Settings = {}): Settings => ({ ...adminSettings, ...openTo(more) })

async function start(t: Test, more: Settings = {}) {
  const host = await DocumentHost.start(t)
  const clock = stopTime(t)
  const svc = await buildTestApp(t, { settings: settingsWith(more), clock })
  const ada = new Person(svc, (await svc.createUser()).email)
  await ada.signIn()
  return { host, clock, svc, ada }
}

async function tokensOf(svc: TestApp, ada: Person, client_id: string) {
  const { code = '' } = response(await ada.allow(asks(client_id)))
  const exchange = { grant_type: 'authorization_code', code, redirect_uri: loopback, code_verifier: verifier }
  const answer = await post(svc, '/oauth/token', { ...exchange, client_id })
  if (answer.statusCode !== 200) throw new Error(answer.body)
  return answer.json()
}

/** Where svc accepts the tokens of a client: the API, UserInfo, introspection by an API, renewal, and a new authorization. */
async function accepts(svc: TestApp, ada: Person, client_id: string, tokens: Record<string, string>) {
  const { access_token = '', refresh_token = '' } = tokens
  const renewal = { grant_type: 'refresh_token', refresh_token, client_id }
  return [
    (await svc.bearer(access_token, 'GET', '/api/user')).statusCode === 200,
    (await svc.bearer(access_token, 'GET', '/oauth/userinfo')).statusCode === 200,
    (await introspect(svc, 'watcher', access_token)).active,
    (await introspect(svc, 'watcher', refresh_token)).active,
    (await post(svc, '/oauth/token', renewal)).statusCode === 200,
    (await ada.authorize(asks(client_id))).page === 'Authorize',
  ]
}

const everything = Array(6).fill(true)
const nothing = Array(6).fill(false)

t.test('refuses the clients and tokens of hosts that the configuration excludes', async (t) => {
  const { host, clock, svc, ada } = await start(t)
  const client_id = host.serve('/client.json')
  const tokens = await tokensOf(svc, ada, client_id)
  const with_ = (more: Settings) => buildTestApp(t, { settings: settingsWith(more), clock, database: svc.where })
  const here = `localhost:${host.port}`
  const outcomes: [Settings, boolean][] = [
    [{ blocked_hosts: [here] }, false],
    [{ blocked_hosts: ['local*:*'.replace('*:*', `*:${host.port}`)] }, false],
    [{ blocked_hosts: ['other.example'] }, true],
    [{ allowed_hosts: ['other.example', '*.example.com'] }, false],
    [{ allowed_hosts: [here] }, true],
    [{ allowed_hosts: [here], blocked_hosts: [here] }, false],
    [{ enabled: false }, false],
  ]
  let current = tokens
  for (const [more, isAccepted] of outcomes) {
    const other = await with_(more)
    const same = new Person(other, ada.email)
    await same.signIn()
    t.same(await accepts(other, same, client_id, current), isAccepted ? everything : nothing, JSON.stringify(more))
    if (isAccepted) current = await tokensOf(other, same, client_id)
  }
})

t.test('blocks a host with client:block, at once on every replica, and ends the block', async (t) => {
  const { host, clock, svc, ada } = await start(t)
  const client_id = host.serve('/client.json')
  const elsewhere = host.serve('/other.json', {}, {}, '127.0.0.2')
  const [tokens, others] = [await tokensOf(svc, ada, client_id), await tokensOf(svc, ada, elsewhere)]
  const replica = await buildTestApp(t, { settings: settingsWith(), clock, database: svc.where })
  const page = await ada.authorize(asks(client_id))

  t.same(await runCommandOn(svc, 'client:block', 'LOCALHOST', '--reason=ticket 7'), [
    'Blocked localhost and its subdomains.',
  ])
  t.same(await runCommandOn(svc, 'client:block', client_id), ['localhost is blocked already.'])
  t.match(await runCommandOn(svc, 'client:blocked'), [/^{"host":"localhost","blocked_at":"20.*}$/])
  const ben = new Person(replica, ada.email)
  await ben.signIn()
  t.same(await accepts(svc, ada, client_id, tokens), nothing)
  t.same(await accepts(replica, ben, client_id, tokens), nothing)
  t.equal((await ada.press(page, { decision: 'approve' })).page, 'Error', 'an authorization in progress ends')
  t.same(await accepts(svc, ada, elsewhere, others), everything, 'another host')
  t.match((await ada.plain.open('/oauth/logout')).statusCode, 200, 'the user can sign out')

  t.same(await runCommandOn(svc, 'client:unblock', 'localhost'), [
    'localhost is no longer blocked. Its tokens work again unless they have expired.',
  ])
  await t.rejects(runCommandOn(svc, 'client:unblock', 'localhost'), /is not blocked/)
  t.equal((await svc.bearer(tokens.access_token, 'GET', '/api/user')).statusCode, 200)
  const events = await svc.database.prisma.event.findMany({
    where: { type: { startsWith: 'client_' } },
    orderBy: { id: 'asc' },
  })
  t.match(events, [
    { type: 'client_blocked', target: 'host:localhost', actor: 'operator:tester', reason: 'ticket 7' },
    { type: 'client_unblocked', target: 'host:localhost' },
  ])
})

t.test('blocks subdomains with their domain', async (t) => {
  const { svc, ada } = await start(t)
  await runCommandOn(svc, 'client:block', 'corp.example')
  await runCommandOn(svc, 'client:block', '192.0.2.7')
  const blocked = [
    'https://corp.example/c',
    'https://a.b.corp.example/c',
    'https://corp.example:8443/c',
    'https://192.0.2.7/c',
  ]
  const open = ['https://corp.example.org/c', 'https://xcorp.example/c', 'https://192.0.2.8/c', 'https://2.7/c']
  for (const id of blocked) t.match((await ada.authorize(asks(id))).answer.body, 'are blocked', id)
  for (const id of open) t.notMatch((await ada.authorize(asks(id))).answer.body, 'are blocked', id)
})

t.test('reads the host of a text', async (t) => {
  const hosts: Record<string, string | null> = {
    'app.example.com': 'app.example.com',
    'APP.Example.com.': 'app.example.com',
    ' bücher.example ': 'xn--bcher-kva.example',
    '[::1]': '[::1]',
    '127.1': '127.0.0.1',
    'https://app.example.com:8443/client.json?x': 'app.example.com',
    'app.example.com:8443': null,
    'app.example.com/path': null,
    'ada@app.example.com': null,
    '*.example.com': null,
    '': null,
    'a b': null,
    'https://': null,
  }
  for (const [text, host] of Object.entries(hosts)) t.equal(hostOfText(text), host, text)
})

t.test('lists clients that got tokens, and blocks their hosts, by commands and the admin API', async (t) => {
  const { host, svc, ada } = await start(t)
  const client_id = host.serve('/client.json')
  await ada.authorize(asks(host.serve('/never-allowed.json')))
  await tokensOf(svc, ada, client_id)
  const call = adminCall(svc, await robotToken(svc))
  const rows = (await runCommandOn(svc, 'client:list')).map((line) => JSON.parse(line))
  const unregistered = rows.filter(({ registered }) => !registered)
  t.match(unregistered, [
    {
      client_id,
      name: `localhost:${host.port}`,
      claimed_name: 'Example Agent',
      type: 'public',
      application_type: 'native',
      authentication: 'none',
      grants: ['authorization_code', 'refresh_token'],
      scopes: ['openid', 'offline_access', 'orders:read'],
      last_used_at: /^20/,
    },
  ])
  t.equal(unregistered.length, 1, 'only the one that got tokens')
  t.same((await call('GET', '/clients')).json(), rows)
  const id = encodeURIComponent(client_id)
  t.match((await call('GET', `/clients/${id}`)).json(), { client_id, has_secret: false, registered: false })
  t.match(JSON.parse((await runCommandOn(svc, 'client:show', client_id)).join('')), { client_id })

  const blockedHosts = '/blocked-client-hosts'
  const block = async (host: unknown) => (await call('POST', blockedHosts, { host, reason: 'ticket 7' })).statusCode
  const unblock = async (host: string) => (await call('DELETE', `${blockedHosts}/${host}`)).statusCode
  t.equal(await block('Localhost'), 204)
  t.equal(await block('localhost'), 204, 'twice')
  t.match((await call('GET', blockedHosts)).json(), [{ host: 'localhost', blocked_at: /^20/ }])
  t.equal((await ada.authorize(asks(client_id))).page, 'Error')
  t.equal(await unblock('localhost'), 204)
  t.equal(await unblock('localhost'), 404, 'twice')
  t.same((await call('GET', blockedHosts)).json(), [])
  for (const bad of ['a/b', 'a:1', ' ', 'a@b', '*.example.com', '', 7, null, 'x'.repeat(256)]) {
    t.equal(await block(bad), 422, String(bad))
  }
  t.equal(await unblock('a%2Fb'), 404)
  const actors = await svc.database.prisma.event.findMany({ where: { type: { startsWith: 'client_' } } })
  t.match(
    actors.map(({ actor }) => actor),
    ['client:robot', 'client:robot'],
  )
  t.equal((await adminCall(svc, null)('POST', blockedHosts, { host: 'localhost' })).statusCode, 401)
})
