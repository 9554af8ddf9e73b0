// engine: none
// process: own
import { execFile } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { confirming } from '../../../test/support/app.ts'
import { hasChromium, openChromium } from '../../../test/support/chromium.ts'
import { addAuthenticator } from '../../../test/support/chromium-passkeys.ts'
import { ada, startWithAda } from '../../../test/support/listening.ts'
import { freePort, temporaryDirectory } from '../../../test/support/process.ts'
import { codeAt } from '../../../test/support/totp.ts'
import { until } from '../../../test/support/until.ts'
import type * as Library from '../src/client.ts'

const root = resolve(import.meta.dirname, '../../..')

/** Builds the published files of the client. */
async function build(t: Test): Promise<string> {
  const folder = temporaryDirectory(t)
  const tsc = join(root, 'node_modules/typescript/bin/tsc')
  const project = join(import.meta.dirname, '../tsconfig.build.json')
  await promisify(execFile)(process.execPath, [tsc, '-p', project, '--outDir', folder])
  return folder
}

const html = `<!doctype html><title>SPA</title>
<script type="importmap">{ "imports": { "@svc/client": "/client.js" } }</script>
<input autocomplete="username webauthn">`

/** Serves the page and the client, as the dev server of an SPA does. */
async function serveSpa(t: Test, port: number, folder: string): Promise<string> {
  const server = createServer((request, response) => {
    const file = join(folder, new URL(request.url ?? '/', 'http://localhost').pathname)
    const isModule = file.endsWith('.js') && existsSync(file)
    response.setHeader('content-type', isModule ? 'text/javascript' : 'text/html')
    response.end(isModule ? readFileSync(file) : html)
  })
  server.listen(port)
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  return `http://localhost:${port}/`
}

/** What a call in the page resolved to or threw. */
interface Outcome {
  value?: unknown
  error?: { class: string; status: number; code: string; errors: Record<string, string[]>; retryAfter?: number }
}

/** Runs code with the page's client `svc`, as an expression. */
const inPage = (page: Page, base: string, expression: string): Promise<Outcome> =>
  page.evaluate(`(async () => {
    const library = await import('@svc/client')
    const svc = globalThis.svc ??= library.createClient({ baseUrl: ${JSON.stringify(base)} })
    try {
      return { value: await (${expression}) }
    } catch (error) {
      const { status, code, errors, retryAfter, reason } = error
      return { error: { class: error.name, status, code, errors, retryAfter, reason } }
    }
  })()`)

