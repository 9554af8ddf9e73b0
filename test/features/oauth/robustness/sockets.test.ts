// engine: none
import { connect } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'
import t from 'tap'
import { buildTestApp } from '../../../support/app.ts'
import { oauthSettings, secret } from '../../../support/oauth.ts'
import { stopTime } from '../../../support/time.ts'

t.test('answers invalid HTTP on a real socket without failing', async (t) => {
  const svc = await buildTestApp(t, { settings: oauthSettings, clock: stopTime(t) })
  const { port } = new URL(await svc.app.listen({ port: 0, host: '127.0.0.1' }))
  const raw = (...parts: string[]) =>
    new Promise<string>((resolve, reject) => {
      let answer = ''
      const socket = connect(Number(port), '127.0.0.1', async () => {
        for (const part of parts) {
          socket.write(Buffer.from(part, 'latin1'))
          await turn()
        }
      })
      socket.setNoDelay()
      socket.on('data', (chunk) => {
        answer += chunk
      })
      socket
        .on('close', () => resolve(answer))
        .on('error', () => resolve(answer))
        .on('error', reject)
    })
  const credentials = Buffer.from(`machine:${secret}`).toString('base64')
  const body = 'grant_type=client_credentials'
  const head = (line: string, ...more: string[]) => [line, 'Host: x', ...more, '', ''].join('\r\n')
  const post = (...more: string[]) =>
    head(
      'POST /oauth/token HTTP/1.1',
      'Content-Type: application/x-www-form-urlencoded',
      `Authorization: Basic ${credentials}`,
      ...more,
    )
  const close = 'Connection: close'
  const sized = `Content-Length: ${body.length}`
  t.match(await raw(post(close, sized), ...body), /^HTTP\/1.1 200 [\s\S]*access_token/, 'a body byte by byte')
  t.match(await raw(post(close, 'Transfer-Encoding: chunked'), `1d\r\n${body}\r\n0\r\n\r\n`), /^HTTP\/1.1 200 /)
  const two = await raw(post(sized) + body + post(close, sized) + body)
  t.equal(two.match(/HTTP\/1.1 200/g)?.length, 2, 'pipelined')
  t.match(await raw(post(close, sized).replace('HTTP/1.1', 'HTTP/1.0') + body), /^HTTP\/1.1 200 /, 'HTTP/1.0')
  t.match(await raw('GET /.well-known/jwks.json HTTP/1.0\r\n\r\n'), /^HTTP\/1.1 200 /, 'without a Host')
  for (const [name, text] of [
    ['an absurd length', post(close, 'Content-Length: 99999999999999')],
    ['two lengths', post(close, 'Content-Length: 3', 'Content-Length: 4')],
    ['an invalid length', post(close, 'Content-Length: x')],
    ['length and chunks', post(close, sized, 'Transfer-Encoding: chunked')],
    ['NUL in a header', post(close, sized, 'X: \0')],
    ['a header without a colon', post(close, sized, 'nonsense')],
    ['a folded header', post(close, sized, 'A: b\r\n c')],
    ['no method', head('/oauth/token HTTP/1.1', close)],
  ] as const) {
    const answer = await raw(text + body)
    t.match(answer, /^HTTP\/1.1 (400|413) /, name)
    t.match(answer, /"(message|error_description)":/, name)
  }
  const huge = 'x'.repeat(60_000)
  t.match(await raw(post(close, `Content-Length: ${huge.length}`) + huge), /^HTTP\/1.1 400 [\s\S]*"invalid_request"/)
  t.match(
    await raw(post(close, 'Transfer-Encoding: chunked'), `${huge.length.toString(16)}\r\n${huge}\r\n0\r\n\r\n`),
    /^HTTP\/1.1 400 /,
  )
  t.match(
    await raw(head('GET http://evil.example/.well-known/openid-configuration HTTP/1.1', close)),
    /^HTTP\/1.1 (404|200) (?![\s\S]*evil)/,
  )
  t.match(
    await raw(
      head(
        'GET /oauth/authorize?client_id=web HTTP/1.1',
        close,
        'Cookie: svc_oauth_session=\xff; svc_session=\xfe',
        'Accept: text/html',
      ),
    ),
    /^HTTP\/1.1 (303|400) /,
  )
  // A client that hangs up midway causes no error.
  const gone = connect(Number(port), '127.0.0.1', () => gone.write(post('Content-Length: 500'), () => gone.destroy()))
  await new Promise((done) => gone.once('close', done))
  t.match(await raw(post(close, sized) + body), /^HTTP\/1.1 200 /)
  t.same(
    svc.logs.filter((line) => /"level":"(error|fatal)"/.test(line)),
    [],
  )
})
