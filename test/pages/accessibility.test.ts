// engine: none
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { axeFindings } from '../support/axe.ts'
import { hasChromium, openChromium } from '../support/chromium.ts'
import { buildGallery, galleryPaths } from '../support/gallery.ts'
import {
  ambiguousButtons,
  focusedId,
  keyboardFindings,
  movingElements,
  smallTargets,
  spaceText,
  spilledTexts,
  widerThan,
} from '../support/page-checks.ts'

const phone = { width: 320, height: 640 }

/** The address of the gallery. */
async function openGallery(t: Test, settings = {}): Promise<string> {
  const app = await buildGallery(t, settings)
  return (await app.listen({ port: 0, host: '127.0.0.1' })).replace('127.0.0.1', 'localhost')
}

const isBlocked = (text: string): boolean => /content security policy/i.test(text)

/** Violations of the page's policy. */
function refusalsOf(page: Page): string[] {
  const refusals: string[] = []
  page.on('console', (message) => void (isBlocked(message.text()) && refusals.push(message.text())))
  page.on('pageerror', (error) => void refusals.push(error.message))
  return refusals
}

const isHostile = (path: string): boolean => path.endsWith('-hostile')

/** Background, border and text color of an element. */
const colorsOf = (page: Page, selector: string): Promise<string> =>
  page.evaluate(`{
    const { backgroundColor, borderTopColor, color } = getComputedStyle(document.querySelector('${selector}'))
    ;[backgroundColor, borderTopColor, color].join()
  }`)

if (hasChromium(t)) {
  t.test('is accessible in every page and state, by mouse, touch and keyboard', async (t) => {
    const url = await openGallery(t, {
      links: { help: 'https://help.example.com', privacy: '/privacy', terms: '/terms' },
    })
    const page = await (await openChromium(t)).newPage()
    const refusals = refusalsOf(page)
    for (const path of galleryPaths) {
      await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' })
      await page.setViewportSize(phone)
      await page.goto(url + path)
      const hasErrors = (await page.locator('#form-error[role=alert]').count()) > 0
      if (hasErrors) t.equal(await focusedId(page), 'form-error', `${path} moves the focus to the errors`)
      t.ok((await widerThan(page)) <= 0, `${path} fits 320 pixels`)
      t.same(await spilledTexts(page), [], `${path} keeps texts in their boxes`)
      t.same(await smallTargets(page), [], `${path} has large enough targets`)
      t.same(await ambiguousButtons(page), [], `${path} says what each button of a list is for`)
      t.same(await movingElements(page), [], `${path} does not move where people prefer reduced motion`)
      t.same(await axeFindings(page), [], path)
      if (!isHostile(path)) t.same(await keyboardFindings(page), [], `${path} by keyboard`)
      await page.emulateMedia({ colorScheme: 'dark' })
      t.same(await axeFindings(page, 'color-contrast'), [], `${path} in the dark`)
      await spaceText(page)
      t.ok((await widerThan(page)) <= 0, `${path} fits with wider spacing of text`)
      await page.setViewportSize({ width: 640, height: 400 })
      t.ok((await widerThan(page)) <= 0, `${path} fits 1280 pixels at 200 %`)
    }
    t.same(refusals, [])
    const bad = '<img src=/x><input><p style="color: #777">x</p>'
    await page.evaluate(`document.body.insertAdjacentHTML('beforeend', ${JSON.stringify(bad)})`)
    t.match((await axeFindings(page)).join(), /image-alt[\s\S]*label/, 'axe detects violations')
    t.match(refusals, [/content security policy/i], 'and the policy blocks an inline style')
  })

  t.test('detects what a keyboard user cannot reach or see', async (t) => {
    const url = await openGallery(t)
    const page = await (await openChromium(t, { viewport: phone })).newPage()
    await page.goto(`${url}/login`)
    await page.evaluate(`{
      const [email, password, submit] = ['email', 'password', 'login-submit'].map((id) => document.getElementById(id))
      email.addEventListener('focus', () => email.blur())
      password.style.setProperty('outline', 'none', 'important')
      document.querySelector('main').style.display = 'flex'
      document.querySelector('main').style.flexDirection = 'column-reverse'
    }`)
    const findings = (await keyboardFindings(page)).join()
    t.match(findings, 'focus not visible: <input id="password"')
    t.match(findings, 'focus jumps up')
  })

  t.test('links past the menu of the account pages', async (t) => {
    const url = await openGallery(t)
    const page = await (await openChromium(t)).newPage()
    await page.goto(`${url}/account-sessions`)
    await page.keyboard.press('Tab')
    t.equal(await page.evaluate('document.activeElement.textContent'), 'Skip to the content')
    await page.keyboard.press('Enter')
    await page.keyboard.press('Tab')
    t.ok(await page.evaluate(`document.activeElement.matches('main button')`), 'the next control is in the content')
  })

  t.test('keeps the focus in a password field that gets its tools', async (t) => {
    const url = await openGallery(t)
    const page = await (await openChromium(t)).newPage()
    await page.goto(`${url}/account-confirm`)
    await page.waitForSelector('.reveal')
    t.equal(await focusedId(page), 'password')
  })

  t.test('prints recovery codes in black on white, on one sheet, without controls', async (t) => {
    const colors = { text: '#123456', 'text-dark': '#fedcba', 'surface-dark': '#000000' }
    const url = await openGallery(t, { theme: { colors } })
    const page = await (await openChromium(t)).newPage()
    await page.emulateMedia({ media: 'print', colorScheme: 'dark' })
    await page.goto(`${url}/account-recovery-codes`)
    t.equal(await page.locator('#recovery-codes code:visible').count(), 8)
    t.ok(await page.isVisible('.brand'), 'the sheet names the service')
    t.equal(await page.locator(':is(a, button, summary):visible').count(), 0)
    t.match(await colorsOf(page, '#recovery-codes'), /^rgb\(255, 255, 255\),.*rgb\(0, 0, 0\)$/)
    t.match(await colorsOf(page, 'body'), /^rgb\(255, 255, 255\)/)
    t.equal((await page.pdf()).toString('latin1').match(/\/Type \/Page\b(?!s)/g)?.length, 1)
  })

  t.test('shows states in the colours of the system', async (t) => {
    const url = await openGallery(t)
    const page = await (await openChromium(t)).newPage()
    await page.emulateMedia({ forcedColors: 'active' })
    await page.goto(`${url}/login-failed`)
    t.not(await colorsOf(page, '#login-submit'), await colorsOf(page, '.reveal'), 'the main button stands out')
    const widthOf = (selector: string, side: string) =>
      page.evaluate(`getComputedStyle(document.querySelector('${selector}')).border${side}Width`)
    t.equal(await widthOf('#email', 'Top'), '3px', 'an invalid field has a thick border')
    t.equal(await widthOf('.note', 'Top'), '1px')
    t.same(await keyboardFindings(page), [])
    t.same(await axeFindings(page), [])
    await page.goto(`${url}/account-two-factor-setup`)
    t.equal(await widthOf('.menu [aria-current]', 'InlineStart'), '3px', 'the current section has a bar')
    t.equal(await page.evaluate(`getComputedStyle(document.querySelector('.qr')).forcedColorAdjust`), 'none')
  })
}
