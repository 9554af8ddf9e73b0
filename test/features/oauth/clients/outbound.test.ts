// engine: none
import { createServer, type RequestListener, type Server } from 'node:http'
import { createServer as createTcpServer } from 'node:net'
import t, { type Test } from 'tap'
import { AddressRanges, isPublicAddress } from '../../../../src/platform/http/addresses.ts'
import { outboundFetch } from '../../../../src/platform/http/outbound.ts'
import type { Settings } from '../../../support/app.ts'
import { directly } from '../../../support/forward-proxy.ts'
import { assertion, buildServer, credentials, machine, newKey, post } from './parties.ts'

/** A server on loopback that counts its connections. */
async function listen(t: Test, answer: RequestListener) {
  const seen = { connections: 0, requests: 0 }
  const server: Server = createServer((request, response) => {
    seen.requests++
    answer(request, response)
  })
  server.on('connection', () => seen.connections++)
  await new Promise<void>((resolve) => server.listen(0, '::', resolve))
  t.teardown(() => server.closeAllConnections())
  t.teardown(() => void server.close())
  const address = server.address()
  return { seen, port: typeof address === 'object' && address ? address.port : 0 }
}

const direct = () => directly
const strictFetch = outboundFetch(direct, () => false)
const everybody = outboundFetch(direct, () => true)

t.test('classifies public and private addresses', async (t) => {
  const special = `0.0.0.0 10.1.2.3 100.64.0.1 127.0.0.1 127.255.255.254 169.254.169.254 172.16.0.1 172.31.255.255
    192.0.0.1 192.0.2.1 192.168.1.1 198.18.0.1 198.51.100.1 203.0.113.1 224.0.0.1 239.1.1.1 240.0.0.1 255.255.255.255
    :: ::1 ::7f00:1 ::ffff:127.0.0.1 ::ffff:10.0.0.1 ::ffff:a9fe:a9fe ::ffff:8.8.8.8 64:ff9b::7f00:1 64:ff9b:1::1 100::1
    2001::1 2001:db8::1 2002:7f00:1::1 3fff::1 5f00::1 fc00::1 fd12:3456::1 fe80::1 fe80::1%eth0 febf::1 fec0::1 ff02::1`
  for (const address of special.split(/\s+/)) t.notOk(isPublicAddress(address), address)
  const open =
    '1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.0 100.63.0.1 172.15.0.1 172.32.0.1 192.167.1.1 2606:4700::1111 2a00::1'
  for (const address of open.split(' ')) t.ok(isPublicAddress(address), address)
  for (const text of ['localhost', '', '127.1', '0x7f000001', 'a.example']) t.notOk(isPublicAddress(text), text)
  const ranges = new AddressRanges(['10.0.0.0/8', '::/0', '192.168.7.7'])
  for (const address of ['10.9.9.9', 'fd00::1', '192.168.7.7']) t.ok(ranges.has(address), address)
  for (const address of ['11.0.0.1', '192.168.7.8', 'x']) t.notOk(ranges.has(address), address)
})

t.test('never connects to a private address, however it is written', async (t) => {
  const { port, seen } = await listen(t, (_request, response) => response.end('ok'))
  const hosts = `127.0.0.1 127.1 2130706433 0x7f000001 0x7f.1 0177.0.0.1 0 0.0.0.0 127.0.0.1. localhost localhost.
    svc.localhost LOCALHOST ①②⑦.0.0.1 [::1] [::] [::ffff:127.0.0.1] [::ffff:7f00:1] [0:0:0:0:0:ffff:7f00:1] [::127.0.0.1]
    user:pass@127.0.0.1 %31%32%37.0.0.1`
  for (const host of hosts.split(/\s+/)) {
    await t.rejects(strictFetch(`http://${host}:${port}/`), { name: /Error/ }, host)
  }
  t.equal(seen.connections, 0, 'not even a connection was made')
  t.equal(await (await everybody(`http://localhost:${port}/`)).text(), 'ok', 'the server was running')
  const within = outboundFetch(direct, (address) => new AddressRanges(['127.0.0.0/8', '::1/128']).has(address))
  for (const host of ['127.0.0.1', '2130706433', 'localhost']) {
    t.equal((await within(`http://${host}:${port}/`)).status, 200, `${host} is in a configured range`)
  }
  const elsewhere = outboundFetch(direct, (address) => new AddressRanges(['10.0.0.0/8']).has(address))
  await t.rejects(elsewhere(`http://localhost:${port}/`), /not a public address/)
})

