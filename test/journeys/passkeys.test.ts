// engine: none
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import type { BrowserContext, Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { hasChromium, openChromium } from '../support/chromium.ts'
import { addAuthenticator } from '../support/chromium-passkeys.ts'
import { ada, startWithAda } from '../support/listening.ts'
import { freePort, temporaryDirectory } from '../support/process.ts'

const modules = join(import.meta.dirname, '../../node_modules')

/** Both libraries as npm delivers them; one of them includes a version of the other. */
const importMap = {
  imports: {
    '@laravel/passkeys': '/@laravel/passkeys/dist/index.js',
    '@simplewebauthn/browser': '/@simplewebauthn/browser/esm/index.js',
  },
  scopes: {
    '/@laravel/passkeys/': {
      '@simplewebauthn/browser': '/@laravel/passkeys/node_modules/@simplewebauthn/browser/esm/index.js',
    },
  },
}

const html = `<!doctype html><title>SPA</title><link rel="icon" href="data:,">
<input id="email" autocomplete="username webauthn">
<script type="importmap">${JSON.stringify(importMap)}</script>
<script type="module">
  import * as laravel from '@laravel/passkeys'
  import * as simplewebauthn from '@simplewebauthn/browser'
  globalThis.libraries = { ...laravel, ...simplewebauthn }
</script>`

/** The values that the page's modules expose to the journeys. */
interface Libraries {
  Passkeys: typeof import('@laravel/passkeys').Passkeys
  startAuthentication: typeof import('@simplewebauthn/browser').startAuthentication
  startRegistration: typeof import('@simplewebauthn/browser').startRegistration
}

/** Serves the page and the libraries, as the dev server of an SPA does. */
async function servePage(t: Test, port: number): Promise<void> {
  const server = createServer((request, response) => {
    const path = join(modules, new URL(request.url ?? '/', 'http://localhost').pathname)
    const isModule = path.endsWith('.js') && existsSync(path)
    response.setHeader('content-type', isModule ? 'text/javascript' : 'text/html')
    response.end(isModule ? readFileSync(path) : html)
  })
  server.listen(port)
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
}

/** A page with an authenticator that verifies its user, as a phone or laptop does. */
async function openPage(browser: BrowserContext, url: string): Promise<Page> {
  const page = await browser.newPage()
  await addAuthenticator(await browser.newCDPSession(page))
  await page.goto(url)
  await page.waitForFunction('globalThis.libraries')
  return page
}

/** A request of the page's own code. */
const send = (page: Page, method: string, url: string, body?: object): Promise<{ status: number; data: unknown }> =>
  page.evaluate(
    async ({ method, url, body }) => {
      // Sound: this runs in a page.
      const { document } = globalThis as unknown as { document: { cookie: string } }
      const xsrf = /(?:^|; )XSRF-TOKEN=([^;]+)/.exec(document.cookie)?.[1] ?? ''
      const headers = { accept: 'application/json', 'content-type': 'application/json', 'x-xsrf-token': xsrf }
      const init = body === undefined ? {} : { body: JSON.stringify(body) }
      const answer = await fetch(url, { method, headers, credentials: 'include', ...init })
      const text = await answer.text()
      return { status: answer.status, data: text === '' ? null : JSON.parse(text) }
    },
    { method, url, body },
  )

/** One call of @laravel/passkeys, on routes of another origin. */
const callLaravel = (page: Page, base: string, call: 'register' | 'verify' | 'autofill') =>
  page.evaluate(
    async ({ base, call }) => {
      // Sound: the page has loaded the libraries.
      const { Passkeys } = (globalThis as unknown as { libraries: Libraries }).libraries
      Passkeys.configure({ fetch: { credentials: 'include' } })
      const path = call === 'register' ? '/user/passkeys' : '/passkeys/login'
      const routes = { options: `${base}${path}/options`, submit: `${base}${path}` }
      return call === 'register' ? Passkeys.register({ name: 'Laptop', routes }) : Passkeys[call]({ routes })
    },
    { base, call },
  )

/** The browser's part of a ceremony by @simplewebauthn/browser alone; the name of the error if it is rejected. */
const callSimple = (page: Page, call: 'startRegistration' | 'startAuthentication', data: unknown) =>
  page.evaluate(
    async ({ call, data }) => {
      // Sound: the page has loaded the libraries, and svc returns their options.
      const { libraries } = globalThis as unknown as { libraries: Libraries }
      const { options } = data as { options: never }
      return libraries[call]({ optionsJSON: options }).catch((error: Error) => error.name)
    },
    { call, data },
  )

if (hasChromium(t)) {
  t.test('works in a browser on another port with both libraries unchanged', async (t) => {
    const port = await freePort()
    const spa = `http://localhost:${port}`
    const config = join(temporaryDirectory(t), 'svc.yaml')
    writeFileSync(
      config,
      `app: { url: "http://localhost:\${PORT}", frontend_url: "${spa}" }\nsession: { confirmed_by_sign_in: off }\n`,
    )
    const svc = await startWithAda(t, { SVC_CONFIG: config, SVC_STATEFUL_DOMAINS: `localhost:${port}` })
    await servePage(t, port)
    const page = await openPage(await openChromium(t), spa)
    const whoAmI = async () => (await send(page, 'GET', `${svc.url}/api/user`)).status
    const logOut = async () => {
      t.equal((await send(page, 'POST', `${svc.url}/logout`)).status, 200)
      t.equal(await whoAmI(), 401)
    }

    t.equal((await send(page, 'GET', `${svc.url}/svc/csrf-cookie`)).status, 204)
    t.equal((await send(page, 'POST', `${svc.url}/login`, ada)).status, 200)
    await t.rejects(callLaravel(page, svc.url, 'register'), /Password confirmation required/)
    const { password } = ada
    t.equal((await send(page, 'POST', `${svc.url}/user/confirm-password`, { password })).status, 201)
    t.match(await callLaravel(page, svc.url, 'register'), { id: /^\d+$/, name: 'Laptop' })
    await logOut()

    t.strictSame(await callLaravel(page, svc.url, 'verify'), { redirect: `${spa}/` })
    t.match(await send(page, 'GET', `${svc.url}/api/user`), { status: 200, data: { email: ada.email } })

    const confirmation = await send(page, 'GET', `${svc.url}/passkeys/confirm/options`)
    const confirmed = await callSimple(page, 'startAuthentication', confirmation.data)
    t.equal((await send(page, 'POST', `${svc.url}/passkeys/confirm`, { credential: confirmed })).status, 200)
    const creation = await send(page, 'GET', `${svc.url}/user/passkeys/options`)
    t.equal(creation.status, 200, 'which counts as a confirmation')
    t.equal(
      await callSimple(page, 'startRegistration', creation.data),
      'InvalidStateError',
      'the device has one already',
    )
    const list = await send(page, 'GET', `${svc.url}/user/passkeys`)
    t.match(list.data, [{ name: 'Laptop', last_used_at: /Z$/ }])
    await logOut()

    const request = await send(page, 'GET', `${svc.url}/passkeys/login/options`)
    const credential = await callSimple(page, 'startAuthentication', request.data)
    const remembered = await send(page, 'POST', `${svc.url}/passkeys/login`, { credential, remember: true })
    t.match(remembered, { status: 200, data: { redirect: `${spa}/` } })
    t.equal(await whoAmI(), 200)
    const again = await send(page, 'POST', `${svc.url}/passkeys/login`, { credential })
    t.match(again, { status: 422, data: { errors: { credential: [/expired/] } } })
    await logOut()

    t.strictSame(await callLaravel(page, svc.url, 'autofill'), { redirect: `${spa}/` }, 'from the suggestions')
    t.equal(await whoAmI(), 200)
  })
}
