// engine: none
import t from 'tap'
import { ScriptlessBrowser } from '../../support/plain.ts'
import { buildPasskeyApp, withPasskey } from './visitor.ts'

/** Where the passkey button is on a sign-in page. */
const placeOf = (body: string) => {
  const [passkey, form] = [body.indexOf('id="passkey-login"'), body.indexOf('id="login-form"')]
  return passkey < 0 ? 'missing' : passkey < form ? 'above' : 'below'
}

t.test('offers the passkey above the form where one was used in this browser', async (t) => {
  const svc = await buildPasskeyApp(t)
  const { authenticator, guest } = await withPasskey(svc)
  const page = async (browser = guest.browser) => {
    const visitor = new ScriptlessBrowser(browser)
    await browser.post('/logout')
    return placeOf((await visitor.open('/oauth/login')).body)
  }
  t.equal(await page(), 'below', 'not before')
  const answer = await guest.login(authenticator)
  t.equal(answer.statusCode, 200)
  const line = [answer.headers['set-cookie'] ?? []].flat().find((cookie) => cookie.startsWith('svc_passkey_used'))
  t.equal(line, 'svc_passkey_used=1; Max-Age=7776000; Path=/; HttpOnly; SameSite=Lax', 'it names no account')
  t.equal(await page(), 'above', 'also after the session ended')
  t.equal(await page(svc.browser()), 'below', 'in another browser')
})

t.test('does not note a failed sign-in, and hides the button where passkeys are disabled', async (t) => {
  const svc = await buildPasskeyApp(t)
  const { authenticator, guest } = await withPasskey(svc)
  const failed = await guest.login(authenticator, { origin: 'https://evil.example' })
  t.equal(failed.statusCode, 422)
  t.notMatch(String(failed.headers['set-cookie']), 'svc_passkey_used')
  const headers = { accept: 'text/html', cookie: 'svc_passkey_used=1' }
  const open = async () => placeOf((await svc.app.inject({ url: '/oauth/login', headers })).body)
  t.equal(await open(), 'above')
  const { passkeys } = svc.config.current()
  svc.config.swap({ ...svc.config.current(), passkeys: { ...passkeys, enabled: false } })
  t.equal(await open(), 'missing')
  const forged = { ...headers, cookie: 'svc_passkey_used=%3Cscript%3E' }
  svc.config.swap({ ...svc.config.current(), passkeys })
  t.equal(placeOf((await svc.app.inject({ url: '/oauth/login', headers: forged })).body), 'below')
})
