// engine: none
import t from 'tap'
import { axeFindings } from '../support/axe.ts'
import { complaintsOf, submitSignIn } from '../support/browser-page.ts'
import { hasChromium, openChromium } from '../support/chromium.ts'
import {
  addAuthenticator,
  answerConditionalCreate,
  preventSuggestions,
  registerPasskey,
} from '../support/chromium-passkeys.ts'
import { startWithAda } from '../support/listening.ts'
import { until } from '../support/until.ts'

if (hasChromium(t)) {
  t.test('saves a passkey after a sign-in by password without a question', async (t) => {
    const svc = await startWithAda(t)
    const browser = await openChromium(t)
    const page = await browser.newPage()
    const complaints = complaintsOf(page)
    await addAuthenticator(await browser.newCDPSession(page))
    await answerConditionalCreate(page)
    await page.goto(`${svc.url}/oauth/login`)
    await submitSignIn(page)
    await page.waitForSelector('#passkey-created:not([hidden])')
    t.equal(await page.locator('#passkey-offer').count(), 0, 'the offer is gone')
    t.same(await axeFindings(page), [])
    await page.goto(`${svc.url}/account/passkeys`)
    t.match(await page.textContent('main'), 'on Linux')
    await page.goto(svc.url)
    t.equal(await page.locator('#passkey-created').count(), 0, 'once')
    t.same(complaints, [])
  })

  t.test('offers the passkey first where one was used, and the password form without JavaScript', async (t) => {
    const svc = await startWithAda(t)
    const browser = await openChromium(t)
    const page = await browser.newPage()
    const complaints = complaintsOf(page)
    await addAuthenticator(await browser.newCDPSession(page))
    await preventSuggestions(page)
    await page.goto(`${svc.url}/oauth/login`)
    await page.locator('#passkey-login').waitFor()
    t.notOk(await page.locator('.preferred').count(), 'not before')
    await submitSignIn(page)
    await page.waitForSelector('#sign-out')
    await registerPasskey(page)
    await page.click('#sign-out')
    await page.goto(`${svc.url}/oauth/login`)
    await page.click('#passkey-login')
    await page.waitForSelector('#sign-out')
    await page.click('#sign-out')
    await page.goto(`${svc.url}/oauth/login`)
    await page.waitForSelector('#passkey-login:focus')
    const top = (id: string) => page.evaluate<number>(`document.getElementById('${id}').getBoundingClientRect().top`)
    t.ok((await top('passkey-login')) < (await top('email')), 'above the form')
    const color = (id: string) => page.evaluate(`getComputedStyle(document.getElementById('${id}')).backgroundColor`)
    // The colors of buttons change slowly.
    await until(async () => (await color('passkey-login')) !== (await color('login-submit')))
    t.pass('one primary button')
    t.same(await axeFindings(page), [])
    await page.keyboard.press('Enter')
    await page.waitForSelector('#sign-out')
    t.same(complaints, [])

    const scriptless = await openChromium(t, { javaScriptEnabled: false })
    await scriptless.addCookies((await browser.cookies()).filter(({ name }) => name === 'svc_passkey_used'))
    const plain = await scriptless.newPage()
    await plain.goto(`${svc.url}/oauth/login`)
    t.equal(await plain.locator('.preferred').count(), 1)
    t.notOk(await plain.isVisible('#passkey-login'))
    t.not(
      await plain.evaluate(`getComputedStyle(document.getElementById('login-submit')).backgroundColor`),
      'rgba(0, 0, 0, 0)',
    )
    await submitSignIn(plain)
    t.equal(plain.url(), `${svc.url}/`)
  })
}
