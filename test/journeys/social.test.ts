// engine: none
import type { BrowserContext, Page } from 'playwright-core'
import t from 'tap'
import { axeFindings } from '../support/axe.ts'
import { hasChromium, openChromium } from '../support/chromium.ts'
import { browserErrors } from '../support/client-site.ts'
import { ada, startWithAda } from '../support/listening.ts'
import { OidcProvider } from '../support/oidc-provider.ts'
import { freePort } from '../support/process.ts'

const grace = { sub: 'grace', email: 'grace@example.com', email_verified: true, name: 'Grace Acme' }
const work = { sub: 'ada-at-work', email: 'ada@work.example', email_verified: false, name: 'Ada at Work' }

/** A front end's request to svc in the session of the browser. */
async function ask({ request }: BrowserContext, url: string, method: string, data?: object) {
  const xsrf = (await request.storageState()).cookies.find(({ name }) => name === 'XSRF-TOKEN')?.value ?? ''
  const headers = { accept: 'application/json', 'x-xsrf-token': xsrf }
  const answer = await request.fetch(url, { method, headers, ...(data ? { data } : {}) })
  if (!answer.ok()) throw new Error(`${method} ${url} answered ${answer.status()} ${await answer.text()}`)
  return answer.status() === 204 ? null : JSON.parse((await answer.text()) || 'null')
}

/** Signs in at the provider. */
async function allow(page: Page, login: string): Promise<void> {
  await page.selectOption('#login', login)
  await page.click('#allow')
}

/** Waits until the browser has returned through the callback. */
const returned = (page: Page, url: string) =>
  page.waitForURL((at) => at.origin === url && !at.pathname.startsWith('/auth/'))

if (hasChromium(t)) {
  for (const same_site of ['lax', 'strict']) {
    t.test(`signs in by another provider, links one and unlinks it: ${same_site}`, async (t) => {
      const port = await freePort()
      const url = `http://localhost:${port}`
      const acme = await OidcProvider.start(t, [grace, work], [`${url}/auth/acme/callback`])
      const settings = { app: { url }, session: { same_site }, social: { acme: { ...acme.settings, label: 'Acme' } } }
      const svc = await startWithAda(t, { PORT: String(port) }, settings)

      await t.test('without JavaScript: the button, denial, consent', async (t) => {
        const page = await (await openChromium(t, { javaScriptEnabled: false })).newPage()
        const complaints = browserErrors(page)
        await page.goto(`${url}/oauth/login`)
        t.same(acme.calls, [], 'the provider is not called before')
        await page.click('a[href^="/auth/acme/redirect"]')
        t.ok(page.url().startsWith(acme.issuer))
        await page.click('#deny')
        await returned(page, svc.url)
        t.match(page.url(), 'access_denied')
        await page.goto(`${url}/oauth/login`)
        await page.click('a[href^="/auth/acme/redirect"]')
        await allow(page, 'grace')
        await returned(page, svc.url)
        await page.goto(`${url}/`)
        t.match(await page.textContent('#user-email'), grace.email)
        t.same(complaints, [])
      })

      await t.test('with JavaScript: links in a session, signs in by it, unlinks', async (t) => {
        const context = await openChromium(t)
        const page = await context.newPage()
        const complaints = browserErrors(page)
        await page.goto(`${url}/oauth/login`)
        t.same(await axeFindings(page), [])
        const folder = process.env.SVC_TEST_PICTURES
        if (folder) await page.screenshot({ path: `${folder}/social-login.png`, fullPage: true })
        await page.fill('#email', ada.email)
        await page.fill('#password', ada.password)
        await page.click('#login-submit')
        await page.waitForSelector('#sign-out')
        await ask(context, `${url}/user/confirm-password`, 'POST', { password: ada.password })
        const begun = await ask(context, `${url}/user/social-accounts/acme`, 'POST', {})
        await page.goto(begun.url)
        await allow(page, work.sub)
        await returned(page, svc.url)
        const linked = await ask(context, `${url}/user/social-accounts`, 'GET')
        t.match(linked, [{ provider: 'acme', email: work.email }])

        await page.goto(`${url}/`)
        await page.click('#sign-out')
        await page.goto(`${url}/oauth/login`)
        await page.click('a[href^="/auth/acme/redirect"]')
        await returned(page, svc.url)
        await page.goto(`${url}/`)
        t.match(
          await page.textContent('#user-email'),
          ada.email,
          'the provider recognized the browser, and svc its user',
        )

        await ask(context, `${url}/user/confirm-password`, 'POST', { password: ada.password })
        await ask(context, `${url}/user/social-accounts/${linked[0].id}`, 'DELETE')
        t.same(await ask(context, `${url}/user/social-accounts`, 'GET'), [])
        await page.goto(`${url}/`)
        await page.click('#sign-out')
        await page.goto(`${url}/oauth/login`)
        await page.click('a[href^="/auth/acme/redirect"]')
        await returned(page, svc.url)
        await page.goto(`${url}/`)
        t.equal(await page.locator('#user-email').count(), 0, 'it grants no access any more')
        t.same(complaints, [])
      })
    })
  }
}
