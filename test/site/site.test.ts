// lane: all
// engine: none
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { extname, join, resolve } from 'node:path'
import t from 'tap'
import { sidebarOf, sitePages } from '../../site/pages.ts'
import { siteTools } from '../../site/tools.ts'
import { hasChromium, openChromium } from '../support/chromium.ts'

const root = resolve(import.meta.dirname, '../..')
const out = mkdtempSync(join(tmpdir(), 'svc-site-'))
t.teardown(() => rmSync(out, { recursive: true, force: true }))

const pages = sitePages(root, 'https://git.example.com/svc')

t.test('has a page for each document, and a group for each role', async (t) => {
  t.ok(pages.some(({ page }) => page === 'docs/guides/index.md'))
  t.notOk(pages.some(({ file }) => file.includes('node_modules')))
  const index = pages.find(({ file }) => file === 'docs/README.md')?.text ?? ''
  const groups = sidebarOf(index)
  t.match(groups[0], {
    text: 'You build an application',
    items: [{ text: 'Tutorial', link: '/docs/tutorial.md' }],
  })
  const linked = new Set(groups.flatMap(({ items }) => items.map(({ link }) => link)))
  for (const { page } of pages.filter(({ page }) => /^docs\/[\w-]+\.md$/.test(page) && page !== 'docs/index.md'))
    t.ok(linked.has(`/${page}`), page)
})

t.test('does not change code, and links to the repository for files without a page', async (t) => {
  const text = pages.map((page) => page.text).join('\n')
  t.match(text, /\]\(https:\/\/git\.example\.com\/svc\/blob\/main\/config\//)
  t.notMatch(text, /\]\(\.\.\/[^)]*\.ts\)/)
  t.notMatch(text, /<!--/)
})

const types: Record<string, string> = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css' }

const skip = !process.env.CI && !siteTools() && 'npm run site:tools'

t.test('builds a website with a search that needs no other host', { skip, timeout: 300_000 }, async (t) => {
  execFileSync(process.execPath, ['site/build.ts', '--out', out], { cwd: root, stdio: 'pipe' })
  for (const { page } of pages) t.ok(existsSync(join(out, page.replace(/\.md$/, '.html'))), page)
  const html = readdirSync(out, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.html'))
  for (const file of html) {
    const loaded = readFileSync(join(out, file), 'utf8').matchAll(
      /<(?:script|link|img)[^>]*(?:src|href)="(https?:[^"]+)"/g,
    )
    t.same(
      [...loaded].map(([, url]) => url),
      [],
      file,
    )
  }
})

if (hasChromium(t)) {
  t.test('finds a configuration key with the search of the website', { skip }, async (t) => {
    const server = createServer((request, response) => {
      const path = join(out, (request.url ?? '/').replace(/[?#].*$/, '').replace(/\/$/, '/index.html'))
      if (!existsSync(path)) return void response.writeHead(404).end()
      response.writeHead(200, { 'content-type': types[extname(path)] ?? 'application/octet-stream' })
      response.end(readFileSync(path))
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    t.teardown(() => server.close())
    const { port } = server.address() as AddressInfo
    const browser = await (await openChromium(t)).newPage()
    const missing: string[] = []
    browser.on('response', (answer) => void (answer.status() >= 400 && missing.push(answer.url())))
    await browser.goto(`http://localhost:${port}/docs/index.html`)
    t.match(await browser.locator('h1').textContent(), /^Documentation/)
    await browser.getByRole('button', { name: 'Search' }).first().click()
    await browser.locator('#localsearch-input').fill('session.bound_interval')
    await browser.locator('.results a').first().click()
    await browser.waitForURL(/\/docs\/[\w-]+\.html/)
    t.match(await browser.locator('main').textContent(), /bound_interval/)
    t.same(missing, [])
  })
}
