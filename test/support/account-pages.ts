import type { Test } from 'tap'
import { buildTestApp, confirming, type Settings, type TestApp } from './app.ts'
import { credentials, redirectOf, ScriptlessBrowser } from './plain.ts'

/** A signed-in user with a browser without scripts, whose sign-in is no confirmation. */
export async function openAccount(t: Test, settings: Settings = {}) {
  const session = { ...confirming.session, ...Object(settings.session) }
  const svc = await buildTestApp(t, { settings: { ...settings, session } })
  return { svc, ...(await addAccount(t, svc)) }
}

/** Another signed-in user of the app. */
export async function addAccount(t: Test, svc: TestApp) {
  const user = await svc.createUser()
  const browser = new ScriptlessBrowser(svc)
  t.match(redirectOf(await browser.send('/oauth/login', credentials(user.email))), [303])
  return { user, browser }
}

/** Confirms the password where a page asks for it, and returns to the page. */
export async function confirmAt(t: Test, browser: ScriptlessBrowser, path: string): Promise<void> {
  const confirm = `/account/confirm?return_to=${encodeURIComponent(path)}`
  t.strictSame(redirectOf(await browser.open(path)), [303, confirm])
  t.strictSame(redirectOf(await browser.send(confirm, { password: 'correct horse' })), [303, path])
}

/** Posts a form without fields, with the token of a page. */
export async function press(browser: ScriptlessBrowser, page: string, path: string) {
  const { body } = await browser.open(page)
  return browser.post(path, { _token: /name="_token" value="([^"]*)"/.exec(body)?.[1] ?? '' })
}

/** Targets of the forms on a page that match the pattern. */
export const formsOn = (body: string, pattern: RegExp): string[] =>
  [...body.matchAll(/<form method="post" action="([^"]+)"[^>]*>/g)].flatMap(([, action = '']) =>
    pattern.test(action) ? [action] : [],
  )

/** Checks that svc rejects the form from other sites and without the token. */
export async function rejectsForgeries(t: Test, browser: ScriptlessBrowser, path: string): Promise<void> {
  const headers = { accept: 'text/html', 'content-type': 'application/x-www-form-urlencoded' }
  const foreign = { ...headers, origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }
  t.equal((await browser.browser.send('POST', path, Buffer.from(''), foreign)).statusCode, 419, path)
  t.equal((await browser.post(path, {})).statusCode, 419, `${path} without the token`)
}

/** Checks that a section is not found where the configuration hides it. */
export async function hides(t: Test, section: string, settings: Settings = {}): Promise<void> {
  const { browser } = await openAccount(t, { ...settings, account: { sections: ['profile'] } })
  t.equal((await browser.open(`/account/${section}`)).statusCode, 404)
  t.notMatch((await browser.open('/account')).body, `/account/${section}"`)
}