if (hasChromium(t)) {
  const folder = await build(t)
  const port = await freePort()
  const spa = await serveSpa(t, port, folder)
  const browser = await openChromium(t, { switches: ['--host-resolver-rules=MAP *.example.test 127.0.0.1'] })
  const stateful = { SVC_STATEFUL_DOMAINS: `localhost:${port}` }

  /** A page of the SPA in a browser without cookies. */
  const openPage = async (t: Test, url: string, address = spa) => {
    await browser.clearCookies()
    const page = await browser.newPage()
    t.teardown(() => page.close())
    await page.goto(address)
    return { page, call: (expression: string) => inPage(page, url, expression) }
  }
  const login = `svc.login(${JSON.stringify(ada)})`

  t.test('signs in, recovers from a 419 and signs out from a page of another origin', async (t) => {
    const { url } = await startWithAda(t, stateful)
    const { page, call } = await openPage(t, url)
    t.same(await call('svc.userOrNull()'), { value: null })
    t.match(await call('svc.user()'), { error: { class: 'UnauthorizedError', status: 401, code: 'unauthenticated' } })
    t.match(await call(login), { value: { two_factor: false, user: { email: ada.email } } })
    t.match(await call('svc.user()'), { value: { email: ada.email } })

    t.match(await call("svc.tokens.create({ token_name: '' })"), {
      error: { class: 'ValidationError', status: 422, errors: { token_name: [String] } },
    })
    const requests: string[] = []
    page.on('request', (request) => requests.push(`${request.method()} ${new URL(request.url()).pathname}`))
    await page.evaluate("document.cookie = 'XSRF-TOKEN=xforged; path=/'")
    t.match(await call("svc.tokens.create({ token_name: 'page' })"), { value: /^\d+\|/ })
    t.same(
      requests.filter((each) => !each.startsWith('OPTIONS')),
      ['POST /api/tokens/create', 'GET /svc/csrf-cookie', 'POST /api/tokens/create'],
    )
    await call('svc.logout()')
    t.same(await call('svc.userOrNull()'), { value: null })

    const aborted = await call(`svc.user({ signal: AbortSignal.abort() })`)
    t.match(aborted, { error: { class: 'AbortError' } })
  })

  t.test('finds its token among the cookies of other applications on the host', async (t) => {
    const { url } = await startWithAda(t, stateful)
    const { page, call } = await openPage(t, url, `${spa}app/`)
    await page.evaluate("document.cookie = 'XSRF-TOKEN=theirs; path=/app'")
    t.match(await call(login), { value: { two_factor: false } })
    t.match(await call("svc.tokens.create({ token_name: 'page' })"), { value: /^\d+\|/ })
    t.match(await page.evaluate('document.cookie'), /^XSRF-TOKEN=theirs; XSRF-TOKEN=x/)
  })

  t.test('reads the cookie of the configured name', async (t) => {
    const { url } = await startWithAda(t, stateful, { session: { xsrf_cookie: 'SVC-XSRF' } })
    const { page, call } = await openPage(t, url)
    await page.evaluate(`import('@svc/client').then((library) => {
      globalThis.svc = library.createClient({ baseUrl: ${JSON.stringify(url)}, xsrfCookie: 'SVC-XSRF' })
    })`)
    t.match(await call(login), { value: { two_factor: false } })
    t.match(await call("svc.tokens.create({ token_name: 'page' })"), { value: /^\d+\|/ })
  })

  t.test('runs the code of the README', async (t) => {
    const { url } = await startWithAda(t, stateful)
    const { page } = await openPage(t, url)
    const readme = readFileSync(join(root, 'README.md'), 'utf8')
    const [, code = ''] = /^```js\n(import \{ createClient \}.*?)^```$/ms.exec(readme) ?? []
    t.match(code, /svc\.login\(/)
    const content = `${code.replace('http://localhost:8000', url)}\nglobalThis.found = user`
    await page.addScriptTag({ type: 'module', content })
    await page.waitForFunction('globalThis.found')
    t.match(await page.evaluate('globalThis.found'), { email: ada.email })
  })

  t.test('completes a sign-in with a second factor', async (t) => {
    const { url } = await startWithAda(t, stateful, { ...confirming, passkeys: { origins: [new URL(spa).origin] } })
    const { page, call } = await openPage(t, url)
    await addAuthenticator(await browser.newCDPSession(page))
    await call(login)
    t.match(await call('svc.twoFactor.enable()'), {
      error: { class: 'PasswordConfirmationRequiredError', status: 423, code: 'password_confirmation_required' },
    })
    await call(`svc.password.confirm(${JSON.stringify(ada.password)})`)
    await call('svc.twoFactor.enable()')
    const secret = String((await call('svc.twoFactor.secretKey()')).value)
    t.same(await call(`svc.twoFactor.confirm('${codeAt(secret, Date.now())}')`), {})
    await call('svc.logout()')

    t.same(await call(login), { value: { two_factor: true } })
    t.match(await call("svc.twoFactor.challenge({ code: '000000' })"), {
      error: { class: 'ValidationError', errors: { code: [String] } },
    })
    t.same(await call(`svc.twoFactor.challenge({ code: '${codeAt(secret, Date.now(), 1)}' })`), {})
    t.match(await call('svc.user()'), { value: { two_factor_enabled: true } })

    await call(`svc.password.confirm(${JSON.stringify(ada.password)})`)
    await call("svc.passkeys.register('Laptop')")
    await call('svc.logout()')
    t.same(await call(login), { value: { two_factor: true } })
    t.same(await call('svc.passkeys.challenge()'), {})
    t.match(await call('svc.user()'), { value: { email: ada.email } })
  })

  for (const support of ['with the JSON methods', 'without the JSON methods'] as const) {
    t.test(`registers and uses passkeys in a browser ${support}`, async (t) => {
      const { url } = await startWithAda(t, stateful, { ...confirming, passkeys: { origins: [new URL(spa).origin] } })
      const { page, call } = await openPage(t, url)
      const authenticator = await addAuthenticator(await browser.newCDPSession(page))
      if (support === 'without the JSON methods') {
        await page.evaluate(`for (const [holder, name] of [
          [PublicKeyCredential, 'parseCreationOptionsFromJSON'],
          [PublicKeyCredential, 'parseRequestOptionsFromJSON'],
          [PublicKeyCredential.prototype, 'toJSON'],
        ]) delete holder[name]`)
        t.equal(await page.evaluate('typeof PublicKeyCredential.prototype.toJSON'), 'undefined')
      }
      t.same(await call('svc.passkeys.isSupported()'), { value: true })
      await call(login)
      t.match(await call("svc.passkeys.register('Laptop')"), { error: { class: 'PasswordConfirmationRequiredError' } })
      await call(`svc.password.confirm(${JSON.stringify(ada.password)})`)
      t.match(await call("svc.passkeys.register('Laptop')"), { value: { id: /^\d+$/, name: 'Laptop' } })
      t.match(await call("svc.passkeys.register('Again')"), {
        error: { class: 'PasskeyError', reason: 'already_registered', code: 'passkey_already_registered' },
      })
      await call('svc.logout()')

      t.same(await call('svc.passkeys.login({ remember: true })'), { value: { two_factor: false } })
      t.match(await call('svc.user()'), { value: { email: ada.email } })
      t.same(await call('svc.passkeys.confirm()'), {})
      const [passkey] = (await call('svc.passkeys.list()')).value as Library.Passkey[]
      await call(`svc.passkeys.rename('${passkey?.id}', 'Phone')`)
      t.match(await call('svc.passkeys.list()'), { value: [{ name: 'Phone' }] })
      await call('svc.logout()')

      t.same(await call('svc.passkeys.supportsAutofill()'), { value: true })
      t.same(await call('svc.passkeys.login({ autofill: true })'), { value: { two_factor: false } })
      await authenticator.verifyUser(false)
      t.match(await call('svc.passkeys.confirm()'), { error: { class: 'PasskeyError', reason: 'cancelled' } })
      await authenticator.touch(false)
      const abort = `(() => {
        const page = new AbortController()
        const waiting = svc.passkeys.confirm({ signal: page.signal })
        page.abort()
        return waiting
      })()`
      t.match(await call(abort), { error: { class: 'AbortError' } })
      await call(`svc.password.confirm(${JSON.stringify(ada.password)})`)
      await call(`svc.passkeys.delete('${passkey?.id}')`)
      t.same(await call('svc.passkeys.list()'), { value: [] })
    })
  }

  t.test('keeps the passkeys of the browser up to date, and waits for a user who takes long', async (t) => {
    const { url } = await startWithAda(t, stateful, { ...confirming, passkeys: { origins: [new URL(spa).origin] } })
    const { page, call } = await openPage(t, url)
    const authenticator = await addAuthenticator(await browser.newCDPSession(page))
    await call(login)
    await call(`svc.password.confirm(${JSON.stringify(ada.password)})`)
    await call('svc.passkeys.signal()')
    await call("svc.passkeys.register('Laptop')")
    await call(`svc.updateProfile({ name: 'Ada Byron', email: '${ada.email}' })`)
    await call('svc.passkeys.signal()')
    t.match(await authenticator.credentials(), [{ userName: ada.email, userDisplayName: 'Ada Byron' }])
    const remove = 'svc.passkeys.list().then(([{ id }]) => svc.passkeys.delete(id))'
    await call(remove)
    t.same(await authenticator.credentials(), [], 'delete() removes it from the authenticator too')

    await call("svc.passkeys.register('Laptop')")
    await call("svc.passkeys.list().then(([{ id }]) => svc.request('DELETE', '/user/passkeys/{id}', { path: { id } }))")
    t.equal((await authenticator.credentials()).length, 1)
    await call('svc.logout()')
    t.match(await call('svc.passkeys.login()'), { error: { class: 'ValidationError', code: 'unknown_passkey' } })
    t.same(await authenticator.credentials(), [], 'svc does not know it')

    await call(login)
    await call(`svc.password.confirm(${JSON.stringify(ada.password)})`)
    await call("svc.passkeys.register('Laptop')")
    await call('svc.logout()')
    await authenticator.touch(false)
    await page.clock.install()
    await page.reload()
    const challenges: string[] = []
    page.on('request', (request) => {
      if (request.url().endsWith('/passkeys/login/options')) challenges.push(request.url())
    })
    const suggested = call('svc.passkeys.login({ autofill: true })')
    for (const count of [1, 2, 3]) {
      await until(() => challenges.length === count)
      // svc accepts a challenge for six minutes.
      await until(async () => {
        await page.clock.runFor('01:00')
        return challenges.length > count
      })
    }
    await authenticator.touch(true)
    await page.clock.runFor('05:00')
    t.same(await suggested, { value: { two_factor: false } })

    await authenticator.touch(false)
    await page.route('**/passkeys/confirm/options', async (route) => {
      const answer = await route.fetch()
      const { options } = await answer.json()
      await route.fulfill({ response: answer, json: { options: { ...options, timeout: 1_500 } } })
    })
    const confirmed = call('svc.passkeys.confirm()')
    await page.clock.resume()
    t.match(await confirmed, { error: { class: 'PasskeyError', reason: 'timed_out' } })
  })

  t.test('reports how long to wait after too many requests', async (t) => {
    const { url } = await startWithAda(t, stateful, { rate_limits: { login: '2/5m' } })
    const { call } = await openPage(t, url)
    const wrong = `svc.login(${JSON.stringify({ ...ada, password: 'wrong' })})`
    for (const _ of [1, 2]) {
      t.match(await call(wrong), { error: { class: 'UnauthorizedError', errors: { email: [/do not match/] } } })
    }
    const { error } = await call(wrong)
    t.match(error, { class: 'RateLimitedError', status: 429 })
    t.ok(Number(error?.retryAfter) > 1, 'a page of another origin can read Retry-After')
  })

  t.test('reads the CSRF cookie on another subdomain of the session domain', async (t) => {
    const settings = {
      app: { url: `http://id.example.test:\${PORT}`, environment: 'development' },
      session: { domain: '.example.test' },
      server: { host: '127.0.0.1' },
    }
    const app = `http://app.example.test:${port}/`
    const { port: own } = await startWithAda(t, { SVC_STATEFUL_DOMAINS: new URL(app).host }, settings)
    const { call } = await openPage(t, `http://id.example.test:${own}`, app)
    t.match(await call(login), { value: { two_factor: false } })
    t.match(await call("svc.tokens.create({ token_name: 'page' })"), { value: /^\d+\|/ })
    t.same(await call('svc.logout()'), {})
  })

  t.test('reports a page whose origin svc does not list', async (t) => {
    const { url } = await startWithAda(t, { SVC_STATEFUL_DOMAINS: 'localhost:1' })
    const { call } = await openPage(t, url)
    t.match(await call(login), { error: { class: 'NetworkError', status: 0, code: 'network_error' } })
  })
}
