import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createLocalJWKSet, jwtVerify } from 'jose'
import t, { type Test } from 'tap'
import { recordEvents, systemOrigin } from '../../../src/identity/events.ts'
import { adminCall, adminSettings, robot, robotToken } from '../../support/admin.ts'
import { buildTestApp, type TestApp } from '../../support/app.ts'
import { token } from '../../support/oauth.ts'
import { enableTwoFactor } from '../../support/totp.ts'
import { until } from '../../support/until.ts'

/** A client that may read streams. */
const clientOf = (client_id: string) => ({ ...robot, client_id, grants: [...robot.grants], scopes: ['svc:signals'] })
const issuer = 'http://localhost:8000'
const audience = 'https://crm.example'
const caep = 'https://schemas.openid.net/secevent/caep/event-type'
const verification = 'https://schemas.openid.net/secevent/ssf/event-type/verification'
const risc = 'https://schemas.openid.net/secevent/risc/event-type'

/** An app with streams, and how its clients call it. */
async function openStreams(t: Test, streams: object, settings: object = {}) {
  const clients = [...adminSettings.clients, clientOf('crm'), clientOf('erp')]
  const svc = await buildTestApp(t, {
    settings: { ...adminSettings, clients, shared_signals: { streams }, ...settings },
  })
  const bearerOf = async (id: string) =>
    (await token(svc, id, { grant_type: 'client_credentials', scope: 'svc:signals' })).json().access_token
  const bearer = await bearerOf('crm')
  const poll = async (body: object = {}, given = bearer, path = '/ssf/poll/crm') =>
    svc.bearer(given, 'POST', path, { returnImmediately: true, ...body })
  const admin = adminCall(svc, await robotToken(svc))
  return { svc, bearer, bearerOf, poll, admin }
}

/** Verifies a token as a receiver does, with the published keys. */
async function claimsOf(svc: TestApp, set: string) {
  const keys = createLocalJWKSet((await svc.app.inject('/.well-known/jwks.json')).json())
  const { payload } = await jwtVerify(set, keys, { issuer, audience, typ: 'secevent+jwt', algorithms: ['RS256'] })
  return payload
}

const polled = { crm: { audience, client_id: 'crm' } }

t.test('lets a receiver poll signed tokens until it acknowledges them', async (t) => {
  const { svc, poll, admin } = await openStreams(t, polled)
  const ada = await svc.createUser({ email: 'ada@example.com' })
  t.equal((await admin('PATCH', `/users/${ada.id}`, { disabled: true })).statusCode, 200)
  const first = (await poll()).json()
  t.equal(first.moreAvailable, false)
  const sets = Object.entries<string>(first.sets)
  t.equal(sets.length, 2)
  const [disabled, revoked] = await Promise.all(sets.map(([, set]) => claimsOf(svc, set)))
  t.match(disabled, { sub_id: { format: 'iss_sub', iss: issuer, sub: String(ada.id) } })
  t.same(disabled?.events, { [`${risc}/account-disabled`]: {} })
  t.match(revoked?.events, { [`${caep}/session-revoked`]: { initiating_entity: 'admin', event_timestamp: Number } })
  t.notOk(disabled?.sub, 'the subject is not that of an access token (RFC 8417 section 4.1)')
  t.notOk(disabled?.exp)
  t.same(
    sets.map(([jti]) => jti),
    [disabled?.jti, revoked?.jti],
  )
  t.same(Object.keys((await poll()).json().sets), [disabled?.jti, revoked?.jti], 'again until they are acknowledged')
  const one = (await poll({ maxEvents: 1, ack: [disabled?.jti] })).json()
  t.same(Object.keys(one.sets), [revoked?.jti])
  const rest = await poll({ setErrs: { [String(revoked?.jti)]: { err: 'jws', description: 'no key' } } })
  t.same(rest.json(), { sets: {}, moreAvailable: false })
  t.ok(svc.logs.some((line) => line.includes('signal rejected')))
  t.same((await poll({ ack: [disabled?.jti, 'x', '1.x', `${'9'.repeat(30)}.x`] })).json().sets, {})
})

