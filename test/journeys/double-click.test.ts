// engine: none
import type { Page } from 'playwright-core'
import t from 'tap'
import { complaintsOf } from '../support/browser-page.ts'
import { hasChromium, openChromium } from '../support/chromium.ts'
import { startWithAda } from '../support/listening.ts'

/** Clicks a button twice, waits for the response, and returns how many times the browser sent the form. */
async function clickTwice(page: Page, button: string): Promise<number> {
  const left = page.waitForEvent('load')
  const sent = await page.evaluate<number>(`{
    let sent = 0
    addEventListener('submit', ({ defaultPrevented }) => (sent += defaultPrevented ? 0 : 1))
    document.querySelector('${button}').click()
    document.querySelector('${button}').click()
    sent
  }`)
  await left
  return sent
}

if (hasChromium(t)) {
  t.test('sends a form once for a double click', async (t) => {
    const svc = await startWithAda(t, {}, { rate_limits: { login: null } })
    const page = await (await openChromium(t)).newPage()
    const complaints = complaintsOf(page)
    await page.goto(`${svc.url}/oauth/register`)
    await page.fill('#name', 'Bob')
    await page.fill('#email', 'bob@example.com')
    await page.fill('#password', 'correct battery staple')
    t.equal(await clickTwice(page, '#register-submit'), 1)
    t.match(await page.textContent('#user-email'), 'bob@example.com')

    await page.goto(`${svc.url}/account/tokens/new`)
    await page.fill('#name', 'Backup')
    await page.locator('[name="abilities[]"]').first().check()
    t.equal(await clickTwice(page, '#token-submit'), 1)
    t.match(await page.title(), /^Your new token · /)
    t.ok(await page.waitForSelector('#copy:visible'), 'the page can copy the token')
    t.same(complaints, [])
  })
}