t.test('limits responses in time and size, and follows no redirects', async (t) => {
  const { port, seen } = await listen(t, (request, response) => {
    const { url } = request
    if (url === '/redirect') response.writeHead(302, { location: `http://127.0.0.1:${port}/target` }).end()
    else if (url === '/large') response.end(Buffer.alloc(256 * 1024 + 1))
    else if (url === '/endless') response.write('x')
    else if (url === '/empty') response.writeHead(204).end()
    else if (url === '/echo') request.pipe(response)
    else if (url !== '/silent') response.writeHead(200, { 'x-a': 'b' }).end('y'.repeat(256 * 1024))
  })
  const at = (path: string) => `http://127.0.0.1:${port}${path}`
  const redirect = await everybody(at('/redirect'))
  t.same([redirect.status, redirect.headers.get('location')], [302, at('/target')])
  t.equal(seen.requests, 1, 'and is not followed')
  await t.rejects(everybody(at('/large')), /too large/)
  for (const path of ['/endless', '/silent']) {
    await t.rejects(everybody(at(path), { signal: AbortSignal.timeout(50) }), { name: /Error/ }, path)
  }
  t.equal((await everybody(at('/empty'))).status, 204)
  const whole = await everybody(at('/whole'))
  t.same([whole.headers.get('x-a'), (await whole.text()).length], ['b', 256 * 1024])
  const echo = await everybody(at('/echo'), { method: 'POST', body: new URLSearchParams({ a: 'b c' }) })
  t.equal(await echo.text(), 'a=b+c')
})

t.test('fetches keys from a jwks_uri safely', async (t) => {
  const key = await newKey('ES256')
  let keys: unknown = { keys: [key.jwk] }
  const { port, seen } = await listen(t, ({ url, headers }, response) => {
    if (url === '/redirect') return response.writeHead(302, { location: `http://localhost:${port}/jwks` }).end()
    if (!headers.accept?.includes('application/jwk-set+json')) return response.writeHead(406).end()
    response.setHeader('content-type', 'application/json')
    response.end(url === '/large' ? `{"keys":[],"x":"${'x'.repeat(300_000)}"}` : JSON.stringify(keys))
  })
  const robot = (client_id: string, uri: string, rest: Settings = {}) => machine(client_id, { jwks_uri: uri, ...rest })
  const at = `http://localhost:${port}`
  const open = { allow_private_addresses: true }
  const svc = await buildServer(t, [
    robot('refused', `${at}/jwks`),
    robot('literal', `http://127.0.0.1:${port}/jwks`),
    robot('mapped', `http://[::ffff:127.0.0.1]:${port}/jwks`),
    robot('decimal', `http://2130706433:${port}/jwks`),
    robot('allowed', `${at}/jwks?own`, open),
    robot('redirected', `${at}/redirect`, open),
    robot('large', `${at}/large`, open),
    robot('gone', 'http://localhost:1/jwks', open),
  ])
  const ask = async (to: typeof svc, id: string) => {
    const answer = await post(to, '/oauth/token', { ...credentials, ...(await assertion(key, id)) })
    return answer.statusCode === 200 ? 200 : [answer.statusCode, answer.json().error]
  }
  for (const id of ['refused', 'literal', 'mapped', 'decimal']) t.same(await ask(svc, id), [401, 'invalid_client'], id)
  t.equal(seen.connections, 0, 'no connection was made')
  t.equal(await ask(svc, 'allowed'), 200)
  for (const id of ['redirected', 'large', 'gone']) t.same(await ask(svc, id), [401, 'invalid_client'], id)
  const before = seen.requests
  t.equal(await ask(svc, 'allowed'), 200)
  t.equal(seen.requests, before, 'keys are cached')

  const wide = await buildServer(t, [robot('a', `${at}/jwks`), robot('b', `http://127.0.0.1:${port}/jwks`)], {
    settings: { outbound: { allow_private: ['127.0.0.0/8', '::1/128'] } },
  })
  t.equal(await ask(wide, 'a'), 200, 'a name that resolves to a configured range')
  t.equal(await ask(wide, 'b'), 200, 'an address in a configured range')
  const bad: unknown[] = [{ keys: [{ kty: 'oct', k: 'AAAA' }] }, { keys: 'x' }, [], null, 'x']
  for (keys of bad) {
    const one = await buildServer(t, [robot('a', `${at}/jwks`, open)])
    t.same(await ask(one, 'a'), [401, 'invalid_client'], JSON.stringify(keys))
  }
})

t.test('fails immediately when a connection is upgraded or closed without an answer', async (t) => {
  const answers = [
    'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n',
    'HTTP/1.1 103 Early\r\n\r\n',
  ]
  for (const answer of answers) {
    const server = createTcpServer((socket) => {
      socket.on('error', () => undefined)
      socket.once('data', () => socket.end(answer))
    })
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
    t.teardown(() => server.close())
    const address = server.address()
    const port = typeof address === 'object' && address ? address.port : 0
    await t.rejects(everybody(`http://127.0.0.1:${port}/`), answer.slice(0, 20))
  }
})
