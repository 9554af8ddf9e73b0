// engine: none
import { connect } from 'node:net'
import t from 'tap'
import { buildTestApp } from '../../support/app.ts'

t.test('answers odd URLs with 404 in the usual error format', async (t) => {
  const svc = await buildTestApp(t)
  const long = `/${'x'.repeat(100_000)}`
  for (const url of [
    '/%',
    '/%zz',
    '/%E0%A4%A',
    '/%00',
    '/a%2',
    '//',
    '/../etc/passwd',
    long,
    `/api/tokens${long}`,
    '/*',
  ]) {
    const answer = await svc.app.inject(url)
    t.ok([404, 405].includes(answer.statusCode), `${url.slice(0, 30)} ${answer.statusCode}`)
    t.match(answer.json(), { message: String, code: String })
  }
  t.equal((await svc.app.inject(`/health/live?${'x'.repeat(100_000)}`)).statusCode, 200)
  t.equal((await svc.app.inject('/health/live?a=%&%zz=%00&__proto__=1')).statusCode, 200)
})

/** The server's answer to these bytes before it closes the connection. */
const exchange = (port: string, text: string) =>
  new Promise<string>((resolve, reject) => {
    let answer = ''
    const socket = connect(Number(port), '127.0.0.1', () => socket.write(Buffer.from(text, 'latin1')))
    socket.on('data', (chunk) => {
      answer += chunk
    })
    socket.on('close', () => resolve(answer)).on('error', reject)
  })

t.test('answers 400 to invalid HTTP and closes the connection, on a real socket', async (t) => {
  const svc = await buildTestApp(t)
  const { port } = new URL(await svc.app.listen({ port: 0, host: '127.0.0.1' }))
  const token = await svc.createToken(await svc.createUser())
  const raw = (text: string) => exchange(port, text)
  const head = (line: string, ...more: string[]) => [line, 'Host: x', 'Connection: close', ...more, '', ''].join('\r\n')
  const bearer = (text: string) => head('GET /api/user HTTP/1.1', `Authorization: Bearer ${text}`)
  t.match(await raw(bearer(token)), /^HTTP\/1.1 200 /)
  t.match(await raw(bearer(`${token}\0`)), /^HTTP\/1.1 400 /, 'NUL in a header')
  t.match(await raw(bearer('\xff|\xfe')), /^HTTP\/1.1 401 /)
  for (const text of ['nonsense\r\n\r\n', head('GET / HTTP/9'), head('GÉT / HTTP/1.1'), head('GET /\0 HTTP/1.1')]) {
    const answer = await raw(text)
    t.match(answer, /^HTTP\/1.1 400 /, JSON.stringify(text.slice(0, 20)))
    t.match(JSON.parse(answer.split('\r\n\r\n')[1] ?? ''), { message: String, code: 'malformed_body' })
  }
  const form = '_method=DELETE&x=y'
  const fields = ['Content-Type: application/x-www-form-urlencoded', `Content-Length: ${form.length}`]
  const deletion = head('POST /api/tokens HTTP/1.1', `Authorization: Bearer ${token}`, ...fields)
  t.match(await raw(deletion + form), /^HTTP\/1.1 200 [\s\S]*revoked/, 'a body that is routed twice')
  t.match(await raw(bearer(token)), /^HTTP\/1.1 401 /)
  const chunked = head('POST /svc/token HTTP/1.1', 'Content-Type: application/json', 'Transfer-Encoding: chunked')
  t.match(await raw(`${chunked}2\r\n{}\r\n0\r\n\r\n`), /^HTTP\/1.1 422 /)
  t.match(await raw(`${chunked}zz\r\n`), /^HTTP\/1.1 400 /)
})

t.test('rejects a request with two Host headers, on every kind of path', async (t) => {
  const svc = await buildTestApp(t)
  const { port } = new URL(await svc.app.listen({ port: 0, host: '127.0.0.1' }))
  for (const path of [
    '/health/live',
    '/api/user',
    '/oauth/authorize?client_id=x',
    '/.well-known/jwks.json',
    '/nowhere',
  ]) {
    for (const second of ['Host: svc.example', 'hOsT: other.example']) {
      const head = [`GET ${path} HTTP/1.1`, 'Host: svc.example', second, 'Connection: close', '', ''].join('\r\n')
      t.match(await exchange(port, head), /^HTTP\/1.1 400 /, path)
    }
  }
  t.match(await exchange(port, 'GET /health/live HTTP/1.1\r\nConnection: close\r\n\r\n'), /^HTTP\/1.1 400 /, 'no Host')
})

t.test('rejects headers that are too large with 431', async (t) => {
  const svc = await buildTestApp(t)
  const { port } = new URL(await svc.app.listen({ port: 0, host: '127.0.0.1' }))
  const answer = await exchange(port, `GET / HTTP/1.1\r\nHost: x\r\nX-Large: ${'x'.repeat(33_000)}\r\n\r\n`)
  t.match(answer, /^HTTP\/1.1 431 /)
  t.match(JSON.parse(answer.split('\r\n\r\n')[1] ?? ''), { message: /too large/, code: 'malformed_body' })
})

t.test('ends a request whose head or body does not arrive in time', async (t) => {
  const svc = await buildTestApp(t)
  const { port } = new URL(await svc.app.listen({ port: 0, host: '127.0.0.1' }))
  const { server } = svc.app
  t.match(server, { headersTimeout: 15_000, requestTimeout: 30_000 })
  const head = 'POST /svc/token HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 50\r\n'
  const cases: [string, object, string][] = [
    ['head', { headersTimeout: 1, requestTimeout: 30_000 }, head],
    // Node uses the shorter of the two for the head.
    ['body', { headersTimeout: 1, requestTimeout: 1 }, `${head}\r\n{"email":`],
  ]
  for (const [part, limits, text] of cases) {
    Object.assign(server, limits)
    const answer = await exchange(port, text)
    t.match(answer, /^HTTP\/1.1 408 /, part)
    t.match(JSON.parse(answer.split('\r\n\r\n')[1] ?? ''), { message: /too long/, code: 'malformed_body' })
  }
})
