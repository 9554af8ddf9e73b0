// engine: none
import type { Page, Route } from 'playwright-core'
import t from 'tap'
import { axeFindings } from '../support/axe.ts'
import { complaintsOf, submitSignIn } from '../support/browser-page.ts'
import { hasChromium, openChromium } from '../support/chromium.ts'
import { addAuthenticator, registerPasskey } from '../support/chromium-passkeys.ts'
import { ada, startWithAda } from '../support/listening.ts'
import { until } from '../support/until.ts'

/** Counts the page's calls to the authenticator, before any script of the page runs. */
const countRequests = `(() => {
  const get = navigator.credentials.get.bind(navigator.credentials)
  window.requestsToAuthenticator = 0
  navigator.credentials.get = (options) => {
    window.requestsToAuthenticator++
    return get(options)
  }
})()`
/** Lets every call fail at once with an error of the browser, as while a page is being left. */
const failAtOnce = `(() => {
  window.requestsToAuthenticator = 0
  PublicKeyCredential.isConditionalMediationAvailable = async () => true
  navigator.credentials.get = async () => {
    window.requestsToAuthenticator++
    throw new DOMException('', 'UnknownError')
  }
})()`
const requestsToAuthenticator = (page: Page) => page.evaluate<number>('window.requestsToAuthenticator')

if (hasChromium(t)) {
  t.test("serves svc's own pages to a person without a front end", async (t) => {
    const svc = await startWithAda(t)
    await t.test('without JavaScript: password, home, sign-out', async (t) => {
      const page = await (await openChromium(t, { javaScriptEnabled: false })).newPage()
      await page.goto(`${svc.url}/`)
      await page.click('#sign-in')
      t.match(await page.title(), /^Sign in · /)
      await submitSignIn(page, 'a wrong one')
      t.match(await page.textContent('[role=alert]'), 'Incorrect email or password.')
      t.equal(await page.inputValue('#email'), ada.email)
      await submitSignIn(page)
      t.equal(page.url(), `${svc.url}/`)
      t.match(await page.textContent('#user-email'), ada.email)
      await page.click('#sign-out')
      t.equal(page.url(), `${svc.url}/?signed_out=1`)
      t.equal(await page.textContent('h1'), 'You are signed out')
      t.equal(await page.locator('#sign-in').count(), 1)
    })

    await t.test('with JavaScript: passkey by its button and from the suggestions', async (t) => {
      const browser = await openChromium(t)
      const page = await browser.newPage()
      const complaints = complaintsOf(page, /status of 401/)
      const authenticator = await addAuthenticator(await browser.newCDPSession(page))
      await page.goto(`${svc.url}/oauth/login`)
      await page.locator('#passkey-login').waitFor()
      t.same(await axeFindings(page), [])
      await submitSignIn(page, 'a wrong one')
      t.same(await axeFindings(page), [])
      await submitSignIn(page)
      await page.waitForSelector('#sign-out')
      t.same(await axeFindings(page), [])
      await registerPasskey(page)

      await authenticator.touch(false)
      await page.click('#sign-out')
      // The suggestions ask before the authenticator is touched, and keep waiting afterwards.
      await page.addInitScript(countRequests)
      const suggestions = page.waitForResponse('**/passkeys/login/options')
      await page.goto(`${svc.url}/oauth/login?return_to=${encodeURIComponent('/?verified=1')}`)
      await (await suggestions).finished()
      await until(async () => (await requestsToAuthenticator(page)) > 0)
      await authenticator.touch(true)
      await page.locator('#passkey-login').click()
      await page.waitForURL(`${svc.url}/?verified=1`)
      t.match(await page.textContent('#user-email'), ada.email)

      await page.click('#sign-out')
      await page.click('#sign-in')
      await page.waitForURL(`${svc.url}/`)
      t.match(await page.textContent('#user-email'), ada.email, 'chosen among the suggestions')
      t.same(complaints, [])
    })

    await t.test('offers passkeys once, without a complaint, in a browser that fails at once', async (t) => {
      const page = await (await openChromium(t)).newPage()
      await page.addInitScript(failAtOnce)
      await page.goto(`${svc.url}/oauth/login`)
      await until(async () => (await requestsToAuthenticator(page)) > 0)
      // A page that asks again does so between these requests.
      for (let i = 0; i < 10; i++) await page.evaluate("fetch('/health/live').then((answer) => answer.text())")
      t.equal(await requestsToAuthenticator(page), 1)
      t.notOk(await page.locator('#passkey-error').isVisible())
      await submitSignIn(page)
      await page.waitForSelector('#sign-out')
    })

    await t.test('handles a click on the passkey button before the suggestions are ready', async (t) => {
      const browser = await openChromium(t)
      const page = await browser.newPage()
      const authenticator = await addAuthenticator(await browser.newCDPSession(page))
      await authenticator.touch(false)
      const requests: Route[] = []
      await page.route('**/passkeys/login/options', (route) => void requests.push(route))
      const suggestions = page.waitForRequest('**/passkeys/login/options')
      await page.goto(`${svc.url}/oauth/login`)
      await suggestions
      const clicked = page.waitForRequest('**/passkeys/login/options')
      const button = page.locator('#passkey-login')
      await button.click()
      await clicked
      // A request is reported before it reaches its handler.
      await until(() => requests.length === 2)
      for (const route of requests.reverse()) {
        const answered = page.waitForResponse('**/passkeys/login/options')
        await route.continue()
        await (await answered).finished()
        // A later answer: the page has processed the one before.
        await page.evaluate("fetch('/health/live').then((answer) => answer.text())")
        t.ok(await button.isDisabled(), 'the button still waits for the authenticator')
      }
    })
  })
}
