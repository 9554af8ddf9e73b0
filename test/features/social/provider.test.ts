// engine: none
import { createServer } from 'node:net'
import t, { type Test } from 'tap'
import type { Answer } from '../../support/oidc-provider.ts'
import { freePort } from '../../support/process.ts'
import { stopTime, travel } from '../../support/time.ts'
import { buildSocial, failure, frontEnd, type Social, Visitor } from './visitor.ts'

const now = () => Math.floor(Date.now() / 1000)

/** A whole sign-in while the provider misbehaves, followed by a normal one. */
async function refused(t: Test, svc: Social, name: string, arrange: (svc: Social) => void, told = 'provider_error') {
  arrange(svc)
  const visitor = new Visitor(svc)
  const answer = await visitor.signIn('grace')
  t.equal(failure(answer), told, name)
  t.equal(await visitor.user(), null, name)
  svc.acme.instead.clear()
}

const answering = (path: string, more: Partial<Answer>) => (svc: Social) =>
  void svc.acme.instead.set(path, (answer) => ({ ...answer, ...more }))

const json = new Headers({ 'content-type': 'application/json' })
const html = new Headers({ 'content-type': 'text/html' })
const elsewhere = (url: string) => new Headers({ location: url })

t.test('rejects an ID token that is not for this sign-in', async (t) => {
  const svc = await buildSocial(t)
  const tokens = {
    'another nonce': (svc: Social) => svc.acme.changeIdToken((claims) => ({ ...claims, nonce: 'another' })),
    'no nonce': (svc: Social) => svc.acme.changeIdToken(({ nonce: _, ...claims }) => claims),
    'another audience': (svc: Social) => svc.acme.changeIdToken((claims) => ({ ...claims, aud: 'another' })),
    'another issuer': (svc: Social) => svc.acme.changeIdToken((claims) => ({ ...claims, iss: 'https://evil.example' })),
    'expired long ago': (svc: Social) =>
      svc.acme.changeIdToken((claims) => ({ ...claims, iat: now() - 7200, exp: now() - 3600 })),
    'no subject': (svc: Social) => svc.acme.changeIdToken(({ sub: _, ...claims }) => claims),
    'no expiry': (svc: Social) => svc.acme.changeIdToken(({ exp: _, ...claims }) => claims),
    'authorized for another party': (svc: Social) =>
      svc.acme.changeIdToken((claims) => ({ ...claims, aud: ['svc', 'other'], azp: 'other' })),
    'signed by another key': (svc: Social) => svc.acme.changeIdToken((claims) => claims, 'another key'),
    'not signed': (svc: Social) =>
      void svc.acme.instead.set('/token', (answer) => {
        const body = JSON.parse(String(answer.body))
        const [, claims] = body.id_token.split('.')
        const header = Buffer.from('{"alg":"none"}').toString('base64url')
        return { ...answer, body: JSON.stringify({ ...body, id_token: `${header}.${claims}.` }) }
      }),
    'not there': (svc: Social) =>
      void svc.acme.instead.set('/token', (answer) => {
        const { id_token: _, ...body } = JSON.parse(String(answer.body))
        return { ...answer, body: JSON.stringify(body) }
      }),
  }
  for (const [name, arrange] of Object.entries(tokens)) await refused(t, svc, name, arrange)
  t.equal(await svc.database.prisma.user.count(), 0)
  const grace = new Visitor(svc)
  t.equal((await grace.signIn('grace')).headers.location, `${frontEnd}/`, 'a valid one is accepted')
})

t.test('rejects the profile of another user', async (t) => {
  const svc = await buildSocial(t)
  const other = (svc: Social) =>
    svc.acme.changeUserinfo((claims) => ({ ...claims, sub: 'alan', email: 'alan@example.com' }))
  await refused(t, svc, 'another subject', other)
  await refused(t, svc, 'no subject', (svc) => svc.acme.changeUserinfo(({ sub: _, ...claims }) => claims))
  for (const odd of [[], null, 'text', 1, { sub: { toString: 'grace' } }, { sub: ['grace'] }]) {
    await refused(t, svc, JSON.stringify(odd), (svc) => svc.acme.changeUserinfo(() => odd))
  }
  t.equal(await svc.database.prisma.user.count(), 0)
})

