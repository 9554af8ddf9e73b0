// engine: none
import type { BrowserContext, Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { axeFindings } from '../support/axe.ts'
import { afterForm } from '../support/browser-page.ts'
import { hasChromium, openChromium } from '../support/chromium.ts'
import {
  authorization,
  browserErrors,
  redeem,
  requestNewSignIn,
  secret,
  sent,
  settingsFor,
  signIn,
  startClient,
  startDevice,
} from '../support/client-site.ts'
import { ada, startWithAda } from '../support/listening.ts'
import type { Running } from '../support/process.ts'
import { remoteBrowser } from '../support/remote.ts'
import { codeAt } from '../support/totp.ts'
import { until } from '../support/until.ts'

const bob = { email: 'bob@example.com', password: 'correct battery staple' }

/** Another person with an account. */
async function register({ url }: Running): Promise<void> {
  const browser = remoteBrowser(url, { origin: url })
  await browser.get('/svc/csrf-cookie')
  const answer = await browser.post('/register', { name: 'Bob', ...bob, password_confirmation: bob.password })
  if (answer.statusCode !== 201) throw new Error(answer.body)
}

/** Checks the current page, and saves a screenshot on request. */
async function look(t: Test, page: Page, name: string): Promise<void> {
  const folder = process.env.SVC_TEST_PICTURES
  if (folder) await page.screenshot({ path: `${folder}/${name}.png`, fullPage: true })
  t.same(await axeFindings(page), [], name)
}

/** A second factor, as a front end enables it in the session of the browser. */
async function enableSecondFactor({ request }: BrowserContext, svc: Running): Promise<string> {
  const cookies = (await request.storageState()).cookies
  const xsrf = cookies.find(({ name }) => name === 'XSRF-TOKEN')?.value ?? ''
  const headers = { accept: 'application/json', 'x-xsrf-token': xsrf }
  const post = async (path: string, data: object) => {
    const answer = await request.post(svc.url + path, { headers, data })
    if (!answer.ok()) throw new Error(`${path} answered ${answer.status()}`)
  }
  await post('/user/confirm-password', { password: ada.password })
  await post('/user/two-factor-authentication', {})
  const { secretKey } = await (await request.get(`${svc.url}/user/two-factor-secret-key`, { headers })).json()
  // The code before the current one leaves two more for the test. It may expire at any moment, and then the next one is
  // current.
  const confirm = () => post('/user/confirmed-two-factor-authentication', { code: codeAt(secretKey, Date.now(), -1) })
  await until(() =>
    confirm().then(
      () => true,
      () => false,
    ),
  )
  return secretKey
}

if (hasChromium(t)) {
  t.test('signs a person in to an application', async (t) => {
    const client = await startClient(t)
    const svc = await startWithAda(t, {}, settingsFor(client))

    await t.test('without JavaScript: sign-in, consent, denial, and sign-out', async (t) => {
      const page = await (await openChromium(t, { javaScriptEnabled: false })).newPage()
      const complaints = browserErrors(page)
      await page.goto(authorization(svc, client))
      await signIn(page, { ...ada, password: 'a wrong one' })
      t.match(await page.textContent('[role=alert]'), 'Incorrect email or password')
      await signIn(page)
      t.match(await page.title(), /^Authorize · /)
      t.match(await page.textContent('#consent-host'), new URL(client.url).host)
      await page.click('#consent-deny')
      t.match(await sent(page), { method: 'GET', error: 'access_denied', state: 's', iss: svc.url })
      await page.goto(authorization(svc, client))
      await page.click('#consent-approve')
      const { code } = await sent(page)
      const own = { client_id: 'shop', client_secret: secret, redirect_uri: client.callback }
      const tokens = await redeem(svc, { grant_type: 'authorization_code', code, ...own })
      t.match(tokens, { access_token: String, refresh_token: String, id_token: String })
      await page.goto(authorization(svc, client))
      t.match(await sent(page), { code: String }, 'what was allowed is not asked again')

      await requestNewSignIn(page, authorization(svc, client, { response_mode: 'form_post', prompt: 'login' }))
      await signIn(page)
      await page.click('button')
      t.match(await sent(page), { method: 'POST', code: String, iss: svc.url }, 'form_post by a click')

      const bye = { id_token_hint: tokens.id_token ?? '', post_logout_redirect_uri: `${client.url}/bye`, state: 'b' }
      await page.goto(`${svc.url}/oauth/logout?${new URLSearchParams(bye)}`)
      t.match(await page.title(), /^Sign out · /)
      await page.click('#logout-yes')
      await afterForm(page)
      t.match(page.url(), `${client.url}/bye?state=b`)
      await page.goto(authorization(svc, client))
      t.match(await page.title(), /^Sign in · /)
      t.same(complaints, [])
    })

    await t.test('without JavaScript: connects a device', async (t) => {
      const page = await (await openChromium(t, { javaScriptEnabled: false })).newPage()
      const complaints = browserErrors(page)
      const device = await startDevice(svc)
      await page.goto(device.verification_uri ?? '')
      t.match(await page.title(), /^Connect a device · /)
      await page.fill('#user_code', 'WRONGCODE')
      await page.click('#device-submit')
      t.match(await page.textContent('[role=alert]'), /./)
      await page.fill('#user_code', device.user_code ?? '')
      await page.click('#device-submit')
      t.equal(await page.textContent('#user-code'), device.user_code)
      await page.click('#device-confirm')
      await signIn(page)
      await page.click('#consent-approve')
      t.match(await page.textContent('[role=status]'), 'Example TV')
      const grant = { grant_type: 'urn:ietf:params:oauth:grant-type:device_code', client_id: 'tv' }
      t.match(await redeem(svc, { ...grant, device_code: device.device_code ?? '' }), { access_token: String })

      const other = await startDevice(svc)
      await page.goto(other.verification_uri ?? '')
      await page.fill('#user_code', other.user_code ?? '')
      await page.click('#device-submit')
      await page.click('#device-abort')
      t.match(await redeem(svc, { ...grant, device_code: other.device_code ?? '' }), { error: 'access_denied' })
      t.same(complaints, [])
    })

    await t.test('with JavaScript: every page in the real flow, another account, form_post', async (t) => {
      await register(svc)
      const context = await openChromium(t)
      const page = await context.newPage()
      const complaints = browserErrors(page)
      await page.goto(authorization(svc, client, { login_hint: ada.email }))
      t.equal(await page.inputValue('#email'), ada.email)
      await look(t, page, 'login')
      await signIn(page)
      await page.goto(authorization(svc, client, { scope: 'openid orders:read', response_mode: 'form_post' }))
      t.match(await page.textContent('#consent-scopes'), 'Read your orders')
      await look(t, page, 'consent')
      const secretKey = await enableSecondFactor(context, svc)
      await page.click('#consent-switch')
      t.match(await page.title(), /^Sign in · /)
      await signIn(page)
      t.match(await page.title(), /^Two-factor authentication · /)
      await look(t, page, 'challenge')
      await page.fill('#code', codeAt(secretKey, Date.now()))
      await page.click('#challenge-submit')
      await afterForm(page)
      t.match(await page.title(), /^Authorize · /)
      await page.click('#consent-approve')
      await page.waitForSelector('#sent')
      t.match(await sent(page), { method: 'POST', code: String }, 'the form_post page submits itself')

      await page.goto(authorization(svc, client, { prompt: 'consent' }))
      await page.click('#consent-switch')
      await signIn(page, bob)
      t.match(await page.textContent('#consent-user'), bob.email)
      await page.click('#consent-approve')
      const answer = await sent(page)
      const own = { client_id: 'shop', client_secret: secret, redirect_uri: client.callback }
      const tokens = await redeem(svc, { grant_type: 'authorization_code', code: answer.code, ...own })
      const [, claims = ''] = (tokens.id_token ?? '').split('.')
      t.match(
        JSON.parse(Buffer.from(claims, 'base64url').toString()),
        { sub: '2' },
        'the token belongs to the user who consented',
      )
      await requestNewSignIn(page, authorization(svc, client, { prompt: 'login' }))
      await signIn(page)
      await page.fill('#code', codeAt(secretKey, Date.now(), 1))
      await page.click('#challenge-submit')
      await page.waitForSelector('#sent')
      t.match(await sent(page), { code: String }, 'back to the earlier user, without a question')
      await requestNewSignIn(page, authorization(svc, client, { prompt: 'login' }))
      await signIn(page, bob)
      await page.waitForSelector('#sent')

      const device = await startDevice(svc)
      await page.goto(device.verification_uri ?? '')
      await look(t, page, 'device')
      await page.fill('#user_code', 'XXXX')
      await page.click('#device-submit')
      await look(t, page, 'device-wrong')
      await page.goto(device.verification_uri_complete ?? '')
      if (!(await page.locator('#user-code').count())) await page.click('#device-submit')
      await page.waitForSelector('#user-code')
      await look(t, page, 'device-confirm')
      await page.click('#device-confirm')
      await page.click('#consent-approve')
      await page.waitForSelector('[role=status]')
      await look(t, page, 'device-done')

      await page.goto(`${svc.url}/oauth/logout?client_id=shop`)
      await look(t, page, 'logout')
      await page.click('#logout-yes')
      await page.waitForURL(/success/)
      await look(t, page, 'logged-out')
      await page.goto(`${svc.url}/oauth/logout?client_id=shop&post_logout_redirect_uri=${client.url}/bye`)
      await page.waitForURL(`${client.url}/bye`)
      await page.goto(authorization(svc, client, { redirect_uri: `${client.url}/other` }))
      t.match(await page.title(), /^Error · /)
      await look(t, page, 'error')
      t.same(complaints, [])
    })
  })
}
