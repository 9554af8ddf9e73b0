// engine: none
import t, { type Test } from 'tap'
import { axeFindings } from '../support/axe.ts'
import { hasChromium, openChromium } from '../support/chromium.ts'
import { buildGallery } from '../support/gallery.ts'

/** The address of the gallery. */
async function openGallery(t: Test, settings = {}): Promise<string> {
  const app = await buildGallery(t, settings)
  return (await app.listen({ port: 0, host: '127.0.0.1' })).replace('127.0.0.1', 'localhost')
}

/** What each button posts, with the default button of the form first. */
const postedByButton = `[...document.querySelectorAll('main form button')]
  .map((button) => [button.id, Object.fromEntries(new FormData(button.form, button))])`

if (hasChromium(t)) {
  t.test('posts the value of each button, and denies by default', async (t) => {
    const url = await openGallery(t)
    const page = await (await openChromium(t)).newPage()
    const code = { xsrf: 'secret', user_code: 'WDJB-MJHT' }
    for (const [path, ...buttons] of [
      [
        '/consent',
        ['consent-deny', { _token: '', decision: 'deny' }],
        ['consent-approve', { _token: '', decision: 'approve' }],
      ],
      ['/device-unknown', ['device-submit', code]],
      ['/device-confirm', ['device-abort', { ...code, abort: 'yes' }], ['device-confirm', { ...code, confirm: 'yes' }]],
      ['/logout', ['logout-no', { xsrf: 'secret' }], ['logout-yes', { xsrf: 'secret', logout: 'yes' }]],
    ] as const) {
      await page.goto(url + path)
      t.same(await page.evaluate(postedByButton), buttons, path)
    }
  })

  t.test('finds an error code in the reference', async (t) => {
    const url = await openGallery(t)
    const page = await (await openChromium(t)).newPage()
    await page.goto(`${url}/errors`)
    await page.getByLabel('Search').fill('second factor guard')
    t.match(await page.textContent('#found'), /^[1-9]\d* of \d+ codes$/)
    t.equal(await page.locator('#second_factor_required').isVisible(), true)
    t.equal(await page.locator('.index a[href="#not_found"]').isVisible(), false)
    await page.getByLabel('Search').fill('')
    t.equal(await page.locator('#not_found').isVisible(), true)
  })

  t.test('shows times of the browser, and groups recent activity by its days', async (t) => {
    const url = await openGallery(t)
    for (const [timezoneId, time, day] of [
      ['Pacific/Kiritimati', '12:00', 'Monday, November 23, 2026'],
      ['America/New_York', '5:00', 'Sunday, November 22, 2026'],
    ] as const) {
      const page = await (await openChromium(t, { timezoneId })).newPage()
      await page.goto(`${url}/account-activity-many`)
      await page.waitForSelector('#events > .day')
      t.same(await page.locator('#events h2').allTextContents(), [day])
      t.match(await page.locator('#events time').first().textContent(), time)
      t.match(await page.locator('#events time').first().getAttribute('title'), time)
      t.equal(await page.locator('#events .failure').count(), 1)
    }
    const page = await (await openChromium(t, { javaScriptEnabled: false })).newPage()
    await page.goto(`${url}/account-activity-many`)
    t.equal(await page.locator('#events time').first().textContent(), '1 day ago')
  })

  t.test('applies the style in the colours of the scheme, and the theme over it', async (t) => {
    const colors = { background: 'rgb(1, 2, 3)', 'background-dark': 'rgb(4, 5, 6)' }
    const page = await (await openChromium(t)).newPage()
    const [plain, themed] = [await openGallery(t), await openGallery(t, { theme: { colors } })]
    const background = (): Promise<string> => page.evaluate('getComputedStyle(document.body).backgroundColor')
    const seen: string[] = []
    for (const url of [plain, themed]) {
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme })
        await page.goto(`${url}/login`)
        seen.push(await background())
      }
    }
    t.equal(new Set(seen).size, 4)
    t.same(seen.slice(2), ['rgb(1, 2, 3)', 'rgb(4, 5, 6)'])
  })

  t.test('shows the passkey button only in browsers with passkeys', async (t) => {
    const url = await openGallery(t)
    const page = await (await openChromium(t)).newPage()
    await page.goto(`${url}/login-passkey`)
    const button = page.locator('#passkey-login')
    await button.waitFor()
    t.notOk(await page.isVisible('#passkey-error'), 'unavailable suggestions are no error')
    await button.click()
    await page.waitForSelector('#passkey-error')
    t.ok(await page.locator('#passkey-error').isVisible(), 'the request fails here, and the page reports it')
    t.same(await axeFindings(page), [])
    t.ok(await button.isEnabled())

    const without = await (await openChromium(t, { javaScriptEnabled: false })).newPage()
    await without.goto(`${url}/login-passkey`)
    t.ok(await without.isVisible('#login-submit'))
    t.notOk(await without.isVisible('#passkey-login'))
  })
}
