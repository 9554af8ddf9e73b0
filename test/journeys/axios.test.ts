// engine: none
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { hasChromium, openChromium } from '../support/chromium.ts'
import { ada, startWithAda } from '../support/listening.ts'
import { freePort } from '../support/process.ts'

// The build that a page loads with a script tag.
const axios = readFileSync(join(import.meta.dirname, '../../node_modules/axios/dist/axios.min.js'), 'utf8')

/** What the page received of one answer, if any. */
interface Seen {
  step: string
  status: number | null
  data: Record<string, unknown>
}

/** Serves an empty page with axios, as the dev server of an SPA does. */
async function servePage(t: Test, port: number): Promise<void> {
  const server = createServer((request, response) => {
    const isScript = request.url === '/axios.js'
    response.setHeader('content-type', isScript ? 'text/javascript' : 'text/html')
    response.end(isScript ? axios : '<!doctype html><title>SPA</title><script src="/axios.js"></script>')
  })
  server.listen(port)
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
}

/** The journey in an SPA's own code, run in the page. */
const journey = (page: Page, base: string, email: string, password: string): Promise<Seen[]> =>
  page.evaluate(
    async ({ base, email, password }) => {
      // Sound: the page has loaded axios with a script tag.
      const { axios } = globalThis as unknown as { axios: typeof import('axios').default }
      const http = axios.create({ baseURL: base, withCredentials: true, withXSRFToken: true })
      const seen: Seen[] = []
      const step = async (name: string, method: string, url: string, data?: object) => {
        try {
          const answer = await http.request({ method, url, data })
          seen.push({ step: name, status: answer.status, data: answer.data })
        } catch (error) {
          const { response, code } = error as { response?: { status: number; data: object }; code?: string }
          seen.push({ step: name, status: response?.status ?? null, data: { ...response?.data, axios: code } })
        }
      }
      await step('before', 'get', '/api/user')
      await step('csrf', 'get', '/svc/csrf-cookie')
      await step('wrong', 'post', '/login', { email, password: `${password}!` })
      await step('login', 'post', '/login', { email, password })
      await step('user', 'get', '/api/user')
      await step('token', 'post', '/api/tokens/create', { token_name: 'from the page' })
      await step('logout', 'post', '/logout')
      await step('after', 'get', '/api/user')
      return seen
    },
    { base, email, password },
  )

if (hasChromium(t)) {
  t.test('signs in, reads the user and signs out with axios on another port', async (t) => {
    const [listed, unlisted] = [await freePort(), await freePort()]
    const svc = await startWithAda(t, { SVC_STATEFUL_DOMAINS: `localhost:${listed}` })
    await servePage(t, listed)
    await servePage(t, unlisted)
    const browser = await openChromium(t)

    await t.test('from the listed page', async (t) => {
      const page = await browser.newPage()
      await page.goto(`http://localhost:${listed}/`)
      const seen = await journey(page, svc.url, ada.email, ada.password)
      const statuses = Object.fromEntries(seen.map(({ step, status }) => [step, status]))
      const expected = {
        before: 401,
        csrf: 204,
        wrong: 401,
        login: 200,
        user: 200,
        token: 200,
        logout: 200,
        after: 401,
      }
      t.same(statuses, expected, JSON.stringify(seen))
      const of = (step: string) => seen.find((each) => each.step === step)?.data
      t.match(of('before'), { message: 'Unauthenticated.', code: 'unauthenticated' }, 'errors are readable')
      const text = 'These credentials do not match our records.'
      t.match(of('wrong'), { message: text, errors: { email: [text] } })
      t.match(of('login'), { two_factor: false, user: { email: ada.email } })
      t.match(of('user'), { email: ada.email })
      t.match(of('token'), { token: /^\d+\|/ })
      const cookies = await browser.cookies(svc.url)
      t.match(
        cookies.filter((cookie) => cookie.name !== 'svc_browser').sort((a, b) => a.name.localeCompare(b.name)),
        [
          { name: 'svc_session', httpOnly: true, sameSite: 'Lax' },
          { name: 'XSRF-TOKEN', httpOnly: false, sameSite: 'Lax' },
        ],
      )
    })

    await t.test('rejects a page that is not listed, which can read nothing', async (t) => {
      const page = await browser.newPage()
      const refusals: string[] = []
      page.on('console', (message) => refusals.push(message.text()))
      await page.goto(`http://localhost:${unlisted}/`)
      const seen = await journey(page, svc.url, ada.email, ada.password)
      t.equal(seen.length, 8)
      for (const { step, status, data } of seen)
        t.match({ status, data }, { status: null, data: { axios: 'ERR_NETWORK' } }, step)
      t.ok(
        refusals.some((text) => text.includes('CORS policy')),
        'the browser reports why',
      )
    })

    await t.test('sends no cookie to a page under another name of this machine', async (t) => {
      const page = await browser.newPage()
      await page.goto(`http://127.0.0.1:${listed}/`)
      const seen = await journey(page, svc.url, ada.email, ada.password)
      for (const { status } of seen) t.equal(status, null)
    })
  })
}
