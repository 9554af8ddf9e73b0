// engine: both
import t, { type Test } from 'tap'
import { pruneDocuments } from '../../../../src/features/oauth/client-documents/store.ts'
import { buildTestApp, type Settings, type TestApp } from '../../../support/app.ts'
import { day, hour, minute, second } from '../../../support/clock.ts'
import { DocumentHost, loopback, openTo } from '../../../support/document-host.ts'
import { Person, pkce, response, verifier } from '../../../support/oauth.ts'
import { stopTime, travel } from '../../../support/time.ts'
import { post } from '../clients/parties.ts'

const asks = (client_id: string) => ({
  client_id,
  response_type: 'code',
  redirect_uri: loopback,
  scope: 'orders:read',
  ...pkce,
})

async function start(t: Test, settings: Settings = {}) {
  const host = await DocumentHost.start(t)
  const clock = stopTime(t)
  const svc = await buildTestApp(t, { settings: openTo(settings), clock })
  return { host, svc, clock, open: openOn(svc) }
}

/** Begins an authorization in a new browser, and returns the title of the page. */
const openOn = (svc: TestApp) => async (client_id: string) =>
  (await new Person(svc, 'nobody@example.com').authorize(asks(client_id))).page

t.test('uses a document for as long as its Cache-Control and the configuration allow', async (t) => {
  const { host, svc, open } = await start(t, { cache: '1h' })
  const lives: [string | undefined, number][] = [
    [undefined, hour],
    ['max-age=600', 10 * minute],
    ['public, max-age="120"', 2 * minute],
    ['max-age=86400', hour],
    ['max-age=1', minute],
    ['no-store', minute],
    ['no-cache, max-age=600', minute],
    ['max-age=x', hour],
  ]
  for (const [index, [header, life]] of lives.entries()) {
    const path = `/client${index}.json`
    const client_id = host.serve(path, {}, header === undefined ? {} : { 'cache-control': header })
    await open(client_id)
    travel(svc, life - second)
    t.equal(await open(client_id), 'Sign in')
    t.equal(host.callsTo(path), 1, `${header}: from the copy`)
    travel(svc, second)
    t.equal(await open(client_id), 'Sign in')
    t.equal(host.callsTo(path), 2, `${header}: fetched again`)
  }
})

t.test('shares documents between replicas, and fetches once for concurrent requests', async (t) => {
  const { host, svc, clock, open } = await start(t)
  const other = await buildTestApp(t, { settings: openTo(), clock, database: svc.where })
  const client_id = host.serve('/client.json')
  await Promise.all(Array.from({ length: 8 }, () => open(client_id)))
  t.equal(host.callsTo('/client.json'), 1)
  t.equal(await openOn(other)(client_id), 'Sign in')
  t.equal(host.callsTo('/client.json'), 1, 'the other replica reads it from the database')
})

t.test('uses its copy for a day while the host is down', async (t) => {
  const { host, svc, open } = await start(t)
  const path = '/client.json'
  const client_id = host.serve(path)
  await open(client_id)
  travel(svc, hour)
  const failures = [500, 502, 503, 429]
  for (const status of failures) {
    host.answer(path, (_, response) => response.writeHead(status).end())
    t.equal(await open(client_id), 'Sign in', String(status))
    travel(svc, minute)
  }
  t.match(svc.logs.join(''), /Metadata document of https:.*client.json not renewed: status 503; svc uses its copy/)
  const calls = host.callsTo(path)
  t.equal(await open(client_id), 'Sign in')
  t.equal(await open(client_id), 'Sign in')
  t.equal(host.callsTo(path), calls + 1, 'svc tries again at most every minute')
  host.serve(path)
  travel(svc, minute)
  await open(client_id)
  host.stop()
  travel(svc, day - second)
  t.equal(await open(client_id), 'Sign in', 'after nearly a day')
  travel(svc, minute)
  t.equal(await open(client_id), 'Error', 'after a day')
  t.match(svc.logs.join(''), /Outbound call failed: .*ECONNREFUSED/)
})

t.test('forgets a client whose document was withdrawn or is no longer valid', async (t) => {
  const { host, svc, open } = await start(t)
  const path = '/client.json'
  const client_id = host.serve(path)
  await open(client_id)
  travel(svc, hour)
  host.answer(path, (_, response) => response.writeHead(404).end())
  t.equal(await open(client_id), 'Error')
  host.answer(path, (_, response) => response.writeHead(503).end())
  t.equal(await open(client_id), 'Error', 'also while the host is down')
  host.serve(path)
  t.equal(await open(client_id), 'Sign in', 'until it serves the document again')
})

