// engine: none
import t from 'tap'
import { axeFindings } from '../support/axe.ts'
import { hasChromium, openChromium } from '../support/chromium.ts'
import { buildGallery } from '../support/gallery.ts'

if (hasChromium(t)) {
  t.test('shows and hides a password, and hides it before the form is sent', async (t) => {
    const app = await buildGallery(t)
    const url = (await app.listen({ port: 0, host: '127.0.0.1' })).replace('127.0.0.1', 'localhost')
    const page = await (await openChromium(t)).newPage()
    await page.goto(`${url}/login`)
    const [field, button] = [page.locator('#password'), page.getByRole('button', { name: 'Show password' })]
    await field.fill('correct horse')
    t.equal(await field.getAttribute('type'), 'password')
    await button.click()
    t.equal(await field.getAttribute('type'), 'text')
    t.equal(await button.getAttribute('aria-pressed'), 'true')
    t.equal(await page.evaluate('document.activeElement.id'), 'password', 'the field keeps the focus')
    t.same(await axeFindings(page), [])
    await page.evaluate(`document.forms[0].addEventListener('submit', (event) => event.preventDefault())`)
    await page.fill('#email', 'ada@example.com')
    await page.click('#login-submit')
    t.equal(await field.getAttribute('type'), 'password')
    t.equal(await field.inputValue(), 'correct horse')
  })

  t.test('estimates the strength of a new password, and warns about Caps Lock', async (t) => {
    const app = await buildGallery(t)
    const url = (await app.listen({ port: 0, host: '127.0.0.1' })).replace('127.0.0.1', 'localhost')
    const page = await (await openChromium(t)).newPage()
    await page.goto(`${url}/register`)
    const strength = page.locator('[data-part=strength]')
    for (const [password, text] of [
      ['short', 'too short'],
      ['aaaaaaaaaaaaaaaaaaaaaa', 'weak'],
      ['password1', 'weak'],
      ['correct horse b', 'good'],
      ['Nine purple (elephants) walk slowly', 'strong'],
      ['', ''],
    ] as const) {
      await page.fill('#password', password)
      t.match(await strength.textContent(), text, password)
    }
    const capsLock = (isOn: boolean) => `{
      const event = new KeyboardEvent('keydown', { key: 'A', modifierCapsLock: ${isOn}, bubbles: true })
      document.getElementById('password').dispatchEvent(event)
    }`
    const note = page.locator('[data-part=caps]')
    await page.evaluate(capsLock(true))
    t.equal(await note.textContent(), 'Caps Lock is on.')
    t.same(await axeFindings(page), [])
    await page.evaluate(capsLock(false))
    t.equal(await note.textContent(), '')
    await page.goto(`${url}/login`)
    t.equal(await strength.count(), 0, 'a present password is not rated')
  })

  t.test('offers no tools without JavaScript', async (t) => {
    const app = await buildGallery(t)
    const url = (await app.listen({ port: 0, host: '127.0.0.1' })).replace('127.0.0.1', 'localhost')
    const page = await (await openChromium(t, { javaScriptEnabled: false })).newPage()
    await page.goto(`${url}/register`)
    t.equal(await page.locator('.reveal').count(), 0)
    t.ok(await page.isVisible('#password'))
  })
}
