// engine: none
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { complaintsOf, submitSignIn } from '../support/browser-page.ts'
import { hasChromium, openChromium } from '../support/chromium.ts'
import { ada, startWithAda } from '../support/listening.ts'

const text = async (page: Page, selector: string): Promise<string> => (await page.textContent(selector)) ?? ''

const json = async (page: Page): Promise<Record<string, unknown>> => JSON.parse(await text(page, 'body'))

/** The page fits its window, and its text is legible. */
async function looksRight(t: Test, page: Page, name: string): Promise<void> {
  for (const [width, height] of [
    [360, 740],
    [1280, 800],
  ] as const) {
    await page.setViewportSize({ width, height })
    const overflow = await page.evaluate('document.documentElement.scrollWidth - window.innerWidth')
    t.ok(Number(overflow) <= 0, `${name} fits ${width} pixels`)
    const folder = process.env.SVC_TEST_SCREENSHOTS
    if (folder) await page.screenshot({ path: `${folder}/${name}-${width}.png`, fullPage: true })
  }
}

/** The whole journey through the test page. */
async function walk(t: Test, page: Page, url: string): Promise<void> {
  await page.goto(`${url}/test-login`)
  await looksRight(t, page, 'login')
  await submitSignIn(page, 'a wrong one')
  t.match(await text(page, '[role=alert]'), 'These credentials do not match our records.')
  await looksRight(t, page, 'login-failed')

  await submitSignIn(page)
  t.equal(page.url(), `${url}/test-tokens`)
  t.match(await text(page, '#flash'), 'Token test-token created.')
  const token = await text(page, '#token')
  t.match(token, /^\d+\|\w{48}$/)
  await looksRight(t, page, 'tokens')
  const link = await page.getAttribute('#token-link', 'href')

  await page.click('#token-link')
  t.match(await json(page), { email: ada.email })
  await page.goBack()
  t.equal(await page.locator('#flash').count(), 0, 'the flash is shown once')
  await page.click('#session-link')
  t.match(await json(page), { email: ada.email })
  await page.goBack()
  await page.reload()
  t.equal(await page.locator('#flash').count(), 0)
  t.equal(await page.locator('#tokens li').count(), 1)

  await page.click('#tokens button')
  t.equal(page.url(), `${url}/test-tokens`)
  t.match(await text(page, '#flash'), 'Token revoked.')
  t.equal(await page.locator('#tokens li').count(), 0)
  await looksRight(t, page, 'tokens-revoked')
  await page.reload()
  t.equal(await page.locator('#flash').count(), 0, 'and is gone after a reload')
  t.equal(page.url(), `${url}/test-tokens`)

  // Elsewhere only the token counts, and it is revoked.
  await page.context().clearCookies()
  await page.goto(`${url}${link}`)
  t.match(await text(page, 'h1'), 'You are not signed in')
}

if (hasChromium(t)) {
  t.test('signs in, creates a token and tries it', async (t) => {
    const svc = await startWithAda(t)
    await t.test('in a browser', async (t) => {
      const browser = await openChromium(t)
      const page = await browser.newPage()
      const complaints = complaintsOf(page)
      await walk(t, page, svc.url)
      const expected = /the server responded with a status of 401/
      t.same(
        complaints.filter((text) => !expected.test(text)),
        [],
      )
      // The style was applied, so its nonce fits the policy.
      await page.goto(`${svc.url}/test-login`)
      t.equal(await page.evaluate('getComputedStyle(document.querySelector("main")).maxWidth'), '416px')
    })
    await t.test('without JavaScript', async (t) => {
      const browser = await openChromium(t, { javaScriptEnabled: false })
      await walk(t, await browser.newPage(), svc.url)
    })
  })
}