t.test('never connects to a private address, also when the name of the host leads there', async (t) => {
  const host = await DocumentHost.start(t)
  const { outbound: _, ...settings } = openTo()
  const svc = await buildTestApp(t, { settings, clock: stopTime(t) })
  const open = async (client_id: string) =>
    (await new Person(svc, 'x@example.com').authorize(asks(client_id))).answer.body
  const names = ['localhost', '127.0.0.1', '[::1]', 'a.localhost', '[::ffff:7f00:1]', '169.254.169.254', '10.0.0.1']
  for (const name of names) {
    const body = await open(`https://${name}:${host.port}/client.json`)
    t.match(body, 'the metadata document of the client could not be fetched', name)
    t.notMatch(body, /not a public address|ECONN|ENOTFOUND/, 'the page tells nothing about the network')
  }
  t.equal(host.calls.length, 0)
  t.match(svc.logs.join(''), /Outbound call refused: 10\.0\.0\.1 is not a public address; see outbound\.allow_private"/)
})

t.test('limits new documents by address and by host', async (t) => {
  const { host, svc } = await start(t)
  const open = async (path: string, remoteAddress: string) => {
    const query = new URLSearchParams(asks(host.serve(path)))
    const answer = await svc.app.inject({ url: `/oauth/authorize?${query}`, remoteAddress })
    return answer.statusCode
  }
  for (let count = 0; count < 30; count++) t.equal(await open(`/a${count}`, '198.51.100.1'), 303)
  t.equal(await open('/a30', '198.51.100.1'), 429)
  t.equal(host.callsTo('/a30'), 0)
  t.equal(await open('/a0', '198.51.100.1'), 303, 'known clients still work')
  for (let count = 0; count < 30; count++) t.equal(await open(`/b${count}`, '198.51.100.2'), 303)
  t.equal(await open('/c', '198.51.100.3'), 400, 'another address, the same host')
  t.equal(host.callsTo('/c'), 0)
  travel(svc, hour)
  const calls = host.callsTo('/a0')
  t.equal(await open('/a0', '198.51.100.3'), 303)
  t.equal(host.callsTo('/a0'), calls + 1, 'a flood of new clients does not stop the renewal of known ones')
})

t.test('fetches an unknown document for authorizations only', async (t) => {
  const { host, svc } = await start(t)
  const client_id = host.serve('/client.json')
  const requests: [string, Record<string, string>][] = [
    ['/oauth/token', { grant_type: 'refresh_token', refresh_token: 'x' }],
    ['/oauth/token', { grant_type: 'client_credentials' }],
    ['/oauth/introspect', { token: 'x' }],
    ['/oauth/revoke', { token: 'x' }],
    ['/oauth/device/code', {}],
  ]
  for (const [path, fields] of requests) {
    const answer = await post(svc, path, { client_id, ...fields })
    t.match([answer.statusCode, answer.json().error], [401, 'invalid_client'], path)
  }
  const out = await svc.app.inject(`/oauth/logout?client_id=${encodeURIComponent(client_id)}`)
  t.equal(out.statusCode, 400)
  t.equal(host.calls.length, 0)
  const pushed = await post(svc, '/oauth/par', asks(client_id))
  t.equal(pushed.statusCode, 201, pushed.body)
  t.equal(host.calls.length, 1)
})

t.test('forgets documents that nobody uses', async (t) => {
  const { host, svc, open } = await start(t)
  const ada = new Person(svc, (await svc.createUser()).email)
  await ada.signIn()
  const [used, unused] = [host.serve('/used.json'), host.serve('/unused.json')]
  await open(unused)
  const { code = '' } = response(await ada.allow(asks(used)))
  const exchange = { grant_type: 'authorization_code', code, redirect_uri: loopback, code_verifier: verifier }
  t.equal((await post(svc, '/oauth/token', { ...exchange, client_id: used })).statusCode, 200)
  const ids = async () => {
    await pruneDocuments(svc.database, svc.clock.now())
    return (await svc.database.prisma.oauthClientDocument.findMany()).map(({ id }) => id).sort()
  }
  t.same(await ids(), [unused, used].sort())
  travel(svc, day + second)
  t.same(await ids(), [used])
  travel(svc, 90 * day)
  t.same(await ids(), [])
})
