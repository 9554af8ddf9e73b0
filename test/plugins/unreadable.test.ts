import { connect } from 'node:net'
import t from 'tap'
import { buildTestApp } from '../support/app.ts'

t.test('odd URLs are 404 in the shape of every other error', async (t) => {
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

t.test('what is no HTTP gets a 400 and a closed connection, on a real socket', async (t) => {
  const svc = await buildTestApp(t)
  const { port } = new URL(await svc.app.listen({ port: 0, host: '127.0.0.1' }))
  const token = await svc.createToken(await svc.createUser())
  const raw = (text: string) =>
    new Promise<string>((resolve, reject) => {
      let answer = ''
      const socket = connect(Number(port), '127.0.0.1', () => socket.write(Buffer.from(text, 'latin1')))
      socket.setTimeout(5_000, () => socket.destroy(new Error('no answer')))
      socket.on('data', (chunk) => {
        answer += chunk
      })
      socket.on('close', () => resolve(answer)).on('error', reject)
    })
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
