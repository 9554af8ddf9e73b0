// engine: none
import t from 'tap'
import { buildTestApp } from '../../support/app.ts'

t.test('revalidates scripts only when they changed', async (t) => {
  const { app } = await buildTestApp(t)
  for (const [url, part] of [
    ['/assets/webauthn.js', 'SimpleWebAuthnBrowser'],
    ['/assets/password.js', 'CapsLock'],
    ['/assets/buttons.js', 'submitter'],
    ['/assets/passkey.js', 'x-xsrf-token'],
    ['/assets/passkey-confirm.js', 'browserSupportsWebAuthn'],
    ['/assets/passkey-login.js', '/passkeys/login/options'],
  ] as const) {
    const { statusCode, headers, body } = await app.inject(url)
    t.equal(statusCode, 200)
    t.match(body, part)
    t.equal(headers['content-type'], 'text/javascript; charset=utf-8')
    t.equal(headers['cache-control'], 'no-cache')
    const etag = String(headers.etag)
    for (const known of [etag, `W/${etag}`, `"x", ${etag}`]) {
      const again = await app.inject({ url, headers: { 'if-none-match': known } })
      t.equal(again.statusCode, 304)
      t.equal(again.body, '')
    }
    t.equal((await app.inject({ url, headers: { 'if-none-match': '"x"' } })).statusCode, 200)
  }
})

t.test('serves the icon that browsers request on their own', async (t) => {
  const { app } = await buildTestApp(t)
  const { statusCode, headers, rawPayload } = await app.inject('/favicon.ico')
  t.equal(statusCode, 200)
  t.equal(headers['content-type'], 'image/vnd.microsoft.icon')
  t.equal(headers['x-content-type-options'], 'nosniff')
  t.equal(headers['set-cookie'], undefined)
  t.same([...rawPayload.subarray(0, 6)], [0, 0, 1, 0, 3, 0], 'an icon in three sizes')
  const again = await app.inject({ url: '/favicon.ico', headers: { 'if-none-match': String(headers.etag) } })
  t.equal(again.statusCode, 304)
})