t.test('reports errors, invalid responses and redirects of the endpoints', async (t) => {
  const svc = await buildSocial(t)
  const evil = await buildSocial(t)
  for (const path of ['/token', '/me']) {
    const answers: Record<string, Partial<Answer>> = {
      refusal: { status: 400, headers: json, body: '{"error":"invalid_grant"}' },
      failure: { status: 500, headers: html, body: 'Oops' },
      'not allowed': { status: 401, headers: json, body: '{"error":"invalid_client"}' },
      'a page': { headers: html, body: '<!doctype html>' },
      'broken JSON': { headers: json, body: '{"access_token":' },
      nothing: { status: 204, headers: json, body: '' },
      'a list': { headers: json, body: '[]' },
      'a redirect': { status: 302, headers: elsewhere(`${evil.acme.issuer}${path}`), body: '' },
      'a redirect that keeps the method': { status: 307, headers: elsewhere(`${evil.acme.issuer}${path}`), body: '' },
      'much too much': { headers: json, body: `{"access_token":"${'x'.repeat(2_000_000)}"}` },
    }
    for (const [name, answer] of Object.entries(answers))
      await refused(t, svc, `${path}: ${name}`, answering(path, answer))
  }
  t.same(evil.acme.calls, [], 'no redirect is followed')
  await refused(t, svc, 'no connection', (svc) =>
    svc.acme.instead.set('/token', () => {
      throw new Error('cut')
    }),
  )
  t.equal(await svc.database.prisma.user.count(), 0)
})

t.test('limits the wait for a slow provider, without effects on others', async (t) => {
  const svc = await buildSocial(t)
  const visitor = new Visitor(svc)
  const back = await visitor.allow(await visitor.begin(), 'grace')
  const never = new Promise<never>(() => undefined)
  svc.acme.instead.set('/token', () => never)
  const waiting = visitor.back(back)
  const smith = new Visitor(svc)
  const toForge = await smith.allow(await smith.begin('github'), 'wayland')
  svc.forge.instead.set('/user', (response) => {
    const drop = setInterval(() => response.write(' '), 200)
    response.once('close', () => clearInterval(drop))
  })
  const dripping = smith.back(toForge)
  for (let tries = 0; tries < 5; tries++) t.equal((await svc.app.inject('/health/live')).statusCode, 200)
  t.ok(await new Visitor(svc).begin('github'), 'other providers still work')
  t.equal(failure(await waiting), 'provider_error')
  t.equal(await visitor.user(), null)
  t.equal(failure(await dripping), 'provider_error', 'nor one that answers byte by byte')
})

t.test('discovers an issuer that was down at start once it is up', async (t) => {
  const svc = await buildSocial(t, { isDown: true })
  t.equal((await svc.app.inject('/health/ready')).statusCode, 200)
  const visitor = new Visitor(svc)
  const told = await visitor.open('/auth/acme/redirect')
  t.equal(failure(told), 'provider_error')
  const program = await visitor.browser.get('/auth/acme/redirect')
  t.equal(program.statusCode, 400)
  t.match(program.json(), { code: 'provider_error' })
  t.ok(await visitor.begin('github'), 'the other one works')
  svc.acme.calls.length = 0
  for (let times = 0; times < 20; times++) await visitor.open('/auth/acme/redirect')
  t.ok(svc.acme.calls.length <= 1, 'many requests meanwhile cause few calls')
  svc.acme.isUp = true
  svc.clock.advance(120_000)
  t.equal((await visitor.signIn('grace')).headers.location, `${frontEnd}/`)
})

