// engine: none
import { decodeJwt } from 'jose'
import type { Page } from 'playwright-core'
import t from 'tap'
import { axeFindings } from '../support/axe.ts'
import { hasChromium, openChromium } from '../support/chromium.ts'
import { addAuthenticator, registerPasskey } from '../support/chromium-passkeys.ts'
import {
  authorization,
  browserErrors,
  type Client,
  redeem,
  secret,
  sent,
  settingsFor,
  signIn,
  startClient,
} from '../support/client-site.ts'
import { startWithAda } from '../support/listening.ts'
import type { Running } from '../support/process.ts'

/** The claims of the ID token for the code that the client received. */
async function claimsAt(page: Page, svc: Running, { callback }: Client) {
  const { code } = await sent(page)
  const own = { client_id: 'shop', client_secret: secret, redirect_uri: callback }
  return decodeJwt((await redeem(svc, { grant_type: 'authorization_code', code, ...own })).id_token ?? '')
}

if (hasChromium(t)) {
  t.test('steps a session up with a passkey at the page that a client asks for', async (t) => {
    const client = await startClient(t)
    const svc = await startWithAda(t, {}, settingsFor(client))
    const browser = await openChromium(t)
    const page = await browser.newPage()
    const complaints = browserErrors(page)
    const authenticator = await addAuthenticator(await browser.newCDPSession(page))
    await page.goto(authorization(svc, client))
    await signIn(page)
    await page.waitForSelector('#consent-approve')
    await registerPasskey(page)
    await page.click('#consent-approve')
    t.match(await claimsAt(page, svc, client), { acr: '1', amr: ['pwd'] })

    await page.goto(authorization(svc, client, { acr_values: 'phr' }))
    t.match(await page.title(), /^Confirm it's you · /)
    await page.waitForSelector('#passkey-confirm:visible')
    t.same(await axeFindings(page), [])
    await authenticator.verifyUser(false)
    await page.click('#passkey-confirm')
    await page.waitForSelector('#passkey-confirm:not([aria-busy])')
    t.match(await page.title(), /^Confirm it's you · /, 'the authenticator did not verify the user')
    await authenticator.verifyUser(true)

    const fail = (route: { fulfill(answer: { status: number; json: object }): Promise<void> }) =>
      route.fulfill({ status: 422, json: { message: 'Invalid passkey.' } })
    await page.route('**/passkeys/confirm', fail)
    await page.click('#passkey-confirm')
    await page.waitForSelector('#passkey-error:visible')
    await page.unroute('**/passkeys/confirm', fail)

    await page.click('#passkey-confirm')
    await page.waitForSelector('#sent')
    t.match(await claimsAt(page, svc, client), { acr: 'phr' })
    await page.goto(authorization(svc, client, { acr_values: 'phr' }))
    t.match(await sent(page), { code: String }, 'the session is now strong enough')
    t.same(complaints, [])
  })
}
