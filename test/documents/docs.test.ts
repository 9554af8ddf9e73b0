// engine: none
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import t from 'tap'

const root = resolve(import.meta.dirname, '../..')

const filesIn = (folder: string, pattern: RegExp): string[] =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => pattern.test(file))
    .map((file) => join(folder, file))

const pages = [
  ...readdirSync(root).filter((file) => file.endsWith('.md')),
  ...['docs', 'bench', 'helm', 'src'].flatMap((folder) => filesIn(folder, /\.md$/)),
  'packages/client/README.md',
  'packages/guard/README.md',
]

/** Generated references, which are as long as what they list. */
const references = new Set(['docs/commands.md', 'docs/configuration.md', 'docs/errors.md'])

const read = (file: string): string => readFileSync(join(root, file), 'utf8')

/** The anchors that GitHub generates for the headings of a page. */
function anchorsOf(file: string): string[] {
  const text = read(file).replaceAll(/^```.*?^```/gms, '')
  return [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}_ -]/gu, '')
      .replaceAll(' ', '-'),
  )
}

t.test('resolves every link between documents to an existing file and heading', async (t) => {
  t.ok(pages.length > 15)
  for (const page of pages) {
    const links = [...read(page).matchAll(/\]\((?!https?:)([^)\s#]*)(?:#([^)\s]+))?\)/g)]
    for (const [link, path = '', anchor] of links) {
      const target = path === '' ? page : relative(root, resolve(root, dirname(page), path))
      t.ok(existsSync(join(root, target)), `${page}: ${link}`)
      if (anchor) t.ok(anchorsOf(target).includes(anchor), `${page}: ${link}`)
    }
  }
})

t.test('names every document in the index, says who needs it, and keeps pages short', async (t) => {
  t.ok(read('README.md').split('\n').length <= 160)
  const index = read('docs/README.md')
  for (const page of filesIn('docs', /\.md$/)) {
    // Their own index lists them.
    const isGuide = /^docs\/(guides|integrations)\/(?!README\.md$)/.test(page)
    if (page !== 'docs/README.md' && !isGuide) t.ok(index.includes(`(${page.slice('docs/'.length)})`), page)
    const [, opening = ''] = read(page).split('\n\n')
    if (/^docs\/[\w-]+\.md$/.test(page) && !references.has(page) && page !== 'docs/README.md')
      t.match(opening, /^For /, `${page} begins with who needs it`)
    if (!references.has(page)) t.ok(read(page).split('\n').length <= 400, `${page} has at most 400 lines`)
  }
  const overview = read('docs/guides/README.md')
  for (const page of filesIn('docs/guides', /^[\w-]+\.md$/)) {
    if (page !== 'docs/guides/README.md') t.ok(overview.includes(`(${page.slice('docs/guides/'.length)})`), page)
  }
})

t.test('names only tests that exist', async (t) => {
  for (const page of pages) {
    for (const [, path = ''] of read(page).matchAll(/`(test\/[\w./-]+)`/g)) {
      const found = [path, `${path}.test.ts`].some((file) => existsSync(join(root, file)))
      t.ok(found, `${page}: ${path}`)
    }
  }
})