t.test('validates the discovery document, and fetches it again', async (t) => {
  for (const change of [
    { issuer: 'https://evil.example' },
    { token_endpoint: undefined },
    { authorization_endpoint: 'javascript:alert(1)' },
  ]) {
    const svc = await buildSocial(t, { isDown: true })
    svc.acme.isUp = true
    svc.acme.instead.set('/.well-known/openid-configuration', (answer) => ({
      ...answer,
      body: JSON.stringify({ ...JSON.parse(String(answer.body)), ...change }),
    }))
    const visitor = new Visitor(svc)
    t.equal(failure(await visitor.open('/auth/acme/redirect')), 'provider_error', JSON.stringify(change))
    svc.acme.instead.clear()
    svc.clock.advance(120_000)
    t.equal((await visitor.signIn('grace')).headers.location, `${frontEnd}/`)
  }
})

t.test('calls private addresses only where that is allowed', async (t) => {
  let connections = 0
  const server = createServer((socket) => {
    connections++
    socket.destroy()
  })
  const port = await freePort()
  await new Promise<void>((done) => server.listen(port, '127.0.0.1', done))
  t.teardown(() => server.close())
  const secret = { client_id: 'svc', client_secret: 'a-secret' }
  for (const host of ['127.0.0.1', 'localhost', '2130706433']) {
    const home = { issuer: `https://${host}:${port}`, ...secret }
    const svc = await buildSocial(t, { settings: { app: { frontend_url: frontEnd }, social: { home } } })
    t.equal(failure(await new Visitor(svc).open('/auth/home/redirect')), 'provider_error', host)
    t.equal(connections, 0, host)
  }
  const home = { issuer: `https://127.0.0.1:${port}`, ...secret }
  for (const settings of [
    { social: { home: { ...home, allow_private_addresses: true } } },
    { social: { home }, outbound: { allow_private: ['127.0.0.0/8'] } },
  ]) {
    connections = 0
    const svc = await buildSocial(t, { settings: { app: { frontend_url: frontEnd }, ...settings } })
    t.equal(failure(await new Visitor(svc).open('/auth/home/redirect')), 'provider_error')
    t.ok(connections > 0, 'it is called')
  }
})

t.test('fetches the keys immediately for an unknown key, at most every 10 seconds', async (t) => {
  const clock = stopTime(t)
  const svc = await buildSocial(t, { clock })
  const signIn = async () => failure(await new Visitor(svc).signIn('grace'))
  const fetched = () => svc.acme.callsTo('/jwks').length
  t.equal(await signIn(), null)
  t.equal(await signIn(), null)
  t.equal(fetched(), 1, 'a known key needs no fetch')
  const publish = await svc.acme.rotateKey()
  travel(svc, 10_000)
  t.equal(await signIn(), 'provider_error', 'not published yet')
  t.equal(fetched(), 2, 'fetched at once')
  for (let times = 0; times < 5; times++) t.equal(await signIn(), 'provider_error')
  travel(svc, 9_999)
  t.equal(await signIn(), 'provider_error')
  t.equal(fetched(), 2, 'not again within 10 seconds')
  publish()
  travel(svc, 1)
  t.equal(await signIn(), null)
  t.equal(fetched(), 3)
})

t.test('generates different state, nonce and verifier values of 43 characters', async (t) => {
  const svc = await buildSocial(t)
  const visitor = new Visitor(svc)
  const seen = new Set<string>()
  for (let times = 0; times < 3; times++) {
    const there = await visitor.begin()
    for (const name of ['state', 'nonce']) {
      t.match(there.searchParams.get(name), /^[\w-]{43}$/, name)
      seen.add(there.searchParams.get(name) ?? '')
    }
    await visitor.back(await visitor.allow(there, 'grace'))
  }
  for (const { form } of svc.acme.callsTo('/token')) {
    t.match(form.get('code_verifier'), /^[\w-]{43}$/)
    seen.add(form.get('code_verifier') ?? '')
  }
  t.equal(seen.size, 9)
})
