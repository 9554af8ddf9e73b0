// engine: none
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { stringify } from 'yaml'
import { buildTestApp } from '../../support/app.ts'
import { freePort, startMain, temporaryDirectory } from '../../support/process.ts'
import { sendRequest } from '../../support/remote.ts'

const original = {
  'x-forwarded-method': 'GET',
  'x-forwarded-proto': 'https',
  'x-forwarded-host': 'api.example.com',
  'x-forwarded-uri': '/orders',
}

const settingsWith = (port: number) => ({
  server: { host: '127.0.0.1', trust_proxy: ['127.0.0.0/8'] },
  compat: { prefixes: ['svc', 'sanctum'] },
  guard: { port, rules: [{ paths: ['/orders'], access: 'public' }] },
})

/** Starts svc with `guard.port`. */
async function start(t: Test) {
  const port = await freePort()
  const svc = await buildTestApp(t, { settings: settingsWith(port) })
  await svc.app.listen({ host: '127.0.0.1', port: 0 })
  return { svc, port }
}

/** Sends bytes, and returns everything until the connection ends. */
async function exchange(port: number, text: string): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  let answer = ''
  socket.on('data', (part) => {
    answer += part
  })
  socket.write(text)
  await once(socket, 'close')
  return answer
}

t.test('serves the guard and health checks on guard.port, and the guard on no other port', async (t) => {
  const cwd = temporaryDirectory(t)
  const port = await freePort()
  writeFileSync(join(cwd, 'svc.yaml'), stringify(settingsWith(port)))
  const { url: open } = await startMain(t, { cwd, env: { SVC_CONFIG: 'svc.yaml' } })
  const guard = `http://127.0.0.1:${port}`
  const status = async (base: string, method: 'GET' | 'POST' | 'OPTIONS' | 'TRACE', url: string, headers = {}) =>
    (await sendRequest(base, { method, url, headers: { ...original, ...headers } })).statusCode
  for (const path of ['/svc/guard', '/sanctum/guard', '/svc/guard/orders', '/svc/%67uard']) {
    const expected = path === '/svc/guard/orders' ? 400 : 200
    for (const method of ['GET', 'POST'] as const) t.equal(await status(guard, method, path), expected, path)
    for (const method of ['GET', 'POST', 'OPTIONS', 'TRACE'] as const) {
      t.equal(await status(open, method, path), 404, `${method} ${path} on the public port`)
      const forged = { host: `127.0.0.1:${port}`, 'x-forwarded-port': String(port) }
      t.equal(await status(open, method, path, forged), 404, 'whatever the headers say')
    }
  }
  t.equal(await status(guard, 'GET', '/svc/guard?rule=orders'), 400, 'an unknown rule')
  for (const base of [open, guard]) {
    t.equal(await status(base, 'GET', '/health/live'), 200)
    t.equal(await status(base, 'GET', '/health/ready'), 200)
  }
  for (const path of ['/login', '/api/user', '/oauth/token', '/openapi.json', '/', '/svc/csrf-cookie', '/svc/token']) {
    for (const method of ['GET', 'POST', 'OPTIONS'] as const) {
      const headers = { origin: 'http://localhost:8000', 'access-control-request-method': 'GET' }
      t.equal(await status(guard, method, path, headers), 404, `${method} ${path} on the port of the guard`)
    }
  }
  t.notMatch((await sendRequest(open, { url: '/openapi.json' })).json().paths, { '/svc/guard': {} })
})

t.test('treats broken requests on guard.port as on the public port', async (t) => {
  const { port } = await start(t)
  t.match(await exchange(port, 'GET / HTTP/1.1\r\nbroken\r\n\r\n'), /^HTTP\/1\.1 400 /)
  t.match(await exchange(port, `GET / HTTP/1.1\r\nhost: a\r\nx: ${'y'.repeat(40_000)}\r\n\r\n`), /^HTTP\/1\.1 431 /)
  t.match(await exchange(port, 'GET /svc/guard HTTP/1.1\r\nhost: a\r\nhost: b\r\nconnection: close\r\n\r\n'), / 400 /)
})

t.test('completes the requests on guard.port when svc stops, and ends idle connections', async (t) => {
  const { svc, port } = await start(t)
  const idle: Socket[] = Array.from({ length: 3 }, () => connect(port, '127.0.0.1'))
  await Promise.all(idle.map((socket) => once(socket, 'connect')))
  const slow = connect(port, '127.0.0.1')
  const head = Object.entries({ host: 'a', ...original }).map(([name, value]) => `${name}: ${value}`)
  slow.write(`POST /svc/guard HTTP/1.1\r\n${head.join('\r\n')}\r\ncontent-length: 4\r\n\r\nab`)
  let answer = ''
  slow.on('data', (part) => {
    answer += part
  })
  const gone = Promise.all([...idle, slow].map((socket) => once(socket, 'close')))
  const closed = svc.app.close()
  slow.write('cd')
  await closed
  await gone
  t.match(answer, /^HTTP\/1\.1 200 .*connection: close/is)
  t.equal(await exchange(port, 'GET /health/live HTTP/1.1\r\n\r\n').catch(({ code }) => code), 'ECONNREFUSED')
})
