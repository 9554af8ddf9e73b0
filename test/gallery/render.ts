// npm run gallery [-- words]: takes pictures of every page in every state and variant, into gallery/, with an index.
// Words limit it to states whose names contain one of them.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Page } from 'playwright-core'
import { buildGallery, galleryPaths } from '../support/gallery.ts'
import { launchChromium } from '../support/launch-chromium.ts'
import { renderIndex } from './index-page.ts'
import { type Variant, variants, variantsOf } from './variants.ts'

const MAX_HEIGHT = 4_000

const folder = resolve(import.meta.dirname, '../../gallery')
const words = process.argv.slice(2)
const states = galleryPaths
  .map((path) => path.slice(1))
  .filter((state) => words.length === 0 || words.some((word) => state.includes(word)))

const closing: (() => unknown)[] = []
try {
  rmSync(folder, { recursive: true, force: true })
  const links = { help: '/help', privacy: '/privacy', terms: '/terms' }
  const settings = { app: { name: 'Example' }, links }
  const app = await buildGallery({ teardown: (close) => void closing.push(close) }, settings)
  const url = (await app.listen({ port: 0, host: '127.0.0.1' })).replace('127.0.0.1', 'localhost')
  const browser = await launchChromium()
  closing.push(() => browser.close())
  for (const [name, variant] of Object.entries(variants)) {
    mkdirSync(join(folder, name), { recursive: true })
    const page = await browser.newPage({ locale: variant.language, viewport: variant.viewport })
    for (const state of states.filter((state) => variantsOf(state).includes(name))) {
      await takePicture(page, `${url}/${state}`, variant, join(folder, name, `${state}.jpeg`))
    }
    await page.close()
  }
  writeFileSync(join(folder, 'index.html'), renderIndex(states))
  process.stdout.write(`${states.length} states: ${join(folder, 'index.html')}\n`)
} finally {
  for (const close of closing.reverse()) await close()
}

/** Takes a picture of the whole page. */
async function takePicture(page: Page, url: string, { media, viewport }: Variant, path: string): Promise<void> {
  await page.emulateMedia({ reducedMotion: 'reduce', ...media })
  await page.goto(url)
  const height = await page.evaluate<number>('document.documentElement.scrollHeight')
  const clip = { x: 0, y: 0, width: viewport.width, height: Math.min(height, MAX_HEIGHT) }
  await page.screenshot({ path, type: 'jpeg', quality: 80, fullPage: true, clip })
}
