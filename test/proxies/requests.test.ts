// engine: none
import { Cookie, CookieJar } from 'tough-cookie'
import { signedIn, xsrfOf } from '../features/forward-auth/sessions.ts'
import { navigation } from '../features/forward-auth/setup.ts'
import { sendHttp2 } from './client.ts'
import { eachProxy, type World } from './world.ts'

const browser = Object.entries(navigation).map(([name, value]) => `${name}: ${value}`)
const fromApp = ['Origin: https://app.example.com', 'Sec-Fetch-Site: same-site', 'Sec-Fetch-Mode: cors']
const upgrade = ['Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==']
const webSocket = [...upgrade, 'Sec-WebSocket-Version: 13']

async function signIn({ svc }: World) {
  const user = await svc.createUser()
  const cookies = await signedIn(svc, user.email)
  return { user, cookie: `Cookie: ${cookies}`, xsrf: `X-XSRF-TOKEN: ${xsrfOf(cookies)}` }
}

const bearer = async ({ svc }: World, abilities: string[]): Promise<string> =>
  `Authorization: Bearer ${await svc.createToken(await svc.createUser(), { abilities })}`

eachProxy('passes a public request', async (t, { send }, port) => {
  const answer = await send(port, { target: '/public/x?y=1' })
  t.equal(answer.status, 200)
  t.equal(answer.body, 'from the service')
  t.match(answer.received, { method: 'GET', url: '/public/x?y=1' })
})

eachProxy('answers a program with 401', async (t, { send }, port) => {
  for (const headers of [[], ['Accept: application/json'], ['Authorization: Bearer wrong', ...browser]]) {
    const answer = await send(port, { headers })
    t.equal(answer.status, 401)
    t.match(JSON.parse(answer.body), { code: 'unauthenticated', message: 'Unauthenticated.' })
    t.match(answer.headers['www-authenticate'], /^Bearer( error="invalid_token")?$/)
    t.equal(answer.received, null)
  }
})

eachProxy('sends a browser to the sign-in page, and back to the page', async (t, world, port) => {
  const { send, svc } = world
  const { email } = await svc.createUser()
  const jar = new CookieJar()
  const visit = async (url: string, body?: string) => {
    const { origin, host, pathname, search } = new URL(url)
    const cookie = await jar.getCookieString(url)
    const form = ['Content-Type: application/x-www-form-urlencoded', `Origin: ${origin}`, 'Sec-Fetch-Site: same-origin']
    const headers = [...browser.filter((line) => !/site/.test(line)), ...(body === undefined ? [] : form)]
    const method = body === undefined ? 'GET' : 'POST'
    if (cookie) headers.push(`Cookie: ${cookie}`)
    const answer = await send(port, { method, host, target: pathname + search, headers, body: body ?? '' })
    for (const line of answer.headers['set-cookie']?.split('\n') ?? []) {
      const set = Cookie.parse(line)
      if (set) await jar.setCookie(set, url)
    }
    return answer
  }
  const page = 'https://api.example.com/network?a=b'
  const refused = await visit(page)
  t.equal(refused.status, 302)
  t.equal(refused.received, null)
  const signInPage = refused.headers.location ?? ''
  t.equal(signInPage, `https://auth.example.com/oauth/login?return_to=${encodeURIComponent(page)}`)
  t.equal((await visit(signInPage)).status, 200)
  const fields = new URLSearchParams({ email, password: 'correct horse', return_to: page })
  const done = await visit('https://auth.example.com/oauth/login', String(fields))
  t.equal(done.status, 200, done.body)
  t.equal(done.headers.refresh, `0; url=${page}`)
  const passed = await visit(page)
  t.equal(passed.status, 200)
  t.equal(passed.received?.headers['remote-email'], email)
})

eachProxy('accepts the session of a stateful page, and requires the CSRF token', async (t, world, port) => {
  const { user, cookie, xsrf } = await signIn(world)
  const read = await world.send(port, { headers: [cookie, ...fromApp] })
  t.equal(read.status, 200)
  t.equal(read.received?.headers['remote-user'], String(user.id))
  t.equal((await world.send(port, { headers: [cookie] })).status, 401, 'a program with a cookie')
  const forged = await world.send(port, { method: 'POST', headers: [cookie, ...fromApp], body: 'x' })
  t.match([403, 419], new Set([forged.status]))
  t.match(JSON.parse(forged.body), { code: 'csrf_mismatch', message: String })
  if (forged.status === 403) t.equal(forged.headers['svc-error'], 'csrf_mismatch')
  t.equal(forged.received, null)
  const sent = await world.send(port, { method: 'POST', headers: [cookie, xsrf, ...fromApp], body: 'x' })
  t.equal(sent.status, 200)
  t.match(sent.received, { method: 'POST', bytes: 1 })
})

