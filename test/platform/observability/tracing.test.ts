// engine: none
import { randomBytes } from 'node:crypto'
import { Agent, request } from 'node:http'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import t, { type Test } from 'tap'
import { buildSocial, Visitor } from '../../features/social/visitor.ts'
import { buildTestApp, type TestAppOptions } from '../../support/app.ts'
import { Collector } from '../../support/collector.ts'
import { listen } from '../../support/oidc-provider.ts'
import { freePort } from '../../support/process.ts'

// This test hashes passwords.
const [server, client] = [2, 3]
const failed = 2

/** svc that sends traces; `collected` ends it, which sends the remaining ones. */
async function traced(t: Test, options: TestAppOptions = {}) {
  const collector = await Collector.start(t)
  process.env.OTEL_EXPORTER_OTLP_ENDPOINT = collector.url
  const svc = await buildTestApp(t, {
    ...options,
    settings: { log: { probes: true }, ...options.settings },
    traces: true,
  })
  const collected = async () => {
    await svc.app.close()
    return collector
  }
  return { ...svc, collected }
}

const sentTrace = () => randomBytes(16).toString('hex')
const sentBy = (trace: string, flags = '01') => `00-${trace}-b7ad6b7169203331-${flags}`

/** Posts a body after its head was processed, so that the connection, rather than the request, triggers the read. */
const postLate = (agent: Agent, url: string, headers: Record<string, string>, body: object) =>
  new Promise<number | undefined>((resolve, reject) => {
    const all = { ...headers, 'content-type': 'application/json', expect: '100-continue' }
    const sent = request(url, { method: 'POST', headers: all, agent })
    sent.once('error', reject)
    sent.once('continue', () => sent.end(JSON.stringify(body)))
    sent.once('response', (answer) => resolve(answer.resume().statusCode))
    sent.flushHeaders()
  })

const accessLines = (logs: readonly string[]) =>
  logs.map((line) => JSON.parse(line)).filter(({ msg }) => msg === 'request')

t.test("continues the caller's trace with a span for the request, and spans for what it waits for", async (t) => {
  const svc = await traced(t)
  const user = await svc.createUser()
  const token = await svc.createToken(user)
  const trace = sentTrace()
  const headers = { traceparent: sentBy(trace), tracestate: 'a=b', baggage: 'user=ada' }
  await svc.app.inject({ url: '/api/user', headers: { ...headers, authorization: `Bearer ${token}` } })
  const login = sentTrace()
  const url = await svc.app.listen({ port: 0, host: '127.0.0.1' })
  const device = { email: user.email, password: 'correct horse', device_name: 'Phone' }
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  t.equal(await postLate(agent, `${url}/svc/token`, { traceparent: sentBy(login) }, device), 200)
  // The next request on the connection.
  t.equal(await postLate(agent, `${url}/svc/token`, {}, device), 200)
  agent.destroy()
  await svc.app.inject('/health/live')
  const lines = accessLines(svc.logs)
  const { spans } = await svc.collected()

  const read = spans.find((span) => span.name === 'GET /api/user')
  t.match(read, { traceId: trace, parentSpanId: 'b7ad6b7169203331', kind: server })
  t.match(read?.attributes, {
    'http.route': '/api/user',
    'http.request.method': 'GET',
    'http.response.status_code': 200,
  })
  t.equal(read?.attributes['url.path'], '/api/user')
  t.match(read?.resource, { 'service.name': 'svc', 'service.version': /^\d/ })
  const lookup = spans.find((span) => span.name === 'lookup token-by-id')
  t.match(lookup, { traceId: trace, parentSpanId: read?.spanId })
  const [hashing, nextHashing] = spans.filter((span) => span.name === 'password hashing')
  const [signIn, next] = spans.filter((span) => span.name === 'POST /svc/token')
  t.match(hashing, { traceId: login, parentSpanId: signIn?.spanId }, 'also after a body was read')
  t.match(nextHashing, { traceId: next?.traceId, parentSpanId: next?.spanId })
  t.ok(next && ![trace, login].includes(next.traceId) && !next.parentSpanId, 'the connection keeps no state')
  const own = spans.find((span) => span.name === 'GET /health/live')
  t.ok(own && ![trace, login].includes(own.traceId) && !own.parentSpanId, 'without a caller it starts a trace')
  t.same(
    lines.map(({ trace_id }) => trace_id),
    [trace, login, next?.traceId, own?.traceId],
    'the access log names it',
  )
})

