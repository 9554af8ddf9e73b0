// engine: none
import type { LightMyRequestResponse } from 'fastify'
import t, { type Test } from 'tap'
import { press } from '../support/account-pages.ts'
import { strongPassword } from '../support/accounts.ts'
import { buildTestApp, type Settings } from '../support/app.ts'
import { credentials, nextAddress, ScriptlessBrowser } from '../support/plain.ts'

const site = 'https://app.example'

/** Checks that a form continues by a page. */
function continues(t: Test, answer: LightMyRequestResponse, address: string): void {
  t.equal(answer.statusCode, 200, answer.body)
  t.equal(answer.headers.location, undefined)
  t.equal(nextAddress(answer), address)
  t.match(answer.body, 'id="continue"')
  t.match(answer.headers, { 'cache-control': 'no-store', 'content-security-policy': /form-action 'self'/ })
}

/** Checks that a form redirects. */
const redirects = (t: Test, answer: LightMyRequestResponse, path: string): void => {
  t.equal(answer.statusCode, 303, answer.body)
  t.equal(answer.headers.location, path)
}

async function open(t: Test, settings: Settings) {
  const svc = await buildTestApp(t, { settings })
  const { email } = await svc.createUser()
  const browser = new ScriptlessBrowser(svc)
  return { svc, email, browser, signIn: () => browser.send('/oauth/login', credentials(email)) }
}

/** Ends the session of the browser on its page of devices. */
async function endOwnSession(browser: ScriptlessBrowser): Promise<LightMyRequestResponse> {
  const sessions = (await browser.browser.get('/user/sessions')).json()
  const current = sessions.find((session: { current: boolean }) => session.current)
  return press(browser, '/account/sessions', `/account/sessions/${current.id}/end`)
}

t.test('continues by a page after forms that lead to another site', async (t) => {
  const { email, browser, signIn } = await open(t, { app: { frontend_url: site } })
  continues(t, await signIn(), `${site}/`)
  continues(t, await endOwnSession(browser), `${site}/`)
  await signIn()
  continues(t, await press(browser, '/account', '/oauth/sign-out'), `${site}/`)
  const registration = { name: 'Grace', email: 'grace@example.com', password: strongPassword }
  continues(t, await browser.send('/oauth/register', registration), `${site}/`)
  const again = await browser.send('/oauth/login?prompt=login', { ...credentials(email), return_to: '/oauth/device' })
  continues(t, again, '/oauth/device')
})

t.test('continues by a page after forms that lead to the sign-in page of an application', async (t) => {
  const { svc, email, browser } = await open(t, { links: { login: `${site}/sign-in` } })
  const reset = async () => {
    await browser.send('/oauth/forgot-password', { email })
    const [mail] = (await svc.mailbox.to(email)).slice(-1)
    return /http:\/\/localhost:8000(\/reset-password\/\S+)/.exec(mail?.text ?? '')?.[1] ?? ''
  }
  continues(
    t,
    await browser.send(await reset(), { password: strongPassword, password_confirmation: strongPassword }),
    '/oauth/login?reset=1',
  )
  const { body } = await browser.open('/oauth/forgot-password')
  const [, token = ''] = /name="_token" value="([^"]*)"/.exec(body) ?? []
  const resent = await browser.post('/oauth/verify-email', { _token: token })
  continues(t, resent, `${site}/sign-in?return_to=%2Foauth%2Fverify-email`)
})

t.test('redirects after forms that lead to pages of svc', async (t) => {
  const { browser, signIn } = await open(t, {})
  redirects(t, await signIn(), '/')
  const confirm = '/account/confirm?return_to=/account/profile'
  redirects(t, await browser.send(confirm, { password: 'correct horse' }), '/account/profile')
  redirects(t, await endOwnSession(browser), '/?signed_out=1')
})

t.test('continues by a page to paths of svc whose own redirects it does not know', async (t) => {
  const { browser, signIn } = await open(t, {})
  await signIn()
  const confirm = `/account/confirm?return_to=${encodeURIComponent('/another/application')}`
  continues(t, await browser.send(confirm, { password: 'correct horse' }), '/another/application')
  const { body } = await browser.open('/account')
  const [, token = ''] = /name="_token" value="([^"]*)"/.exec(body) ?? []
  const switched = { _token: token, language: 'de', return_to: '/another/application' }
  continues(t, await browser.post('/oauth/language', switched), '/another/application')
})
