// engine: none
import t from 'tap'
import { buildTestApp } from '../../support/app.ts'

t.test('revalidates scripts only when they changed', async (t) => {
  const { app } = await buildTestApp(t)
  for (const [url, part] of [
    ['/assets/webauthn.js', 'SimpleWebAuthnBrowser'],
    ['/assets/password.js', 'CapsLock'],
    ['/assets/passkey.js', 'XSRF-TOKEN'],
    ['/assets/passkey-confirm.js', '/passkeys/confirm/options'],
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
