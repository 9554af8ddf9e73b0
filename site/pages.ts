import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'

/** A Markdown file, and the page of the website that it becomes. Paths are relative to the checkout. */
export interface Page {
  file: string
  page: string
  text: string
}

const onSite = /^(README|CHANGELOG|CONTRIBUTING|SECURITY)\.md$|^(docs|bench|helm|packages)\/.*\.md$/

/** Folders show their README at their own address. */
const pageOf = (file: string): string => file.replace(/(^|\/)README\.md$/, '$1index.md')

/** The pages of the website, with links that work there. `repository`: the address for links to other files. */
export function sitePages(root: string, repository: string): Page[] {
  const list = ['ls-files', '--cached', '--others', '--exclude-standard', '-z', '*.md']
  const files = execFileSync('git', list, { cwd: root, encoding: 'utf8' })
    .split('\0')
    .filter((file) => onSite.test(file) && existsSync(join(root, file)))
  const known = new Set(files)
  return files.map((file) => {
    const text = readFileSync(join(root, file), 'utf8')
    return { file, page: pageOf(file), text: withLinks(text, (link) => target(file, link)) }
  })

  function target(file: string, link: string): string {
    const [path = '', anchor] = link.split('#')
    const suffix = anchor === undefined ? '' : `#${anchor}`
    if (path === '') return link
    const found = posix.normalize(posix.join(dirname(file), path))
    const readme = `${found.replace(/\/$/, '')}/README.md`
    if (known.has(found)) return `/${pageOf(found)}${suffix}`
    if (known.has(readme)) return `/${pageOf(readme)}${suffix}`
    if (/\.(svg|png)$/.test(found)) return link
    return `${repository}/blob/main/${found}${suffix}`
  }
}

/** Replaces the relative links of a page, outside of code. */
function withLinks(text: string, replace: (link: string) => string): string {
  const parts = text.split(/(^```.*?^```$|`[^`\n]+`)/gms)
  return parts
    .map((part, index) =>
      index % 2 === 1
        ? part
        : part
            .replace(/<!--.*?-->\n*/gs, '')
            .replace(/\]\((?!https?:|mailto:)([^)\s]+)\)/g, (_all, link: string) => `](${replace(link)})`),
    )
    .join('')
}

/** The navigation, from the index by role and task: a group for each role. */
export function sidebarOf(index: string): { text: string; items: { text: string; link: string }[] }[] {
  return index
    .split(/^## /m)
    .slice(1)
    .map((section) => {
      const links = [...section.matchAll(/\[([^\]]+)\]\((\/[^)#\s]+)\)/g)]
      const items = links.map(([, text = '', link = '']) => ({ text: text[0]?.toUpperCase() + text.slice(1), link }))
      return { text: section.split('\n')[0] ?? '', items }
    })
}
