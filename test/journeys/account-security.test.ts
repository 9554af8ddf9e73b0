// engine: none
import { readFileSync } from 'node:fs'
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { confirming } from '../support/app.ts'
import { axeFindings } from '../support/axe.ts'
import { complaintsOf, submitSignIn } from '../support/browser-page.ts'
import { hasChromium, openChromium } from '../support/chromium.ts'
import { addAuthenticator } from '../support/chromium-passkeys.ts'
import { ada, startWithAda } from '../support/listening.ts'
import { codeAt } from '../support/totp.ts'

/** Signs in, and returns to a page of the account. */
async function openSignedIn(page: Page, url: string, path: string): Promise<void> {
  await page.goto(`${url}${path}`)
  await submitSignIn(page)
}

/** Confirms the password where a page asks for it. */
async function confirmPassword(page: Page): Promise<void> {
  await page.fill('#password', ada.password)
  await page.click('#confirm-submit')
}

async function passesAxe(t: Test, page: Page): Promise<void> {
  t.same(await axeFindings(page), [], page.url())
}

const visibleText = (page: Page): Promise<string> => page.evaluate<string>('document.body.innerText')

if (hasChromium(t)) {
  t.test('sets up two-factor authentication with an authenticator app, and signs in with it', async (t) => {
    const svc = await startWithAda(t, {}, confirming)
    const page = await (await openChromium(t)).newPage()
    const complaints = complaintsOf(page, /status of 422/)
    await openSignedIn(page, svc.url, '/account/two-factor')
    await passesAxe(t, page)
    await page.click('#set-up-two-factor')
    await confirmPassword(page)
    const shown = (await page.textContent('#secret-key')) ?? ''
    const secret = shown.replaceAll(' ', '')
    const box = await page.locator('#qr-code svg').boundingBox()
    t.ok(box && box.width > 150 && box.width === box.height, 'the QR code is visible')
    await passesAxe(t, page)
    await page.fill('#code', 'abcdef')
    await page.click('#confirm-two-factor')
    await page.waitForSelector('[role=alert]')
    t.equal(await page.textContent('#secret-key'), shown)
    await passesAxe(t, page)
    await page.fill('#code', codeAt(secret, Date.now()))
    await page.click('#confirm-two-factor')
    const codes = await page.locator('#recovery-codes code').allTextContents()
    t.equal(codes.length, 8)
    await passesAxe(t, page)

    const [download] = await Promise.all([page.waitForEvent('download'), page.click('#download-codes')])
    t.equal(download.suggestedFilename(), 'recovery-codes.txt')
    t.match(readFileSync(await download.path(), 'utf8'), codes.join('\r\n'))
    t.ok(await page.isVisible('#print-codes'))
    await page.emulateMedia({ media: 'print' })
    const printed = await visibleText(page)
    for (const code of codes) t.match(printed, code)
    for (const id of ['#print-codes', '#download-codes', '#codes-saved', '#sign-out', '.menu'])
      t.notOk(await page.locator(id).first().isVisible(), `${id} is not printed`)
    await page.emulateMedia({ media: 'screen' })
    await page.click('#codes-saved')
    t.match(await page.textContent('#codes-left'), '8')
    await passesAxe(t, page)

    await page.click('#sign-out')
    await openSignedIn(page, svc.url, '/account/two-factor')
    t.match(await page.title(), /^Two-factor authentication · /)
    await page.click('summary')
    await page.fill('#recovery_code', codes[0] ?? '')
    await page.click('#recovery-submit')
    t.match(await page.textContent('#codes-left'), '7')
    await page.click('#disable-two-factor')
    await confirmPassword(page)
    await page.click('#disable-submit')
    await page.waitForSelector('#set-up-two-factor')
    t.match(await page.textContent('[role=status]'), 'Two-factor authentication is off.')
    t.same(complaints, [])
  })

  t.test('adds, renames and removes a passkey', async (t) => {
    const svc = await startWithAda(t, {}, confirming)
    const browser = await openChromium(t)
    const page = await browser.newPage()
    const complaints = complaintsOf(page, /status of 423/)
    await addAuthenticator(await browser.newCDPSession(page))
    await openSignedIn(page, svc.url, '/account/passkeys')
    t.ok(await page.isVisible('#no-passkeys'))
    await passesAxe(t, page)
    await page.click('#add-passkey')
    await confirmPassword(page)
    await page.waitForSelector('#passkey-add:visible')
    t.match(await page.inputValue('#name'), 'on Linux')
    await passesAxe(t, page)
    await page.fill('#name', '')
    await page.click('#passkey-add')
    t.equal(await page.evaluate('document.activeElement.id'), 'passkey-add')
    t.ok(page.url().endsWith('/account/passkeys/new'), 'a passkey needs a name')
    await page.fill('#name', 'Laptop')
    await page.press('#name', 'Enter')
    await page.waitForURL('**/account/passkeys?done=passkey_added')
    t.match(await page.textContent('#passkeys'), 'Laptop')
    await passesAxe(t, page)

    await page.click('#add-passkey')
    await page.click('#passkey-add')
    await page.waitForSelector('#passkey-exists:visible')
    await passesAxe(t, page)
    await page.goBack()

    await page.click('#passkeys a')
    await passesAxe(t, page)
    await page.fill('#name', 'Work laptop')
    await page.click('#passkey-rename')
    t.match(await page.textContent('#passkeys'), 'Work laptop')
    await page.click('#passkeys a')
    await page.click('#passkey-remove')
    await page.waitForSelector('#no-passkeys')
    t.match(await page.textContent('[role=status]'), 'Your passkey is removed.')
    t.same(complaints, [])
  })

  t.test('asks again for the password if the confirmation expires while a passkey is added', async (t) => {
    const svc = await startWithAda(t, {}, confirming)
    const page = await (await openChromium(t)).newPage()
    await openSignedIn(page, svc.url, '/account/passkeys/new')
    await confirmPassword(page)
    await page.waitForSelector('#passkey-add:visible')
    await page.route('**/user/passkeys/options', (route) => route.fulfill({ status: 423, json: {} }))
    const [again] = await Promise.all([page.waitForRequest('**/account/passkeys/new'), page.click('#passkey-add')])
    t.equal(again.method(), 'GET', 'the page loads again, which asks for the password when necessary')
  })

  t.test('explains that passkeys need JavaScript and a browser with WebAuthn', async (t) => {
    const svc = await startWithAda(t, {}, confirming)
    const without = await (await openChromium(t, { javaScriptEnabled: false })).newPage()
    await openSignedIn(without, svc.url, '/account/passkeys/new')
    await confirmPassword(without)
    t.match(await visibleText(without), 'Passkeys require JavaScript.')
    t.notOk(await without.isVisible('#passkey-add'))
    const old = await (await openChromium(t)).newPage()
    await old.addInitScript('delete window.PublicKeyCredential')
    await openSignedIn(old, svc.url, '/account/passkeys/new')
    await confirmPassword(old)
    await old.waitForSelector('#passkey-unsupported:visible')
    t.notOk(await old.isVisible('#passkey-add'))
    await passesAxe(t, old)
  })
}