t.test('says what happened to credentials and accounts', async (t) => {
  const { svc, poll, admin } = await openStreams(t, polled)
  const ada = await svc.createUser({ email: 'ada@example.com' })
  const browser = svc.browser()
  await browser.signIn(ada.email)
  const body = { current_password: 'correct horse', password: 'violet engine on the hill' }
  const changed = await browser.put('/user/password', { ...body, password_confirmation: body.password })
  t.equal(changed.statusCode, 200, changed.body)
  await admin('POST', `/users/${ada.id}/logout`, {})
  await admin('PATCH', `/users/${ada.id}`, { disabled: true })
  await admin('PATCH', `/users/${ada.id}`, { disabled: false })
  await admin('DELETE', `/users/${ada.id}`)
  const { sets } = (await poll()).json()
  const events = await Promise.all(Object.values<string>(sets).map(async (set) => (await claimsOf(svc, set)).events))
  const seen = events.map((event) => JSON.stringify(event).replace(/"event_timestamp":\d+,/, ''))
  const cause = (who: string) => `"initiating_entity":"${who}"`
  t.same(seen, [
    `{"${caep}/credential-change":{${cause('user')},"credential_type":"password","change_type":"update"}}`,
    `{"${caep}/session-revoked":{${cause('user')}}}`,
    `{"${caep}/session-revoked":{${cause('admin')}}}`,
    `{"${risc}/account-disabled":{}}`,
    `{"${caep}/session-revoked":{${cause('admin')}}}`,
    `{"${risc}/account-enabled":{}}`,
    `{"${risc}/account-purged":{}}`,
    `{"${caep}/session-revoked":{${cause('admin')}}}`,
  ])
})

t.test('tells receivers when an account returns to its owner, or a second factor changes', async (t) => {
  const { svc, poll, admin } = await openStreams(t, polled)
  const ada = await enableTwoFactor(svc, await svc.createUser({ email: 'ada@example.com' }))
  t.equal((await admin('PATCH', `/users/${ada.user.id}`, { reset_two_factor: true })).statusCode, 200)
  const origin = systemOrigin({ now: svc.clock.now(), subscriber: svc.app.subscriber })
  await recordEvents(svc.database, origin, { type: 'account_claimed', userId: ada.user.id })
  await recordEvents(svc.database, origin, { type: 'email_change_undone', userId: ada.user.id })
  const sets = Object.values<string>((await poll()).json().sets)
  const all = await Promise.all(sets.map(async (set) => claimsOf(svc, set)))
  const names = all.map(({ events }) =>
    String(Object.keys(events as object)[0])
      .split('/')
      .at(-1),
  )
  const [changed, ended] = ['credential-change', 'session-revoked']
  t.same(names, [changed, ended, changed, changed, ended, changed, ended])
  t.ok(all.every(({ toe }) => typeof toe === 'number'))
})

t.test('names users by their address where the stream does, and leaves out other signals', async (t) => {
  const stream = { ...polled.crm, subject: 'email', events: ['account-disabled', 'account-purged'] }
  const { svc, poll, admin } = await openStreams(t, { crm: stream })
  const ada = await svc.createUser({ email: 'ada@example.com' })
  await admin('PATCH', `/users/${ada.id}`, { disabled: true })
  const { sets } = (await poll()).json()
  const subjects = await Promise.all(Object.values<string>(sets).map(async (set) => (await claimsOf(svc, set)).sub_id))
  t.same(subjects, [{ format: 'email', email: 'ada@example.com' }])
  await admin('DELETE', `/users/${ada.id}`)
  const later = Object.values<string>((await poll()).json().sets)
  t.match((await claimsOf(svc, String(later[1]))).sub_id, { format: 'iss_sub', sub: String(ada.id) })
  t.notMatch(Buffer.from(later[0]?.split('.')[1] ?? '', 'base64url').toString(), 'ada@', 'a deleted address is gone')
})