t.test('keeps request data out of spans, and marks only internal errors as errors', async (t) => {
  const svc = await traced(t, { settings: { test_page: true } })
  const token = await svc.createToken(await svc.createUser())
  const [hidden, password] = ['a-secret-of-the-user-0123456789', 'a Password that is nowhere else']
  const json = { 'content-type': 'application/json' }
  await svc.bearer(hidden, 'GET', `/api/user?code=${hidden}&state=${hidden}`)
  await svc.app.inject(`/test-user?token=${encodeURIComponent(token)}`)
  await svc.bearer(token, 'DELETE', `/api/tokens/${hidden}`)
  await svc.app.inject(`/reset-password/${hidden}?email=${hidden}`)
  await svc.app.inject(`/nowhere/${hidden}`)
  await svc.app.inject(`/oauth/authorize?client_id=${hidden}&redirect_uri=http://${hidden}&state=${hidden}`)
  await svc.app.inject(`/auth/acme/callback?code=${hidden}&state=${hidden}`)
  await svc.app.inject({ method: 'POST', url: '/login', headers: json, payload: `{"password":"${password}` })
  await svc.app.inject({ method: 'POST', url: '/svc/token', payload: { email: hidden, password, device_name: hidden } })
  await svc.database.prisma.$executeRawUnsafe('ALTER TABLE personal_access_tokens RENAME TO away')
  t.equal((await svc.bearer(token, 'GET', '/api/user')).statusCode, 503)
  await svc.database.prisma.$executeRawUnsafe('ALTER TABLE away RENAME TO personal_access_tokens')
  const { spans, text } = await svc.collected()

  for (const secret of [hidden, password, token, token.split('|')[1] ?? '']) {
    for (const form of [secret, encodeURIComponent(secret)]) t.notOk(text.includes(form), 'nothing of the request')
  }
  t.notMatch(text, /url\.full|url\.query|exception/)
  const requests = spans.filter(({ kind }) => kind === server)
  t.equal(requests.length, 10)
  for (const { name, attributes, status } of requests) {
    const isFault = Number(attributes['http.response.status_code']) >= 500
    t.equal(status.code === failed, isFault, `${name} ${attributes['http.response.status_code']}`)
    t.equal(status.message, undefined)
  }
  t.equal(requests.filter(({ status }) => status.code === failed).length, 1)
  t.ok(spans.some(({ name, status }) => name === 'lookup token-by-id' && status.code === failed))
})

t.test('continues the trace in a call to a client', async (t) => {
  const port = await freePort()
  const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true })
  const key = { ...(await exportJWK(publicKey)), alg: 'ES256', kid: 'one', use: 'sig' }
  const asked: (string | undefined)[][] = []
  await listen(t, port, ({ headers }, response) => {
    asked.push([headers.traceparent, headers.tracestate, headers.baggage].map(String))
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ keys: [key] }))
  })
  const robot = {
    client_id: 'robot',
    type: 'confidential',
    grants: ['client_credentials'],
    token_endpoint_auth_method: 'private_key_jwt',
    jwks_uri: `http://127.0.0.1:${port}/keys?of=robot`,
    allow_private_addresses: true,
  }
  const svc = await traced(t, { settings: { clients: [robot] } })
  const assertion = await new SignJWT({ jti: 'x' })
    .setProtectedHeader({ alg: 'ES256', kid: 'one' })
    .setIssuer('robot')
    .setSubject('robot')
    .setAudience('http://localhost:8000')
    .setIssuedAt()
    .setExpirationTime('1m')
    .sign(privateKey)
  const trace = sentTrace()
  const answer = await svc.app.inject({
    method: 'POST',
    url: '/oauth/token',
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      traceparent: sentBy(trace),
      tracestate: 'a=b',
      baggage: 'user=ada',
    },
    payload: new URLSearchParams({
      grant_type: 'client_credentials',
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion: assertion,
    }).toString(),
  })
  t.equal(answer.statusCode, 200, answer.body)
  const { spans, text } = await svc.collected()
  const call = spans.find(({ kind }) => kind === client)
  t.match(call, { name: 'GET', traceId: trace })
  t.match(call?.attributes, { 'server.address': '127.0.0.1', 'server.port': port, 'http.response.status_code': 200 })
  t.same(asked, [[`00-${trace}-${call?.spanId}-01`, 'a=b', 'undefined']], 'but does not forward baggage')
  t.notMatch(text, /of=robot/)
})

t.test('makes a span for a call to a foreign provider, without sending the trace', async (t) => {
  const collector = await Collector.start(t)
  process.env.OTEL_EXPORTER_OTLP_ENDPOINT = collector.url
  const svc = await buildSocial(t, { traces: true })
  t.equal((await new Visitor(svc).signIn('grace')).statusCode, 302)
  await svc.app.close()
  t.ok(svc.acme.calls.length >= 2)
  for (const { path, headers } of svc.acme.calls) t.equal(headers.traceparent, undefined, path)
  const back = collector.spans.find(({ name }) => name === 'GET /auth/:provider/callback')
  const calls = collector.spans.filter(({ kind, traceId }) => kind === client && traceId === back?.traceId)
  t.ok(calls.length >= 1)
  for (const { attributes } of calls) t.equal(attributes['server.port'], Number(new URL(svc.acme.issuer).port))
})

t.test('logs the trace of a caller without a collector', async (t) => {
  const svc = await buildTestApp(t, { settings: { log: { probes: true } } })
  t.equal(svc.app.tracing, null)
  const trace = sentTrace()
  const bad = [
    `00-${trace}-b7ad6b7169203331`,
    `00-${'0'.repeat(32)}-b7ad6b7169203331-01`,
    `00-${trace}-${'0'.repeat(16)}-01`,
    `ff-${trace}-b7ad6b7169203331-01`,
    `00-${trace.toUpperCase().replace(/\d/, 'A')}-b7ad6b7169203331-01`,
    `${sentBy(trace)}-more`,
    `00-${trace.slice(1)}"-b7ad6b7169203331-01`,
  ]
  for (const traceparent of [sentBy(trace), `01-${trace}-b7ad6b7169203331-01-more`, ...bad]) {
    await svc.app.inject({ url: '/health/live', headers: { traceparent } })
  }
  const named = accessLines(svc.logs).map(({ trace_id }) => trace_id)
  t.same(named, [trace, trace, ...bad.map(() => undefined)])
})
