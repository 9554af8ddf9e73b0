import { execFileSync } from 'node:child_process'
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { closeUnreleased } from './notes.ts'

/** A version without build metadata (Semantic Versioning section 2). */
const semantic = /^\d+\.\d+\.\d+(-[0-9A-Za-z]+(\.[0-9A-Za-z]+)*)?$/

export const isVersion = (text: string): boolean => semantic.test(text)

export const tagOf = (version: string): string => `v${version}`

/** The files that have the version of svc as a field, and what precedes it there. */
const fields: readonly (readonly [file: string, before: RegExp])[] = [
  ['package.json', /^ {2}"version": "/m],
  ['packages/client/package.json', /^ {2}"version": "/m],
  ['packages/guard/package.json', /^ {2}"version": "/m],
  ['package-lock.json', /^ {2}"version": "/m],
  ['package-lock.json', /^ {4}"": \{\n {6}"name": "svc",\n {6}"version": "/m],
  ['package-lock.json', /^ {4}"packages\/client": \{\n {6}"name": "@svc\/client",\n {6}"version": "/m],
  ['package-lock.json', /^ {4}"packages\/guard": \{\n {6}"name": "@svc\/guard",\n {6}"version": "/m],
  ['helm/svc/Chart.yaml', /^version: /m],
  ['helm/svc/Chart.yaml', /^appVersion: /m],
  ['Dockerfile', /^ARG VERSION=/m],
]

/** The files that name a package or an image of svc with its version. */
const mentioning = ['docs/**/*.{md,json}', 'packages/*/README.md', 'test/cluster/*.ts']

/** How they name it; the version follows. */
const mention = /(\bsvc-(?:client|guard)-|\bsvc:|"@svc\/(?:client|guard)": "\^)/

/** Writes a version into the files of a checkout. Returns the files. */
export function setVersion(root: string, version: string): string[] {
  const { version: old } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  for (const [file, before] of fields)
    change(join(root, file), new RegExp(`(${before.source})${escaped(old)}`, before.flags), version)
  const others = globSync(mentioning, { cwd: root, exclude: (path) => /contract|node_modules/.test(path) })
  const named = new RegExp(`${mention.source}${escaped(old)}(?![\\w-])`, 'g')
  const mentions = others.filter((file) => readFileSync(join(root, file), 'utf8').search(named) >= 0)
  for (const file of mentions) change(join(root, file), named, version)
  return [...new Set([...fields.map(([file]) => file), ...mentions])]
}

function change(path: string, pattern: RegExp, version: string): void {
  const text = readFileSync(path, 'utf8')
  if (text.search(pattern) < 0) throw new Error(`${path} does not have the version where ${pattern} expects it.`)
  writeFileSync(path, text.replace(pattern, `$1${version}`))
}

const escaped = (text: string): string => text.replaceAll('.', '\\.')

/** Commits a version: in the files, and as a section of the changelog. */
export function commitVersion(root: string, version: string, git: (...args: string[]) => string): void {
  const files = setVersion(root, version)
  const changelog = join(root, 'CHANGELOG.md')
  const text = readFileSync(changelog, 'utf8')
  if (!text.includes(`## [${version}]`))
    writeFileSync(changelog, closeUnreleased(text, version, new Date().toISOString().slice(0, 10)))
  // A patch changes nothing that is public.
  if (/^\d+\.\d+\.0/.test(version)) execFileSync(process.execPath, ['.dev/contract.mjs'], { cwd: root })
  git('add', 'CHANGELOG.md', 'docs/contract', ...files)
  if (git('status', '--porcelain') !== '') git('commit', '--message', `chore(release): ${version}`)
}