t.test('pushes tokens, and tries again unless the receiver rejects them', async (t) => {
  const received: { headers: object; body: string }[] = []
  let status = 503
  let code = ''
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const part of request) body += part
    received.push({ headers: request.headers, body })
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(status === 400 ? JSON.stringify({ err: code }) : '')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/signals`
  const push = { url, authorization: 'Bearer of-the-receiver' }
  const streams = { crm: { audience, push, events: ['account-disabled', 'account-enabled'] } }
  const { svc, admin } = await openStreams(t, streams, { outbound: { allow_private: ['127.0.0.1/32'] } })
  const ada = await svc.createUser({ email: 'ada@example.com' })
  await admin('PATCH', `/users/${ada.id}`, { disabled: true })
  await svc.app.outbox.deliverDue()
  t.equal(received.length, 1)
  t.match(received[0]?.headers, {
    'content-type': 'application/secevent+jwt',
    accept: 'application/json',
    authorization: 'Bearer of-the-receiver',
  })
  status = 202
  svc.clock.advance(60_000)
  await svc.app.outbox.deliverDue()
  const [first, second] = await Promise.all(received.map(({ body }) => claimsOf(svc, body)))
  t.equal(first?.jti, second?.jti, 'the id stays the same')
  status = 400
  code = 'invalid_key'
  await admin('PATCH', `/users/${ada.id}`, { disabled: false })
  await svc.app.outbox.deliverDue()
  code = 'invalid_audience'
  svc.clock.advance(60_000)
  await svc.app.outbox.deliverDue()
  svc.clock.advance(3_600_000)
  await svc.app.outbox.deliverDue()
  t.equal(received.length, 4, 'a rejected token is not sent again, except where the receiver may learn the key')
  const [failed] = await svc.database.prisma.outbox.findMany({ where: { kind: 'signals:crm' } })
  t.equal(failed?.lastError, 'The receiver answered 400 invalid_audience.')
})

t.test('describes itself, and verifies a stream on request', async (t) => {
  const { svc, bearer, poll } = await openStreams(t, polled)
  t.match((await svc.app.inject('/.well-known/ssf-configuration')).json(), {
    issuer,
    jwks_uri: `${issuer}/.well-known/jwks.json`,
    configuration_endpoint: `${issuer}/ssf/stream`,
  })
  const [stream] = (await svc.bearer(bearer, 'GET', '/ssf/stream')).json()
  t.match(stream, {
    stream_id: 'crm',
    iss: issuer,
    aud: audience,
    delivery: { endpoint_url: `${issuer}/ssf/poll/crm` },
  })
  t.same((await svc.bearer(bearer, 'GET', '/ssf/stream?stream_id=crm')).json(), stream)
  t.same((await svc.bearer(bearer, 'GET', '/ssf/status?stream_id=crm')).json(), { stream_id: 'crm', status: 'enabled' })
  for (const state of ['first', 'second']) {
    const asked = await svc.bearer(bearer, 'POST', '/ssf/verify', { stream_id: 'crm', state })
    t.equal(asked.statusCode, 204)
  }
  const sets = Object.values<string>((await poll()).json().sets)
  t.equal(sets.length, 1, 'the later request replaces the earlier one')
  const claims = await claimsOf(svc, String(sets[0]))
  t.same(claims.sub_id, { format: 'opaque', id: 'crm' })
  t.same(claims.events, { [verification]: { state: 'second' } })
})

t.test('keeps a verification that the receiver has not seen, and what it cannot decrypt', async (t) => {
  const { svc, bearer, poll } = await openStreams(t, polled)
  const verify = (state: string) => svc.bearer(bearer, 'POST', '/ssf/verify', { stream_id: 'crm', state })
  await verify('replaced')
  await poll({ maxEvents: 0 })
  await verify('first')
  t.equal(await svc.database.prisma.outbox.count({ where: { kind: 'signals:crm' } }), 1)
  const [first = ''] = Object.keys((await poll()).json().sets)
  await verify('second')
  const [set = ''] = Object.values<string>((await poll({ ack: [first] })).json().sets)
  t.match((await claimsOf(svc, set)).events, { [verification]: { state: 'second' } })
  await svc.database.prisma.outbox.updateMany({ data: { payload: 'v1.of-another-secret' } })
  t.same((await poll()).json().sets, {})
  t.equal(await svc.database.prisma.outbox.count({ where: { kind: 'signals:crm' } }), 1)
  t.ok(svc.logs.some((line) => line.includes('cannot be decrypted')))
})

t.test('stops waiting when the receiver leaves', async (t) => {
  const { svc, bearer } = await openStreams(t, polled)
  const url = await svc.app.listen({ port: 0, host: '127.0.0.1' })
  const headers = { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' }
  const gone = new AbortController()
  const first = fetch(`${url}/ssf/poll/crm`, { method: 'POST', headers, body: '{}', signal: gone.signal })
  await until(() => svc.logs.some((line) => line.includes('signals wait')))
  gone.abort()
  await t.rejects(first)
  await until(() => svc.logs.some((line) => line.includes('signals no longer wait')))
})

t.test('shows a stream only to its client', async (t) => {
  const { svc, bearerOf, poll } = await openStreams(t, polled)
  const foreign = await bearerOf('erp')
  t.same((await svc.bearer(foreign, 'GET', '/ssf/stream')).json(), [])
  for (const path of ['/ssf/stream?stream_id=crm', '/ssf/status?stream_id=crm', '/ssf/status']) {
    t.equal((await svc.bearer(foreign, 'GET', path)).statusCode, 404, path)
  }
  t.equal((await poll({}, foreign)).statusCode, 404)
  t.equal((await poll({}, await robotToken(svc))).statusCode, 403, 'the scope of the admin API is not enough')
  t.equal((await svc.app.inject({ method: 'POST', url: '/ssf/poll/crm' })).statusCode, 401)
  const admin = await svc.createUser({ role: 'admin', email: 'boss@example.com' })
  const browser = svc.browser()
  await browser.signIn(admin.email)
  t.equal((await browser.get('/ssf/stream')).statusCode, 403)
})

t.test('answers bad requests with 422, and 404 without streams', async (t) => {
  const { svc, poll, bearer } = await openStreams(t, polled)
  for (const body of [
    { maxEvents: -1 },
    { maxEvents: 'many' },
    { ack: 'x' },
    { ack: [7] },
    { setErrs: [] },
    { returnImmediately: 'yes' },
  ]) {
    t.equal((await poll(body)).statusCode, 422, JSON.stringify(body))
  }
  t.equal((await svc.bearer(bearer, 'POST', '/ssf/verify', {})).statusCode, 422)
  t.equal((await poll({}, bearer, '/ssf/poll/%00')).statusCode, 404)
  const none = await buildTestApp(t)
  t.equal((await none.app.inject('/.well-known/ssf-configuration')).statusCode, 404)
})

t.test('deletes signals that nobody polls for a week', async (t) => {
  const { svc, admin } = await openStreams(t, polled)
  const ada = await svc.createUser({ email: 'ada@example.com' })
  await admin('PATCH', `/users/${ada.id}`, { disabled: true })
  const feature = svc.app.features.find(({ eventSubscriber, routes }) => eventSubscriber && routes)
  await feature?.prune?.(svc.database, svc.clock.now() + 6 * 86_400_000)
  t.equal(await svc.database.prisma.outbox.count({ where: { kind: 'signals:crm' } }), 2)
  await feature?.prune?.(svc.database, svc.clock.now() + 8 * 86_400_000)
  t.equal(await svc.database.prisma.outbox.count({ where: { kind: 'signals:crm' } }), 0)
})

t.test('waits for a signal unless the receiver wants an answer at once', async (t) => {
  const { svc, poll, admin } = await openStreams(t, polled)
  const ada = await svc.createUser({ email: 'ada@example.com' })
  const both = [poll({ returnImmediately: false }), poll({ returnImmediately: false })]
  t.same((await Promise.race(both)).json().sets, {}, 'one request waits for each stream')
  await admin('PATCH', `/users/${ada.id}`, { disabled: true })
  const found = (await Promise.all(both)).flatMap((answer) => Object.keys(answer.json().sets))
  t.equal(found.length, 2)
})
