// engine: none
import type { Page } from 'playwright-core'
import t from 'tap'
import { hasChromium } from '../support/chromium.ts'
import {
  identity,
  openSitesBrowser,
  postForm,
  postFormSilently,
  type Sites,
  signedInAt,
  signInAt,
  startSites,
  unsafeForms,
} from '../support/sites.ts'

const secret = 'a-secret-that-is-long-enough'

/** A client that never asks for consent, on the other site. */
const settings =
  (same_site: string) =>
  ({ other }: Sites['at']) => ({
    session: { same_site },
    rate_limits: { login: null },
    clients: [
      {
        client_id: 'shop',
        type: 'confidential',
        first_party: true,
        secret,
        redirect_uris: [`${other}/cb`],
        grants: ['authorization_code'],
      },
    ],
  })

/** Posts to each address with a script that cannot read the responses. */
const fetchAll = (page: Page, urls: string[]): Promise<void> =>
  page.evaluate(async (all) => {
    const options = { method: 'POST', mode: 'no-cors', credentials: 'include' } as const
    for (const url of all) await fetch(url, options).catch(() => undefined)
  }, urls)

if (hasChromium(t)) {
  t.test('another site', async (t) => {
    const browser = await openSitesBrowser(t)
    for (const same_site of ['lax', 'strict', 'none']) {
      await t.test(`cannot sign a visitor out by any form or fetch: ${same_site}`, async (t) => {
        await browser.clearCookies()
        const sites = await startSites(t, settings(same_site), browser)
        const { at, svc } = sites
        const { email } = await svc.createUser()
        const page = await browser.newPage()
        await signInAt(sites, page, email)
        const before = await identity(browser, sites)
        t.equal(Object.keys(before).length, 2, 'the session and its XSRF token')
        const all = await unsafeForms(sites)
        t.ok(all.length > 40, `${all.length} forms`)
        await page.goto(at.other)
        for (const { path, fields } of all) {
          await postFormSilently(sites, page, at.svc + path, fields)
          t.same(await identity(browser, sites), before, `POST ${path} ${fields._method ?? ''}`)
        }
        // Browsers reject SameSite cookies of such responses themselves.
        if (same_site === 'none')
          await fetchAll(
            page,
            all.map(({ path }) => at.svc + path),
          )
        t.same(await identity(browser, sites), before, 'by fetch')
        t.equal(await signedInAt(sites, page), email)

        await t.test('can post an authorization request, and svc recognizes the visitor', async (t) => {
          const query = { client_id: 'shop', response_type: 'code', redirect_uri: `${at.other}/cb`, scope: 'openid' }
          await page.goto(at.other)
          await postForm(page, `${at.svc}/oauth/authorize`, { ...query, prompt: 'none', state: 's' })
          await page.waitForURL(`${at.other}/cb**`)
          t.match(page.url(), /[?&]code=/)
          t.equal(await signedInAt(sites, page), email)
        })

        await t.test('can post a sign-out: svc asks the visitor by name, then signs out', async (t) => {
          await page.goto(at.other)
          await postForm(page, `${at.svc}/oauth/logout`, { client_id: 'shop' })
          await page.waitForSelector('#logout-yes')
          t.match(await page.textContent('main'), email)
          await page.click('#logout-yes')
          await page.waitForURL(/success/)
          t.equal(await signedInAt(sites, page), null)
        })
        await page.close()
      })
    }
  })
}
