// npm run screenshots: takes the pictures of the README.
import { mkdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { buildGallery } from '../support/gallery.ts'
import { launchChromium } from '../support/launch-chromium.ts'

const folder = resolve(import.meta.dirname, '../../docs/images')
const pictures = { login: { width: 520, height: 640 }, account: { width: 1100, height: 640 } }

mkdirSync(folder, { recursive: true })
const closing: (() => unknown)[] = []
try {
  const app = await buildGallery({ teardown: (close) => void closing.push(close) }, { app: { name: 'Acme' } })
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  const browser = await launchChromium()
  closing.push(() => browser.close())
  for (const [name, viewport] of Object.entries(pictures)) {
    const page = await browser.newPage({ viewport })
    await page.goto(`${url}/${name}`)
    await page.screenshot({ path: join(folder, `${name}.png`) })
  }
} finally {
  for (const close of closing.reverse()) await close()
}
