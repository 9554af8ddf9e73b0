// engine: none
import t from 'tap'
import { axeFindings } from '../support/axe.ts'
import { complaintsOf } from '../support/browser-page.ts'
import { hasChromium, openChromium } from '../support/chromium.ts'
import { addAuthenticator, preventSuggestions } from '../support/chromium-passkeys.ts'
import { ada, startWithAda } from '../support/listening.ts'
import { type Running, runCli } from '../support/process.ts'

/** The last group of this pattern in the mails that svc printed. */
async function printed(svc: Running, pattern: RegExp): Promise<string> {
  await svc.printed(pattern)
  return [...svc.stdout().matchAll(new RegExp(pattern, 'g'))].at(-1)?.[1] ?? ''
}

const code = /sign in to svc:\s+(\d{3} \d{3})/
const link = /(http:\/\/localhost:\d+\/oauth\/email-code\/verify\?code=\d{6})/
const invitation = /(http:\/\/localhost:\d+\/oauth\/invitation\/[\w-]+)/

if (hasChromium(t)) {
  t.test('signs in by mail', async (t) => {
    const svc = await startWithAda(t, {}, { login: { email_code: true } })
    await t.test('with the code, without JavaScript', async (t) => {
      const page = await (await openChromium(t, { javaScriptEnabled: false })).newPage()
      await page.goto(`${svc.url}/oauth/login`)
      await page.fill('#email', ada.email)
      await page.click('#email-code-submit')
      t.match(await page.title(), /^Check your inbox · /)
      await page.fill('#code', '000-000')
      await page.click('#email-code-enter')
      t.match(await page.textContent('[role=alert]'), 'The provided code was incorrect or has expired.')
      await page.fill('#code', await printed(svc, code))
      await page.click('#email-code-enter')
      t.match(await page.textContent('#user-email'), ada.email)
    })

    await t.test('with the link, in the browser that asked, after another browser opened it', async (t) => {
      const browser = await openChromium(t)
      const page = await browser.newPage()
      const complaints = complaintsOf(page)
      await page.goto(`${svc.url}/oauth/email-code`)
      t.same(await axeFindings(page), [])
      await page.fill('#email', ada.email)
      const before = svc.stdout().length
      await page.click('#email-code-send')
      t.same(await axeFindings(page), [])
      await svc.printed(new RegExp(`^[\\s\\S]{${before}}[\\s\\S]*${link.source}`))
      const url = await printed(svc, link)
      const other = await (await openChromium(t)).newPage()
      await other.goto(url)
      t.match(await other.textContent('h1'), 'Enter the code in the other browser')
      const tab = await browser.newPage()
      await tab.goto(url)
      await tab.waitForSelector('#email-code-enter:focus')
      await tab.keyboard.press('Enter')
      await tab.waitForSelector('#sign-out')
      t.match(await tab.textContent('#user-email'), ada.email)
      t.same(complaints, [])
    })
  })

  t.test('accepts an invitation with a passkey, and signs in with it', async (t) => {
    const svc = await startWithAda(t, {}, { registration: { enabled: false } })
    const invite = ['user:invite', '--email=grace@example.com', '--name=Grace Hopper']
    t.equal((await runCli(invite, { cwd: svc.cwd, env: svc.env })).code, 0)
    const url = await printed(svc, invitation)
    const page = await (await openChromium(t)).newPage()
    const complaints = complaintsOf(page)
    await addAuthenticator(await page.context().newCDPSession(page))
    await preventSuggestions(page)
    await page.goto(url)
    await page.locator('#passkey-invitation').waitFor()
    t.same(await axeFindings(page), [])
    await page.click('#passkey-invitation')
    await page.waitForSelector('#sign-out')
    t.match(await page.textContent('#user-email'), 'grace@example.com')
    await page.click('#sign-out')
    await page.goto(`${svc.url}/oauth/login`)
    await page.click('#passkey-login')
    await page.waitForSelector('#sign-out')
    t.match(await page.textContent('#user-email'), 'grace@example.com')
    await page.goto(url)
    t.match(await page.textContent('h1'), 'This invitation is invalid')
    t.equal(complaints.filter((text) => !text.includes('403')).length, 0, complaints.join('\n'))
  })
}
