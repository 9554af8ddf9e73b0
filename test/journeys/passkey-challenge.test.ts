// engine: none
import t from 'tap'
import { axeFindings } from '../support/axe.ts'
import { complaintsOf, submitSignIn } from '../support/browser-page.ts'
import { hasChromium, openChromium } from '../support/chromium.ts'
import { addAuthenticator, preventSuggestions, registerPasskey } from '../support/chromium-passkeys.ts'
import { startWithAda } from '../support/listening.ts'
import { codeAt } from '../support/totp.ts'

if (hasChromium(t)) {
  t.test('completes a sign-in by password with a passkey in place of a code', async (t) => {
    const svc = await startWithAda(t)
    const browser = await openChromium(t)
    const page = await browser.newPage()
    const complaints = complaintsOf(page, /409/)
    const authenticator = await addAuthenticator(await browser.newCDPSession(page))
    await preventSuggestions(page)
    await page.goto(`${svc.url}/oauth/login`)
    await submitSignIn(page)
    await registerPasskey(page)
    const send = (method: string, path: string, body: object | null = null) =>
      page.evaluate<{ secretKey: string }>(`(async () => {
        const headers = { accept: 'application/json', 'content-type': 'application/json' }
        const answer = await fetch('${path}', { method: '${method}', headers, body: ${JSON.stringify(body && JSON.stringify(body))} })
        if (!answer.ok) throw new Error('${path} answered ' + answer.status)
        return answer.json()
      })()`)
    await send('POST', '/user/two-factor-authentication')
    const { secretKey } = await send('GET', '/user/two-factor-secret-key')
    await send('POST', '/user/confirmed-two-factor-authentication', { code: codeAt(secretKey, Date.now()) })
    await page.goto(svc.url)
    await page.click('#sign-out')

    const start = `${svc.url}/oauth/login?return_to=%2Faccount%2Fsessions`
    await page.goto(start)
    await submitSignIn(page)
    await page.waitForSelector('#passkey-confirm:visible')
    t.equal(await page.evaluate('document.activeElement.id'), 'code')
    t.same(await axeFindings(page), [])
    await authenticator.verifyUser(false)
    await page.click('#passkey-confirm')
    await page.waitForSelector('#passkey-confirm:not([aria-busy])')
    t.ok(await page.isVisible('#code'), 'the authenticator did not verify the user')
    await authenticator.verifyUser(true)
    await page.click('#passkey-confirm')
    await page.waitForURL(`${svc.url}/account/sessions`)

    await page.goto(svc.url)
    await page.click('#sign-out')
    await page.goto(start)
    await submitSignIn(page)
    await page.waitForSelector('#passkey-confirm:visible')
    await page.route('**/passkeys/challenge/options', (route) => route.fulfill({ status: 409, json: {} }))
    await page.click('#passkey-confirm')
    await page.waitForSelector('#password')
    t.equal(new URL(page.url()).searchParams.get('return_to'), '/account/sessions', 'an expired sign-in starts over')
    t.same(complaints, [])
  })
}
