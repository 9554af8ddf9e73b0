// engine: none
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import t from 'tap'
import { buildTestApp } from '../support/app.ts'
import type { Browser } from '../support/browser.ts'

const password = 'correct horse'
const form = { 'content-type': 'application/x-www-form-urlencoded' }

/** Other spellings of a path, which routers and proxies may treat as equal. */
const spellings = (path: string): string[] => [
  `${path}/`,
  `/${path}`,
  path.toUpperCase(),
  `${path.slice(0, 2).toUpperCase()}${path.slice(2)}`,
  path.replace(/o/, '%6F'),
  path.replace(/o/, '%6f'),
  `${path}%2F`,
  `/.${path}`,
  `/x/..${path}`,
  `${path};a=b`,
  `${path}?`,
  `${path}?email=other@example.com&email=x@example.com`,
  `${path}?_method=PUT&_method=POST`,
]

t.test('limits passwords under every spelling, header and field', async (t) => {
  const svc = await buildTestApp(t)
  for (const path of ['/login', '/svc/token']) {
    const { email } = await svc.createUser()
    const right = { email, password, device_name: 'x' }
    const send = (
      url: string,
      payload: object | string = right,
      headers: Record<string, string> = {},
      method = 'POST',
    ) =>
      svc.app.inject({
        method: method as 'POST',
        url,
        payload,
        headers: { 'sec-fetch-site': 'same-origin', accept: 'application/json', ...headers },
      })
    for (let i = 0; i < 5; i++)
      t.match(String((await send(path, { ...right, password: `wrong ${i}` })).statusCode), /401|422/)
    t.equal((await send(path)).statusCode, 429)
    const attempts: Record<string, Awaited<ReturnType<typeof send>>> = {}
    for (const url of spellings(path)) attempts[url] = await send(url)
    for (const method of ['HEAD', 'GET', 'PUT', 'PATCH', 'DELETE'])
      attempts[method] = await send(path, right, {}, method)
    for (const name of ['X-HTTP-Method-Override', 'X-HTTP-Method', 'X-Method-Override']) {
      for (const method of ['PUT', 'POST', 'GET', 'HEAD']) {
        attempts[`${name}: ${method}`] = await send(path, right, { [name]: method })
      }
    }
    for (const name of ['X-Original-URL', 'X-Rewrite-URL'])
      attempts[name] = await send('/health/live', right, { [name]: path })
    for (const name of ['X-Forwarded-For', 'X-Real-IP', 'Forwarded', 'True-Client-IP', 'CF-Connecting-IP']) {
      attempts[name] = await send(path, right, { [name]: name === 'Forwarded' ? 'for=198.51.100.9' : '198.51.100.9' })
    }
    for (const method of ['PUT', 'POST', 'GET'])
      attempts[`_method ${method}`] = await send(path, { ...right, _method: method })
    for (const spelled of [email.toUpperCase(), ` ${email} `, `\t${email}`, `${email}\u00a0`]) {
      attempts[JSON.stringify(spelled)] = await send(path, { ...right, email: spelled })
    }
    const twice = `{"email":"x@example.com","email":${JSON.stringify(email)},"password":"${password}","device_name":"x"}`
    attempts['two keys'] = await send(path, twice, { 'content-type': 'application/json' })
    const fields = new URLSearchParams({ ...right }).toString()
    attempts['two fields'] = await send(path, `email=x%40example.com&${fields}`, form)
    attempts['a list'] = await send(path, { ...right, email: [email] })
    attempts['a field in brackets'] = await send(path, fields.replace('email=', 'email[]='), form)
    for (const [name, { statusCode, headers, body }] of Object.entries(attempts)) {
      // Browsers that open the address get the sign-in page.
      const isOpened = path === '/login' && ['GET', 'HEAD'].includes(name)
      t.match(String(statusCode), isOpened ? '302' : /^4\d\d$/, `${path} ${name}`)
      t.notMatch(JSON.stringify(headers['set-cookie'] ?? ''), /svc_remember|svc_browser/, `${path} ${name}`)
      t.notMatch(body, /"token"|"two_factor"/, `${path} ${name}`)
    }
  }
  t.equal(await svc.database.prisma.session.count(), 0)
  t.equal(await svc.database.prisma.personalAccessToken.count(), 0)
})

