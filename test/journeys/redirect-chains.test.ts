// engine: none
import { createServer } from 'node:http'
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { hasChromium, openChromium } from '../support/chromium.ts'
import {
  authorization,
  browserErrors,
  requestNewSignIn,
  sent,
  settingsFor,
  signIn,
  startClient,
} from '../support/client-site.ts'
import { ada, startWithAda } from '../support/listening.ts'
import { freePort } from '../support/process.ts'

/** Starts a site that redirects each request to the same path of another site. Closed with the test. */
async function startHop(t: Test, to: string): Promise<string> {
  const server = createServer((request, response) => {
    request.resume()
    response.writeHead(303, { location: to + request.url }).end()
  })
  const port = await freePort()
  server.listen(port, '127.0.0.1')
  t.teardown(() => server.close())
  return `http://127.0.0.1:${port}`
}

if (hasChromium(t)) {
  t.test('reaches applications whose addresses redirect on to other origins', async (t) => {
    const last = await startClient(t)
    const second = await startHop(t, last.url)
    const first = await startHop(t, second)
    const client = { url: first, callback: `${first}/cb` }
    const svc = await startWithAda(t, {}, { ...settingsFor(client), app: { frontend_url: first } })
    const arrives = async (page: Page, path: string) => {
      await page.waitForSelector('#sent')
      t.match(page.url(), last.url + path)
    }

    for (const javaScriptEnabled of [false, true]) {
      await t.test(`with${javaScriptEnabled ? '' : 'out'} JavaScript`, async (t) => {
        const page = await (await openChromium(t, { javaScriptEnabled })).newPage()
        const complaints = browserErrors(page)
        await page.goto(authorization(svc, client, { prompt: 'consent' }))
        await signIn(page)
        await page.click('#consent-deny')
        await arrives(page, '/cb?error=access_denied')
        await page.goto(authorization(svc, client, { prompt: 'consent' }))
        await page.click('#consent-approve')
        await arrives(page, '/cb?code=')

        await requestNewSignIn(page, authorization(svc, client, { prompt: 'login' }))
        await signIn(page)
        await arrives(page, '/cb?code=')

        const posted = authorization(svc, client, { response_mode: 'form_post' })
        await page.goto(posted)
        if (!javaScriptEnabled) await page.click('button')
        await arrives(page, '/cb')
        t.match(await sent(page), { method: 'GET' }, 'form_post, which the first site answers with a redirect')

        const logout = new URLSearchParams({ client_id: 'shop', post_logout_redirect_uri: `${client.url}/bye` })
        await page.goto(`${svc.url}/oauth/logout?${logout}`)
        await page.click('#logout-yes')
        await arrives(page, '/bye')

        await page.goto(`${svc.url}/oauth/login`)
        await signIn(page)
        await arrives(page, '/')
        await page.goto(`${svc.url}/account`)
        await page.click('#sign-out')
        await arrives(page, '/')
        t.same(complaints, [])
      })
    }
  })

  t.test('shows a page that continues, for browsers that do not follow it', async (t) => {
    const client = await startClient(t)
    const svc = await startWithAda(t, {}, settingsFor(client))
    const page = await (await openChromium(t)).newPage()
    // Without its header, the page stays.
    await page.route(`${svc.url}/oauth/login`, async (route) => {
      const response = await route.fetch({ maxRedirects: 0 })
      const { refresh: _, ...headers } = response.headers()
      await route.fulfill({ response, headers })
    })
    await page.goto(authorization(svc, client))
    await page.fill('#email', ada.email)
    await page.fill('#password', ada.password)
    await page.click('#login-submit')
    t.match(await page.textContent('h1'), 'Continue to Example Shop')
    await page.click('#continue')
    t.match(await page.title(), /^Authorize · /)
  })
}
