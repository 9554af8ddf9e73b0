// Selects test files: which lane a file belongs to, and which files a change reaches.
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'

const root = resolve(import.meta.dirname, '..')

/** These lists load every feature. A change behind them does not reach the tests that only build a server. */
const lists = ['src/app/feature-list.ts', 'src/cli/command-list.ts'].map((file) => join(root, file))

/** The test files of a folder, or the file itself. Paths are absolute and sorted. */
export function testFiles(path: string): string[] {
  if (statSync(path).isFile()) return [path]
  return readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.test.ts'))
    .map((entry) => join(entry.parentPath, entry.name))
    .sort()
}

/** The first lines of a file, which hold marks such as `// engine: none`. */
const marks = remembered((file) => readFileSync(file, 'utf8').slice(0, 500))

/** `none` for files that run once, `postgresql` for files that run only there. */
export const engineOf = (file: string): string | undefined => /^\/\/ engine: (none|postgresql)$/m.exec(marks(file))?.[1]

/** Whether a file changes its process, so that no other file may share it. */
export const runsAlone = (file: string): boolean => /^\/\/ process: own$/m.test(marks(file))

/**
 * Whether a file runs in `npm run test:all` only: it runs on PostgreSQL, or it or a helper that it imports has the line
 * `// lane: all`, because it takes long or needs more than Node.
 */
export const isInFullLane = (file: string): boolean =>
  engineOf(file) === 'postgresql' || [...reachedFrom([file], importsOf)].some((each) => isMarked(each))

const isMarked = (file: string): boolean => /^\/\/ lane: all$/m.test(marks(file))

/** The test files that import a changed file, and those beside it. Paths are absolute. */
export function reachedBy(changed: readonly string[], tests: readonly string[]): string[] {
  const importers = new Map<string, string[]>()
  const all = reachedFrom(tests, importsOf)
  for (const file of all)
    for (const imported of importsOf(file)) importers.set(imported, [...(importers.get(imported) ?? []), file])
  const reached = reachedFrom(changed, (file) => (lists.includes(file) ? [] : (importers.get(file) ?? [])))
  const places = changed.flatMap(mirrorsOf)
  return tests.filter((test) => reached.has(test) || places.some((place) => test.startsWith(`${place}/`)))
}

/** The folder of tests beside a source file: of its whole feature, otherwise the nearest one that mirrors its folder. */
function mirrorsOf(file: string): string[] {
  const [, feature, folder] = /^src\/(?:(features\/[^/]+)|(.+))\//.exec(relative(root, file)) ?? []
  if (feature) return [join(root, 'test', feature)]
  if (!folder) return []
  const mirror = join(root, 'test', folder)
  return existsSync(mirror) ? [mirror] : mirrorsOf(dirname(file))
}

/** The files that differ from a commit, with new ones; `HEAD` for what is not committed. Paths are absolute. */
export function changedSince(commit: string): string[] {
  const git = (...args: string[]) =>
    execFileSync('git', args, { cwd: root, encoding: 'utf8' }).split('\n').filter(Boolean)
  const names = [...git('diff', '--name-only', commit), ...git('ls-files', '--others', '--exclude-standard')]
  return names.map((name) => join(root, name)).filter((file) => existsSync(file))
}

/** The files of the repository that a file names: in imports, and as scripts that it starts. */
const importsOf = remembered((file) => {
  const text = readFileSync(file, 'utf8').replace(/\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/.*$/gm, '')
  const names = [...text.matchAll(/'([^'\s]+\.(?:ts|mjs))'/g)].map(([, name = '']) => name)
  const folders = [dirname(file), root, join(root, 'src')]
  return names.flatMap((name) => {
    const found = folders.map((folder) => resolve(folder, name)).find((each) => existsSync(each))
    return found !== undefined && statSync(found).isFile() ? [found] : []
  })
})

function reachedFrom(starts: readonly string[], next: (file: string) => readonly string[]): Set<string> {
  const reached = new Set(starts)
  for (const file of reached) for (const each of next(file)) reached.add(each)
  return reached
}

function remembered<Found>(find: (file: string) => Found): (file: string) => Found {
  const known = new Map<string, Found>()
  return (file) => {
    const found = known.get(file) ?? find(file)
    known.set(file, found)
    return found
  }
}