t.test('counts every spelling that svc accepts', async (t) => {
  const svc = await buildTestApp(t, { settings: { rate_limits: { mail: '3/1m' } } })
  const signedIn = async (): Promise<Browser> => {
    const { email } = await svc.createUser()
    const browser = svc.browser()
    await browser.signIn(email)
    await browser.post('/user/confirm-password', { password })
    return browser
  }
  const change = (n: number) => ({ name: 'Ada', email: `person${n}@example.com` })

  const overriding = await signedIn()
  t.equal((await overriding.post('/user/profile-information', { ...change(0), _method: 'PUT' })).statusCode, 200)
  const override = { 'x-http-method-override': 'PUT' }
  t.equal((await overriding.post('/user/profile-information', change(1), override)).statusCode, 200)
  t.equal((await overriding.put('/user/profile-information?a=1&a=2', change(2))).statusCode, 200)
  for (const method of ['PUT', 'put', 'Put']) {
    const answer = await overriding.post('/user/profile-information', { ...change(3), _method: method })
    t.equal(answer.statusCode, 429, method)
  }
  t.equal((await overriding.put('/user/profile-information', change(3))).statusCode, 429)
  t.equal((await overriding.post('/user/profile-information', change(3), override)).statusCode, 429)

  const heading = await signedIn()
  const cookie = await heading.jar.getCookieString('http://localhost:8000/email/verify/1/x')
  const look = (method: 'HEAD' | 'GET') =>
    svc.app.inject({
      method,
      url: '/email/verify/1/x?expires=1&signature=x',
      remoteAddress: '198.51.100.1',
      headers: { cookie, accept: 'application/json' },
    })
  for (let i = 0; i < 3; i++) t.equal((await look('HEAD')).statusCode, 403, 'HEAD counts')
  t.equal((await look('GET')).statusCode, 429)
  t.equal((await look('HEAD')).statusCode, 429)
})

t.test('rejects 10,000 levels of JSON at every limited route, without counting an attempt', async (t) => {
  const svc = await buildTestApp(t)
  const { email } = await svc.createUser()
  const deep = `${'['.repeat(10_000)}${']'.repeat(10_000)}`
  const headers = { 'content-type': 'application/json', 'sec-fetch-site': 'same-origin' }
  for (const url of ['/login', '/svc/token', '/register', '/forgot-password', '/reset-password', '/oauth/token']) {
    for (let i = 0; i < 6; i++) {
      const payload = `{"email":"${email}","password":${deep}}`
      const answer = await svc.app.inject({ method: 'POST', url, headers, payload })
      t.equal(answer.statusCode, 400, `${url}: ${answer.body.slice(0, 200)}`)
    }
  }
  t.equal((await svc.browser().signIn(email)).statusCode, 200)
})

t.test('serves other clients beside a thousand idle connections', async (t) => {
  const svc = await buildTestApp(t)
  const { email } = await svc.createUser()
  const url = new URL(await svc.app.listen({ port: 0, host: '127.0.0.1' }))
  const sockets: Socket[] = []
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
  })
  for (let i = 0; i < 1000; i++) {
    const socket = connect(Number(url.port), '127.0.0.1')
    sockets.push(socket)
    await once(socket, 'connect')
    // Half of them begin a request that never ends.
    if (i % 2 === 0) socket.write('POST /login HTTP/1.1\r\nHost: localhost:8000\r\nContent-Length: 100\r\n')
  }
  t.equal((await fetch(new URL('/health/ready', url))).status, 200)
  const answer = await fetch(new URL('/svc/token', url), {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email, password, device_name: 'x' }),
  })
  t.equal(answer.status, 200)
  t.equal(sockets.filter(({ destroyed }) => destroyed).length, 0, 'they are still open')
})
