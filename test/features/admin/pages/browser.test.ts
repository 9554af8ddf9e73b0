// engine: none
import t from 'tap'
import { openAdminPages } from '../../../support/admin-pages.ts'
import { complaintsOf } from '../../../support/browser-page.ts'
import { hasChromium, openChromium } from '../../../support/chromium.ts'
import { freePort } from '../../../support/process.ts'

if (hasChromium(t)) {
  t.test('shows new events while the administrator follows them', async (t) => {
    const port = await freePort()
    const url = `http://localhost:${port}`
    const { svc, admin } = await openAdminPages(t, { app: { url } })
    await svc.app.listen({ port, host: '127.0.0.1' })
    svc.clock.advance(60_000)
    const page = await (await openChromium(t)).newPage()
    const complaints = complaintsOf(page)
    await page.goto(`${url}/oauth/login`)
    await page.fill('#email', admin.email)
    await page.fill('#password', 'correct horse')
    await page.click('#login-submit')
    await page.fill('#code', admin.code())
    await page.press('#code', 'Enter')
    await page.waitForURL(`${url}/`)
    await page.click('#admin')
    await page.click('.tiles a[href="/admin/events"]')
    const count = () => page.locator('#trail > li').count()
    const before = await count()
    await page.click('#follow')
    await page.waitForSelector('#follow[aria-pressed=true]')
    await svc.browser({ url, origin: url }).signIn('nobody@example.com', 'wrong password')
    await page.waitForSelector('#trail >> text=Failed sign-in')
    t.ok((await count()) > before)
    await page.click('#follow')
    t.equal(await page.getAttribute('#follow', 'aria-pressed'), 'false')
    t.same(complaints, [])
  })
}