eachProxy('accepts API tokens with the abilities of the rule', async (t, world, port) => {
  const passed = await world.send(port, { headers: [await bearer(world, ['orders:read', 'x'])] })
  t.equal(passed.status, 200)
  t.equal(passed.received?.headers['svc-abilities'], 'orders:read x')
  t.match(passed.received?.headers['svc-credential'], /^token \w+$/)
  const refused = await world.send(port, { headers: [await bearer(world, ['orders:write'])] })
  t.equal(refused.status, 403)
  t.match(JSON.parse(refused.body), { code: 'invalid_ability', message: String })
  t.equal(refused.received, null)
})

eachProxy('accepts a WebSocket from a stateful origin only', async (t, world, port) => {
  const { user, cookie } = await signIn(world)
  const opened = await world.send(port, { headers: [...webSocket, cookie, 'Origin: https://app.example.com'] })
  t.equal(opened.status, 101)
  t.equal(opened.received?.headers['remote-user'], String(user.id))
  t.match(opened.received?.headers.upgrade, /^websocket$/i)
  for (const origin of [['Origin: https://evil.example'], [], ['Origin: https://evil.example', ...browser]]) {
    const headers = [...webSocket.filter((line) => !/^connection/i.test(line)), 'Connection: Upgrade, close']
    const refused = await world.send(port, { headers: [...headers, cookie, ...origin] })
    t.equal(refused.status, 401)
    t.equal(refused.received, null)
  }
})

eachProxy('passes a large body to the service, and none to svc', async (t, world, port) => {
  const body = Buffer.alloc(20 * 1024 * 1024)
  const target = '/uploads'
  const authorization = await bearer(world, ['*'])
  const before = world.bytesToSvc()
  const answer = await world.send(port, { method: 'PUT', target, headers: [authorization], body })
  t.equal(answer.status, 200)
  t.equal(answer.received?.bytes, body.length)
  t.ok(world.bytesToSvc() - before < 100_000)
  const refused = await world.send(port, { method: 'PUT', target, body: body.subarray(0, 100_000) })
  t.equal(refused.status, 401)
  t.equal(refused.received, null)
})

eachProxy('passes chunked bodies', async (t, world, port) => {
  const headers = [await bearer(world, ['*']), 'Transfer-Encoding: chunked']
  const answer = await world.send(port, { method: 'POST', headers, chunked: '5\r\nhello\r\n0\r\n\r\n' })
  t.equal(answer.status, 200)
  t.equal(answer.received?.bytes, 5)
})

eachProxy('answers HEAD as GET, without a body', async (t, world, port) => {
  const passed = await world.send(port, { method: 'HEAD', headers: [await bearer(world, ['orders:read'])] })
  t.match(passed, { status: 200, body: '', received: { method: 'HEAD' } })
  t.match(await world.send(port, { method: 'HEAD' }), { status: 401, body: '', received: null })
  const page = await world.send(port, { method: 'HEAD', headers: browser })
  t.match(page, { status: 302, body: '', headers: { location: /oauth\/login/ } })
})

eachProxy('speaks HTTP/2', async (t, world, port) => {
  const statusOf = (headers: Record<string, string>) =>
    sendHttp2(port, { ':authority': 'api.example.com', ':path': '/orders/1', ...headers })
  const [, authorization = ''] = (await bearer(world, ['orders:read'])).split(': ')
  t.equal(await statusOf({ authorization, 'x-request-number': 'h2' }), 200)
  t.match(world.upstream.requests.get('h2'), { url: '/orders/1', headers: { 'svc-abilities': 'orders:read' } })
  t.equal(await statusOf({ 'x-request-number': 'h2-guest' }), 401)
  t.equal(await statusOf(navigation), 302)
  t.equal(world.upstream.requests.get('h2-guest'), undefined)
})
