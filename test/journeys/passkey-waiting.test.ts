// engine: none
import type { Page } from 'playwright-core'
import t from 'tap'
import { submitSignIn } from '../support/browser-page.ts'
import { hasChromium, openChromium } from '../support/chromium.ts'
import { addAuthenticator, registerPasskey } from '../support/chromium-passkeys.ts'
import { ada, startWithAda } from '../support/listening.ts'
import { until } from '../support/until.ts'

/** Records the page's ceremonies and the signals that it sends, before any script of the page runs. */
const record = `(() => {
  globalThis.ceremonies = 0
  globalThis.signals = []
  const get = navigator.credentials.get.bind(navigator.credentials)
  navigator.credentials.get = (options) => {
    globalThis.ceremonies++
    return get(options)
  }
  for (const name of ['signalUnknownCredential', 'signalAllAcceptedCredentials', 'signalCurrentUserDetails']) {
    const send = PublicKeyCredential[name].bind(PublicKeyCredential)
    PublicKeyCredential[name] = async (facts) => {
      await send(facts)
      globalThis.signals.push({ name, ...facts })
    }
  }
})()`

const ceremonies = (page: Page) => page.evaluate<number>('ceremonies')
const signals = (page: Page) => page.evaluate<Record<string, unknown>[]>('signals')

if (hasChromium(t)) {
  t.test('a sign-in page that stays open for hours still offers the passkey', async (t) => {
    const svc = await startWithAda(t)
    const page = await (await openChromium(t)).newPage()
    const authenticator = await addAuthenticator(await page.context().newCDPSession(page))
    await page.goto(`${svc.url}/oauth/login`)
    await submitSignIn(page)
    await registerPasskey(page)
    await page.click('#sign-out')

    await authenticator.touch(false)
    await page.clock.install()
    await page.addInitScript(record)
    await page.goto(`${svc.url}/oauth/login`)
    await until(async () => (await ceremonies(page)) === 1)
    for (const renewals of [1, 2, 3]) {
      // svc accepts a challenge for six minutes.
      await page.clock.runFor('05:00')
      await until(async () => (await ceremonies(page)) > renewals)
    }
    t.ok(await page.isHidden('#passkey-error'), 'renewing shows nothing')

    await page.route('**/passkeys/login/options', (route) => route.abort())
    await page.clock.runFor('05:00')
    await page.unroute('**/passkeys/login/options')
    const before = await ceremonies(page)
    await page.clock.runFor('05:00')
    await until(async () => (await ceremonies(page)) > before)
    // The virtual authenticator answers what begins from now on.
    await authenticator.touch(true)
    await page.clock.runFor('05:00')
    await page.waitForURL(`${svc.url}/`)
    t.match(await page.textContent('#user-email'), ada.email, 'after svc was unreachable for a while')
  })

  t.test('shows a timeout as one, and offers the passkey again', async (t) => {
    const svc = await startWithAda(t)
    const page = await (await openChromium(t)).newPage()
    const authenticator = await addAuthenticator(await page.context().newCDPSession(page))
    await authenticator.touch(false)
    await page.addInitScript(record)
    let timeout = 300_000
    await page.route('**/passkeys/login/options', async (route) => {
      const answer = await route.fetch()
      const { options } = await answer.json()
      t.equal(options.timeout, 300_000)
      await route.fulfill({ response: answer, json: { options: { ...options, timeout } } })
    })
    await page.goto(`${svc.url}/oauth/login`)
    await until(async () => (await ceremonies(page)) === 1)
    timeout = 1_500
    await page.click('#passkey-login')
    await until(async () => (await ceremonies(page)) === 2)
    timeout = 300_000
    await page.waitForSelector('#passkey-timed-out:visible')
    t.match(await page.textContent('#passkey-error'), /The time to use your passkey ran out\. Try again\./)
    t.ok(await page.isHidden('#passkey-failed'))
    await until(async () => (await ceremonies(page)) === 3)
  })

  t.test('tells the browser about removed passkeys and about changes of the user', async (t) => {
    const svc = await startWithAda(t)
    const browser = await openChromium(t)
    const page = await browser.newPage()
    const authenticator = await addAuthenticator(await browser.newCDPSession(page))
    await page.goto(`${svc.url}/oauth/login`)
    await submitSignIn(page)
    await registerPasskey(page)
    await page.addInitScript(record)
    await page.goto(`${svc.url}/account/profile`)
    t.same(await signals(page), [], 'nothing has changed')
    await page.fill('#name', 'Ada Byron')
    await page.click('#profile-submit')
    await until(async () => (await signals(page)).length === 2)
    const [accepted, details] = await signals(page)
    const common = { rpId: 'localhost', userId: /^[\w-]{20,}$/ }
    t.match(accepted, { name: 'signalAllAcceptedCredentials', ...common, allAcceptedCredentialIds: [String] })
    t.match(details, { ...common, name: ada.email, displayName: 'Ada Byron' })

    await page.goto(`${svc.url}/account/passkeys`)
    await page.click('#passkeys a')
    await page.click('#passkey-remove')
    await until(async () => (await signals(page)).length === 2)
    t.match(await signals(page), [{ allAcceptedCredentialIds: [] }, {}])

    t.same(await authenticator.credentials(), [], 'the authenticator has removed it too')

    await registerPasskey(page)
    await page.evaluate(`(async () => {
      const [{ id }] = await (await fetch('/user/passkeys', { headers: { accept: 'application/json' } })).json()
      await fetch('/user/passkeys/' + id, { method: 'DELETE', headers: { accept: 'application/json' } })
    })()`)
    t.equal((await authenticator.credentials()).length, 1)
    await page.click('#sign-out')
    await page.goto(`${svc.url}/oauth/login`)
    await until(async () => (await signals(page)).length > 0)
    await authenticator.touch(false)
    t.match((await signals(page)).slice(0, 1), [
      { name: 'signalUnknownCredential', rpId: 'localhost', credentialId: String },
    ])
    t.ok(await page.isVisible('#passkey-failed'))
    t.same(await authenticator.credentials(), [])
  })
}
