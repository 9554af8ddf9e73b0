// engine: none
import { createServer } from 'node:http'
import t from 'tap'
import { hasChromium, openChromium } from '../support/chromium.ts'
import {
  authorization,
  browserErrors,
  requestNewSignIn,
  sent,
  settingsFor,
  startClient,
  startDevice,
} from '../support/client-site.ts'
import { ada, startWithAda } from '../support/listening.ts'
import { freePort } from '../support/process.ts'

if (hasChromium(t)) {
  t.test("signs in on the application's own page", async (t) => {
    const client = await startClient(t)
    const spa = await freePort()
    const origin = `http://localhost:${spa}`
    const svc = await startWithAda(
      t,
      { SVC_STATEFUL_DOMAINS: `localhost:${spa}` },
      {
        ...settingsFor(client),
        links: { login: `${origin}/sign-in` },
      },
    )
    const server = createServer((_request, response) => {
      response.setHeader('content-type', 'text/html')
      response.end(`<!doctype html><title>SPA</title><button id="go">Sign in</button><script>
        document.getElementById('go').onclick = async () => {
          const send = (path, body) => fetch('${svc.url}' + path, {
            method: body ? 'POST' : 'GET', credentials: 'include', body: body && JSON.stringify(body),
            headers: { accept: 'application/json', ...(body && { 'content-type': 'application/json',
              'x-xsrf-token': document.cookie.match(/XSRF-TOKEN=([^;]+)/)?.[1] ?? '' }) },
          })
          await send('/svc/csrf-cookie')
          await send('/login', ${JSON.stringify(ada)})
          location.href = '${svc.url}' + new URLSearchParams(location.search).get('return_to')
        }
      </script>`)
    })
    server.listen(spa, 'localhost')
    t.teardown(() => server.close())
    const page = await (await openChromium(t)).newPage()
    const complaints = browserErrors(page)
    await page.goto(authorization(svc, client))
    t.match(page.url(), `${origin}/sign-in?return_to=%2Foauth%2Finteraction%2F`)
    await page.click('#go')
    await page.waitForSelector('#consent-approve')
    t.match(await page.getAttribute('#consent-switch', 'href'), origin)
    await page.click('#consent-approve')
    t.match(await sent(page), { code: String, iss: svc.url })
    await requestNewSignIn(page, authorization(svc, client, { prompt: 'login' }))
    t.match(page.url(), `${origin}/sign-in`)
    t.same(complaints, [])

    const other = await (await openChromium(t)).newPage()
    const refused = browserErrors(other)
    const device = await startDevice(svc)
    await other.goto(device.verification_uri ?? '')
    await other.fill('#user_code', device.user_code ?? '')
    await other.click('#device-submit')
    await other.click('#device-confirm')
    await other.waitForURL(/sign-in/)
    await other.click('#go')
    await other.click('#consent-approve')
    t.match(await other.textContent('[role=status]'), 'Example TV')
    t.same(refused, [])
  })
}
