// engine: none
import type { Test } from 'tap'
import { sendHttp2 } from './client.ts'
import { type Received, valuesOf } from './upstream.ts'
import { type Exchange, eachProxy } from './world.ts'

/** Ways in which a service may read a path. Each takes a decoded or an undecoded one. */
const readings: ((path: string) => string)[] = [
  (path) => path,
  (path) => path.replaceAll(/;[^/]*/g, ''),
  (path) => path.replaceAll(/[\\/]+/g, '/'),
  (path) =>
    path
      .replaceAll('\\', '/')
      .replaceAll(/;[^/]*/g, '')
      .replaceAll(/\/+/g, '/'),
]

/** Tests whether a service could read the path as one outside /public. */
function escapes({ url }: Received): boolean {
  const target = url.replace(/^https?:\/\/[^/?]*/, '').replace(/[?#].*$/, '')
  const once = target.replaceAll(/%[0-9a-f]{2}/gi, (byte) => String.fromCharCode(Number.parseInt(byte.slice(1), 16)))
  const twice = once.replaceAll(/%[0-9a-f]{2}/gi, (byte) => String.fromCharCode(Number.parseInt(byte.slice(1), 16)))
  return [target, once, twice].some((text) =>
    readings.some((read) => !`${new URL(`http://x${read(text)}`).pathname}/`.startsWith('/public/')),
  )
}

/** Tests that the service received the host and the path that svc judged. */
function isAsJudged(t: Test, { received, judged }: Exchange, name: string): void {
  const path = received?.url.replace(/\?.*$/, '')
  const host = received?.headers.host?.toLowerCase().replace(/\.?(:\d+)?$/, '')
  if (received) t.same([host, path], [judged?.host, judged?.path], name)
}

const escapingPaths = [
  '/public/../secret',
  '/public/./../secret',
  '/public//../secret',
  '/public/%2e%2e/secret',
  '/public/%2E%2e/secret',
  '/public/.%2e/secret',
  '/public%2f..%2fsecret',
  '/public/..%2fsecret',
  '/public/%2e%2e%2fsecret',
  '/public/%252e%252e/secret',
  '/public/%252e%252e%252fsecret',
  '/public/..\\secret',
  '/public\\..\\secret',
  '/public/..%5csecret',
  '/public/%5c../secret',
  '/public/..;/secret',
  '/public/..;x=y/secret',
  '/public;x=y/../secret',
  '/public/;/../../secret',
  '/public/%00/../../secret',
  '/public/..%00/secret',
  '/public/x%23/../../secret',
  '/public/x%3f/../../secret',
  '/public/x#/../../secret',
  '/public/..%ef%bc%8fsecret',
  '/public/..%c0%afsecret',
]
const otherPaths = [
  '//secret',
  '/./secret',
  '/secret/',
  '/secret;x=y',
  '/%73ecret',
  '/SECRET',
  '/x/../secret',
  '\\secret',
]

eachProxy('passes no path that a service may read as a protected one', async (t, { send }, port) => {
  for (const target of [...escapingPaths, ...otherPaths, 'secret', '*', '?/public/x', 'public/x']) {
    const exchange = await send(port, { target })
    const { status, received } = exchange
    isAsJudged(t, exchange, target)
    if (received) t.notOk(escapes(received), `${target} arrived as ${received.url}`)
    else t.match([301, 307, 308, 400, 401, 403, 404, 500], new Set([status]), `${target}: ${status}`)
  }
})

eachProxy('passes harmless spellings of a public path', async (t, { send }, port) => {
  for (const target of [
    '/public',
    '/public/',
    '/public/a.b',
    '/public/%20',
    '/public/%C3%A9',
    '/public/x?/../../secret',
  ]) {
    const exchange = await send(port, { target })
    t.equal(exchange.status, 200, target)
    t.equal(exchange.received?.url, target)
    isAsJudged(t, exchange, target)
  }
})

eachProxy('judges the host of an absolute-form target', async (t, { send }, port) => {
  const url = (host: string, path: string) => `https://${host}${path}`
  const targets = [
    { target: url('open.example.com', '/secret'), host: 'api.example.com' },
    { target: url('api.example.com', '/secret'), host: 'open.example.com' },
    { target: url('api.example.com', '/secret'), host: 'api.example.com' },
    { target: url('evil.example', '/secret'), host: 'api.example.com' },
    { target: 'http://api.example.com/secret', host: 'api.example.com' },
    { target: 'https://api.example.com:443/secret', host: 'api.example.com' },
    { target: 'https://user@api.example.com/secret', host: 'api.example.com' },
  ]
  for (const { target, host } of targets) {
    const { status, received } = await send(port, { target, host })
    t.equal(received, null, `${target} for ${host}`)
    t.match([400, 401, 403, 404, 421, 503], new Set([status]), `${target} for ${host}: ${status}`)
  }
  const open = await send(port, { target: url('api.example.com', '/public/x') })
  isAsJudged(t, open, 'absolute form')
})

eachProxy('judges every spelling of a host', async (t, { send }, port) => {
  const spellings = [
    'API.example.com',
    'api.example.com.',
    'api.example.com:443',
    'api.example.com:8443',
    'api.example.com.:1',
  ]
  const invalid = [
    'open.example.com',
    'api.example.com:x',
    'api.example.com:443:1',
    'x@api.example.com',
    'api.example.com,open.example.com',
  ]
  for (const host of [...spellings, ...invalid]) {
    const secret = await send(port, { target: '/secret', host })
    t.equal(secret.received, null, host)
    t.match([400, 401, 403, 404, 421, 503], new Set([secret.status]), `${host}: ${secret.status}`)
    const open = await send(port, { target: '/public/x', host })
    t.match([200, 400, 403, 404, 421, 503], new Set([open.status]), `${host}: ${open.status}`)
    isAsJudged(t, open, host)
    if (open.received) t.match(open.received.headers.host?.toLowerCase(), /^api\.example\.com\.?(:\d+)?$/)
  }
  const two = await send(port, { target: '/secret', headers: ['Host: open.example.com'] })
  t.equal(two.received, null)
})

eachProxy('passes a method override only if its rule allows it', async (t, { send, svc }, port) => {
  const token = await svc.createToken(await svc.createUser(), { abilities: ['orders:read'] })
  const authorization = `Authorization: Bearer ${token}`
  for (const name of ['X-HTTP-Method-Override', 'x-http-method', 'X-METHOD-OVERRIDE']) {
    for (const method of ['GET', 'POST']) {
      for (const values of [['DELETE'], ['GET', 'DELETE'], ['delete']]) {
        const headers = [...values.map((value) => `${name}: ${value}`), authorization]
        const { status, received } = await send(port, { method, headers })
        // A POST and a DELETE match the same rule, which does not ask for an ability.
        t.equal(
          status,
          method === 'POST' && values.length === 1 ? 200 : refusedAs(status),
          `${method} ${name} ${values}`,
        )
        if (method === 'GET') t.equal(received, null)
      }
    }
  }
  const query = await send(port, { target: '/orders/1?_method=DELETE', headers: [authorization] })
  t.equal(query.received, null)
})

eachProxy('passes no method override in a spelling that svc does not judge', async (t, { send, svc }, port) => {
  const token = await svc.createToken(await svc.createUser(), { abilities: ['orders:read'] })
  const authorization = `Authorization: Bearer ${token}`
  for (const name of ['X_HTTP_Method_Override', 'X-HTTP_Method-Override', 'X-HTTP_Method', 'X-Method_Override']) {
    const { status, received } = await send(port, { headers: [authorization, `${name}: DELETE`] })
    // Some proxies drop headers with underscores.
    t.ok([200, 400, 403].includes(status), `${name}: ${status}`)
    if (received) t.same(valuesOf(received, name), [], name)
  }
})

const refusedAs = (status: number): number => ([400, 403].includes(status) ? status : 400)

eachProxy('passes unusual methods by the same rules', async (t, { send }, port) => {
  for (const method of ['OPTIONS', 'TRACE', 'PROPFIND', 'CONNECT', 'get', 'G,T', 'PURGE', 'X'.repeat(40)]) {
    const { status, received } = await send(port, { method, target: '/secret' })
    t.equal(received, null, method)
    t.match([400, 401, 403, 404, 405, 419, 501, 503], new Set([status]), `${method}: ${status}`)
  }
})

eachProxy('judges HTTP/2 requests by the host and the path that the service receives', async (t, world, port) => {
  const requests: Record<string, string>[] = [
    { ':authority': 'open.example.com', host: 'api.example.com' },
    { ':authority': 'api.example.com', host: 'open.example.com' },
    { ':authority': 'api.example.com:8443' },
    { ':authority': 'user@api.example.com' },
    { ':path': '//secret' },
    { ':path': '/public/../secret' },
    { ':path': 'https://open.example.com/secret' },
    { ':path': 'secret' },
    { ':scheme': 'http' },
    { 'remote-user': '1', 'svc-user-id': '1', 'x-original-url': '/public/x' },
  ]
  for (const [index, headers] of requests.entries()) {
    const number = `${port}-${index}`
    const whole = { ':authority': 'api.example.com', ':path': '/secret', 'x-request-number': number, ...headers }
    const status = await sendHttp2(port, whole)
    t.equal(world.upstream.requests.get(number), undefined, JSON.stringify(headers))
    // Null for a stream that the proxy resets.
    t.match([null, 400, 401, 403, 404, 421, 503], new Set([status]), `${JSON.stringify(headers)}: ${status}`)
  }
})
