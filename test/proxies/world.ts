import type { Socket } from 'node:net'
import t, { type Test } from 'tap'
import { buildGuarded, type Guarded } from '../features/forward-auth/setup.ts'
import { freePort } from '../support/port.ts'
import { openProxy } from '../support/proxy.ts'
import { type Answer, sendRaw } from './client.ts'
import { missingPrograms, type ProxyName, proxyNames, startProxy } from './proxies.ts'
import { type Received, startUpstream } from './upstream.ts'

const rules = [
  { hosts: ['api.example.com:8443'], paths: ['/other-port'], access: 'public' },
  { hosts: ['api.example.com'], paths: ['/public/*'], access: 'public' },
  { hosts: ['api.example.com'], paths: ['/orders/*'], methods: ['GET', 'HEAD'], abilities: ['orders:read'] },
  { hosts: ['api.example.com'], paths: ['/network'], networks: ['127.0.0.7/32'], access: 'public' },
  { hosts: ['api.example.com'], paths: ['/reports'], audience: 'orders' },
  { name: 'open', hosts: ['open.example.com'], access: 'public' },
  { hosts: ['api.example.com'] },
]

const settings = {
  // An outer proxy, where a test sends its requests.
  server: { trust_proxy: ['127.0.0.1', '127.0.0.9'] },
  apis: { orders: { audience: 'https://orders.example.com', scopes: ['orders:read'] } },
  clients: [
    { client_id: 'spa', type: 'public', redirect_uris: ['https://app.example.com/cb'], grants: ['authorization_code'] },
  ],
}

interface Sent {
  method?: string
  /** The request target. */
  target?: string
  host?: string
  /** Lines such as `Accept: text/html`, as they are sent. */
  headers?: readonly string[]
  body?: string | Buffer
  /** A body in chunks. */
  chunked?: string
  localAddress?: string
}

/** The answer to a client, and what the service received. */
export interface Exchange extends Answer {
  received: Received | null
  /** What svc judged. */
  judged: { host: string; path: string } | null
}

export interface World {
  svc: Guarded
  ports: Record<ProxyName, number>
  upstream: Awaited<ReturnType<typeof startUpstream>>
  /** Between the proxies and the guard. */
  link: Awaited<ReturnType<typeof openProxy>>
  /** Where the proxies reach svc and its guard. */
  places: { svc: number; guard: number }
  /** Bytes that svc has received on open connections. */
  bytesToSvc(): number
  send(port: number, sent?: Sent): Promise<Exchange>
}

let count = 0

async function startWorld(): Promise<World> {
  const own = await freePort()
  const svc = await buildGuarded(t, rules, { ...settings, guard: { port: own } })
  await svc.app.listen({ port: 0, host: '127.0.0.1' })
  const sockets = new Set<Socket>()
  svc.app.server.on('connection', (socket) => sockets.add(socket))
  const { port } = svc.app.server.address() as { port: number }
  const link = await openProxy(t, new URL(`http://127.0.0.1:${own}`))
  const places = { svc: port, guard: Number(new URL(link.url).port) }
  const upstream = await startUpstream(t)
  const started = await Promise.all(
    proxyNames.map(async (name) => [name, await startProxy(t, name, { ...places, service: upstream.port })] as const),
  )
  return {
    svc,
    link,
    places,
    upstream,
    bytesToSvc: () => [...sockets].reduce((sum, { bytesRead }) => sum + bytesRead, 0),
    ports: Object.fromEntries(started) as Record<ProxyName, number>,
    async send(at, sent = {}) {
      const { method = 'GET', target = '/orders/1', host = 'api.example.com', headers = [], body = '' } = sent
      const number = String(++count)
      const isUpgrade = headers.some((line) => /^connection:/i.test(line))
      const head = [
        `${method} ${target} HTTP/1.1`,
        `Host: ${host}`,
        `X-Request-Number: ${number}`,
        ...(isUpgrade ? [] : ['Connection: close']),
        ...(body.length > 0 ? [`Content-Length: ${Buffer.byteLength(body)}`] : []),
        ...headers,
      ]
      const first = Buffer.from(`${head.join('\r\n')}\r\n\r\n`, 'latin1')
      const bytes = Buffer.concat([first, Buffer.from(sent.chunked ?? body)])
      const logged = svc.logs.length
      const answer = await sendRaw(at, bytes, sent.localAddress)
      const lines = svc.logs.slice(logged).map((line) => JSON.parse(line))
      const judged = lines.findLast(({ msg }) => /^guard rule applies$|^no guard rule matches$/.test(msg)) ?? null
      return { ...answer, received: upstream.requests.get(number) ?? null, judged }
    },
  }
}

/** What the tests need is missing: CI fails, other machines skip. */
const missing = missingPrograms()
if (missing.length > 0) {
  const line = `not installed: ${missing.join(', ')} (docs/proxies was not tested)`
  if (process.env.CI) t.fail(line)
  else t.pass(line, { skip: true })
}

/** svc, a service and all proxies, started once per process; null if a program is missing. */
const world: World | null = missing.length > 0 ? null : await startWorld()

/** Declares one test for each proxy. */
export function eachProxy(
  behaviour: string,
  test: (t: Test, world: World, port: number, name: ProxyName) => Promise<void>,
): void {
  if (!world) return
  for (const name of proxyNames)
    t.test(`${name} ${behaviour}`, (t) => test(t, world as World, (world as World).ports[name], name))
}

/** Declares tests that need the world. */
export function withWorld(declare: (world: World) => void): void {
  if (world) declare(world)
}
