// npm run docs [-- --out <folder>] [--base /path/]: builds the documentation as a static website with search.
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { runTool } from '../test/support/tool-cache.ts'
import { type Page, sidebarOf, sitePages } from './pages.ts'
import { siteTools } from './tools.ts'

const root = resolve(import.meta.dirname, '..')

const { values } = parseArgs({
  options: { out: { type: 'string', default: join(root, 'site', 'out') }, base: { type: 'string', default: '/' } },
})
const tools = siteTools()
if (!tools) throw new Error('The generator is not installed: npm run site:tools')
const { version, description, repository } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const home = repository.url.replace(/^git\+|\.git$/g, '')
const pages = sitePages(root, home)

mkdirSync(join(root, '.tap'), { recursive: true })
const work = mkdtempSync(join(root, '.tap', 'site-'))
try {
  for (const page of pages) write(page)
  for (const images of ['docs/images', 'bench/results']) copyImages(images)
  mkdirSync(join(work, '.vitepress'))
  writeFileSync(join(work, '.vitepress', 'config.mjs'), `export default ${JSON.stringify(settings())}\n`)
  symlinkSync(join(tools, 'node_modules'), join(work, 'node_modules'))
  await runTool(work, process.execPath, [join(tools, 'node_modules/vitepress/bin/vitepress.js'), 'build', work])
  rmSync(values.out, { recursive: true, force: true })
  cpSync(join(work, '.vitepress', 'dist'), values.out, { recursive: true })
} finally {
  rmSync(work, { recursive: true, force: true })
}
process.stdout.write(`${resolve(values.out)}\n`)

function write({ page, text }: Page): void {
  mkdirSync(dirname(join(work, page)), { recursive: true })
  writeFileSync(join(work, page), text)
}

function copyImages(folder: string): void {
  const filter = (source: string) => !/\.[a-z]+$/.test(source) || /\.(svg|png)$/.test(source)
  cpSync(join(root, folder), join(work, folder), { recursive: true, filter })
}

function settings() {
  const index = pages.find(({ file }) => file === 'docs/README.md')?.text ?? ''
  return {
    title: 'svc',
    description,
    base: values.base,
    // svc itself, in examples.
    ignoreDeadLinks: 'localhostLinks',
    markdown: { html: false },
    themeConfig: {
      search: { provider: 'local' },
      nav: [
        { text: 'Documentation', link: '/docs/index.md' },
        { text: version, link: '/CHANGELOG.md' },
      ],
      sidebar: sidebarOf(index),
      outline: [2, 3],
      socialLinks: [],
    },
  }
}
