// engine: none
import type { Page } from 'playwright-core'
import t from 'tap'
import { directionOf, languageNames, languages } from '../../src/platform/languages/languages.ts'
import { axeFindings } from '../support/axe.ts'
import { hasChromium, openChromium } from '../support/chromium.ts'
import { buildGallery, galleryPaths } from '../support/gallery.ts'
import { startWithAda } from '../support/listening.ts'
import { keyboardFindings, misnamedControls, widerThan } from '../support/page-checks.ts'

const narrow = { width: 320, height: 640 }

const root = (page: Page) => page.evaluate('[document.documentElement.lang, document.documentElement.dir]')

/** States whose layout differs most, and a share of the others: each state is an example of one language. */
const examplesOf = (language: (typeof languages)[number]): string[] => {
  const first = languages.indexOf(language)
  const plain = galleryPaths.filter((path) => !path.endsWith('-hostile'))
  const share = plain.filter((_path, index) => index % languages.length === first)
  return [...new Set(['/login-full', '/device-confirm', ...share])]
}

if (hasChromium(t)) {
  for (const language of languages) {
    t.test(`fits every page at 320 pixels, and names its controls, in ${languageNames[language]}`, async (t) => {
      const app = await buildGallery(t)
      const url = (await app.listen({ port: 0, host: '127.0.0.1' })).replace('127.0.0.1', 'localhost')
      const page = await (await openChromium(t, { locale: language, viewport: narrow })).newPage()
      for (const path of galleryPaths) {
        const headers = { accept: 'text/html', 'accept-language': language }
        await page.setContent((await app.inject({ url: path, headers })).body, { waitUntil: 'commit' })
        t.ok((await widerThan(page)) <= 0, path)
        t.same(await root(page), [language, directionOf(language)], path)
        t.same(await misnamedControls(page), [], path)
      }
      for (const path of examplesOf(language)) {
        await page.goto(url + path)
        t.same(await axeFindings(page), [], path)
        t.same(await keyboardFindings(page), [], `${path} by keyboard`)
      }
    })
  }

  t.test('switches the language without JavaScript and mirrors the page for Arabic', async (t) => {
    const svc = await startWithAda(t)
    const context = await openChromium(t, { javaScriptEnabled: false, locale: 'de-AT', viewport: narrow })
    const page = await context.newPage()
    await page.goto(`${svc.url}/oauth/login?return_to=%2F&ui_locales=fr`)
    t.match(await page.title(), /^Se connecter · /)
    await page.goto(`${svc.url}/oauth/login?return_to=%2F`)
    t.match(await page.title(), /^Anmelden · /)
    await page.click('.languages summary')
    t.ok((await widerThan(page)) <= 0, 'the open list fits')
    await page.click('.languages [value=ar]')
    t.equal(page.url(), `${svc.url}/oauth/login?return_to=%2F`)
    t.same(await root(page), ['ar', 'rtl'])
    const edges = `[...document.querySelectorAll('.check, .check input')].map((box) => box.getBoundingClientRect().right)`
    const [row, box] = await page.evaluate<number[]>(edges)
    t.equal(box, row, 'the checkbox is at the right edge')
    await page.click('.languages summary')
    await page.click('.languages [value=en]')
    t.match(await page.title(), /^Sign in · /)

    const scripted = await (await openChromium(t, { locale: 'ar', viewport: narrow })).newPage()
    await scripted.goto(`${svc.url}/oauth/login`)
    await scripted.click('.languages summary')
    t.same(await axeFindings(scripted), [], 'the open list in Arabic')
  })
}
