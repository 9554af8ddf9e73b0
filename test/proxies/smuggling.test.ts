// engine: none
import { sendUpgrade } from './client.ts'
import { eachProxy } from './world.ts'

const settings = 'HTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA'
const key = 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=='

/** Ways to ask for a connection that leaves HTTP/1.1, other than for a WebSocket. */
const requests: readonly (readonly string[])[] = [
  ['Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', settings],
  ['Connection: Upgrade', 'Upgrade: h2c'],
  ['Connection: Upgrade', 'Upgrade: H2C'],
  ['Upgrade: h2c', settings],
  ['Connection: Upgrade', 'Upgrade: TLS/1.0'],
  ['Connection: Upgrade', 'Upgrade: websocket/13'],
  ['Connection: Upgrade', 'Upgrade: h2c, websocket', key],
  ['Connection: Upgrade', 'Upgrade: websocket, h2c', key],
  ['Connection: Upgrade', 'Upgrade: h2c', 'Upgrade: websocket', key],
  ['Connection: Upgrade', 'Upgrade: foo'],
]

let count = 0

eachProxy('opens no tunnel but a WebSocket', async (t, { upstream, svc }, port, name) => {
  const authorization = `Authorization: Bearer ${await svc.createToken(await svc.createUser())}`
  for (const lines of requests) {
    for (const target of ['/public/x', '/orders/1']) {
      const number = `upgrade-${++count}`
      const head = [`GET ${target} HTTP/1.1`, 'Host: api.example.com', `X-Request-Number: ${number}`, authorization]
      const status = await sendUpgrade(port, `${[...head, ...lines].join('\r\n')}\r\n\r\n`)
      const what = `${lines.join(', ')} for ${target}`
      // Envoy refuses most of them.
      t.match(name === 'envoy' ? [200, 403] : [200], new Set([status]), `${what}: ${status}`)
      const { headers } = upstream.requests.get(number) ?? { headers: {} }
      t.notOk('upgrade' in headers, what)
      t.notOk('http2-settings' in headers, what)
    }
  }
  t.same(upstream.smuggled, [])
})

eachProxy('serves a Java client, which asks for HTTP/2 with its first request', async (t, { send }, port) => {
  const headers = ['Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', settings]
  const { status, body } = await send(port, { target: '/public/x', headers })
  t.equal(status, 200)
  t.equal(body, 'from the service')
})

eachProxy('sends one WebSocket upgrade of several', async (t, { send }, port) => {
  const upgrade = ['Connection: Upgrade', 'Upgrade: websocket', 'Upgrade: h2c', key, 'Sec-WebSocket-Version: 13']
  const { status, received } = await send(port, { target: '/public/x', headers: upgrade })
  t.match([101, 200, 403], new Set([status]), `${status}`)
  if (status === 101) t.equal(received?.headers.upgrade, 'websocket')
})
