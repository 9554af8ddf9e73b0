// engine: none
import t from 'tap'
import { app, signedIn, xsrfOf } from './sessions.ts'
import { api, buildGuarded, navigation } from './setup.ts'

const rules = [{ hosts: ['api.example.com'] }]
const fromApp = { origin: app, referer: `${app}/`, 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'cors' }

t.test('accepts a session from a stateful origin, a navigation, or the pages of the host itself', async (t) => {
  const svc = await buildGuarded(t, rules)
  const user = await svc.createUser()
  const cookie = await signedIn(svc, user.email)
  const statusOf = async (headers: Record<string, string>, method = 'GET') =>
    (await svc.ask({ method, headers: { cookie, ...headers } })).statusCode
  t.equal(await statusOf(fromApp), 200, 'a stateful origin')
  t.equal(await statusOf(navigation), 200, 'a navigation')
  t.equal(await statusOf(navigation, 'HEAD'), 200)
  t.equal(await statusOf({ accept: 'text/html' }), 200, 'a navigation of an old browser')
  t.equal(await statusOf({ 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'cors' }), 200, 'its own page')
  t.equal(await statusOf({ origin: api }), 200, 'its own page in an old browser')
  const answer = await svc.ask({ headers: { cookie, ...fromApp } })
  t.match(answer.headers, { 'remote-user': String(user.id), 'svc-abilities': '*', 'svc-credential': /^session [\w-]+/ })
  t.notHas(answer.headers, { 'set-cookie': '' })
})

t.test('ignores a session in every other request', async (t) => {
  const svc = await buildGuarded(t, rules)
  const cookie = await signedIn(svc, (await svc.createUser()).email)
  const evil = 'https://evil.example'
  const requests: Record<string, Record<string, string>> = {
    'a program with a stolen cookie': {},
    'a fetch from another site': { origin: evil, 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'cors' },
    'an image on another site': {
      'sec-fetch-site': 'cross-site',
      'sec-fetch-mode': 'no-cors',
      'sec-fetch-dest': 'image',
    },
    'a frame on another site': { ...navigation, 'sec-fetch-site': 'cross-site', 'sec-fetch-dest': 'iframe' },
    'a script on a sibling': { 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'script' },
    'an opaque origin': { origin: 'null' },
    'an origin in an old browser': { origin: evil, accept: 'text/html' },
  }
  for (const [name, headers] of Object.entries(requests))
    t.equal((await svc.ask({ headers: { cookie, ...headers } })).statusCode, 401, name)
})

t.test('requires the CSRF token for unsafe methods', async (t) => {
  const svc = await buildGuarded(t, rules)
  const cookie = await signedIn(svc, (await svc.createUser()).email)
  const statusOf = async (headers: Record<string, string>, method = 'POST') =>
    (await svc.ask({ method, headers: { cookie, ...headers } })).statusCode
  const xsrf = { 'x-xsrf-token': xsrfOf(cookie) }
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'PROPFIND']) {
    t.equal(await statusOf(fromApp, method), 419, method)
    t.equal(await statusOf({ ...fromApp, ...xsrf }, method), 200, method)
  }
  t.equal(await statusOf({ ...fromApp, 'x-xsrf-token': 'wrong' }), 419)
  t.equal(await statusOf({ origin: api, 'sec-fetch-site': 'same-origin' }), 200, 'a page of the host itself')
  t.equal(await statusOf({ origin: 'https://evil.example', ...xsrf }), 401)
  t.equal(await statusOf(navigation), 401, 'a form that another site posts')
  t.equal(await statusOf({ ...fromApp, 'x-http-method-override': 'DELETE' }, 'GET'), 419, 'an overridden GET')
})

t.test('accepts a WebSocket only from a stateful origin or the host itself', async (t) => {
  const svc = await buildGuarded(t, rules)
  const cookie = await signedIn(svc, (await svc.createUser()).email)
  const upgrade = { connection: 'upgrade', upgrade: 'websocket', 'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==' }
  const statusOf = async (headers: Record<string, string>, url = 'wss://api.example.com/live') =>
    (await svc.ask({ url, headers: { cookie, ...headers } })).statusCode
  t.equal(await statusOf({ ...upgrade, origin: app }), 200)
  t.equal(await statusOf({ ...upgrade, origin: api }), 200)
  t.equal(await statusOf({ ...upgrade, origin: 'https://evil.example' }), 401)
  t.equal(await statusOf(upgrade), 401)
  t.equal(await statusOf({ ...upgrade, ...navigation }), 401)
  t.equal(await statusOf({ 'sec-websocket-key': 'x', 'sec-fetch-site': 'same-origin' }), 401, 'without Upgrade')
})

t.test('prefers the session of a stateful page, and accepts a token beside an ignored session', async (t) => {
  const svc = await buildGuarded(t, rules)
  const user = await svc.createUser()
  const cookie = await signedIn(svc, user.email)
  const authorization = `Bearer ${await svc.createToken(user)}`
  const kindOf = async (headers: Record<string, string>) =>
    (await svc.ask({ headers: { cookie, authorization, ...headers } })).headers['svc-credential']
  t.match(await kindOf(fromApp), /^session /)
  t.match(await kindOf({}), /^token /)
})

t.test('accepts no session where stateful_api is off, or of a disabled user', async (t) => {
  const off = await buildGuarded(t, rules, { stateful_api: false })
  const cookie = await signedIn(off, (await off.createUser()).email)
  t.equal((await off.ask({ headers: { cookie, ...fromApp } })).statusCode, 401)
  const svc = await buildGuarded(t, rules)
  const { id, email } = await svc.createUser()
  const own = await signedIn(svc, email)
  await svc.database.prisma.user.update({ where: { id: BigInt(id) }, data: { disabledAt: new Date() } })
  t.equal((await svc.ask({ headers: { cookie: own, ...fromApp } })).statusCode, 401)
})
