// engine: none
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { code, importsOf, innerImports, read, root, sources, typescript } from './support/sources.ts'

/** Left to right: a file imports from its own folder, or from a layer to the left. */
const layers: readonly (readonly string[])[] = [
  // The generated clients are the schema in TypeScript: what the database's types are made of.
  ['generated', 'crypto', 'errors.ts', 'config', 'version.ts', 'clock.ts'],
  // Infrastructure, by subject.
  ['database'],
  ['jobs'],
  ['http'],
  ['observability'],
  ['mail'],
  ['pages'],
  // The contract between `cli.ts` and the commands of users and slices; what `main` and `cli` do alike at their start.
  ['commands.ts', 'boot.ts'],
  ['users'],
  ['access'],
  ['login'],
  ['tokens'],
  ['features'],
  // What several slices keep of one account; what is told of all of them, and what goes on beside them.
  ['accounts.ts', 'gauges.ts', 'pipeline.ts', 'upkeep.ts', 'reload.ts', 'config-commands.ts'],
  ['app.ts', 'cli.ts'],
  ['main.ts'],
]

/** Where the database client's models are touched. */
const touchDatabase = [
  /^users\//,
  /^features\/[\w-]+\/(.+\/)?store\.ts$/,
  /^database\//,
  /^jobs\/(outbox|outbox-rows|outbox-state|schedule)\.ts$/,
  /^access\/(session-store|prune|touches)\.ts$/,
  /^access\/lookups\//,
  /^login\/(end-sessions|failure-limits|remember|sign-in)\.ts$/,
  /^tokens\/store\.ts$/,
]

/** Where an answer is in hand: routes and hooks, and those who hand cookies out for them. */
const holdReply = [
  /^features\/[\w-]+\/(.+\/)?(routes|hooks)\.ts$/,
  // Hooks and the framework's own errors.
  /^app\.ts$/,
  /^http\/(api-headers|empty-answer|error-handler|methods|rate-limit)\.ts$/,
  /^pages\/(page-headers|pages)\.ts$/,
  /^observability\/(logging|metrics\/requests)\.ts$/,
  /^access\/(abilities|csrf|find-caller|verdicts|verified-address)\.ts$/,
  // Cookies: the session's pair, the remember token, the known browser, the test page's flash.
  /^access\/(cookies|sessions)\.ts$/,
  /^login\/(sign-in|challenge|remember|login-limiter|request-limits)\.ts$/,
  /^features\/test-page\/flash\.ts$/,
  // The library's hooks see a request and its answer only through these.
  /^features\/oauth\/protocol\/(browser|failures|pages)\.ts$/,
]

/** The folder (a slice counts as one) or root file that a file of src belongs to. */
const partOf = (file: string): string => {
  const [top = '', slice] = file.split('/')
  return top === 'features' ? `features/${slice}` : top
}

const layerOf = (file: string): number => layers.findIndex((parts) => parts.includes(file.split('/')[0] ?? ''))

const isAllowed = (from: string, to: string): boolean =>
  partOf(from) === partOf(to) || (layerOf(to) >= 0 && layerOf(to) < layerOf(from))

t.test('the reading of imports finds every form of them', async (t) => {
  const text = `import a from 'a'
import type { B } from './b.ts'
import './c.ts'
const d = await import('./d.ts')
let e: import('e').E
export { f } from './f.ts'
import {
  g,
} from './g.ts'
// from './comment.ts'
/** from './doc.ts' */
declare module 'fastify' {}`
  t.same(importsOf(text), ['a', './b.ts', './c.ts', './d.ts', 'e', './f.ts', './g.ts'])
  t.ok(sources.length > 80, 'the sources are found')
  t.ok(isAllowed('access/guard.ts', 'users/user.ts'))
  t.notOk(isAllowed('users/user.ts', 'access/guard.ts'))
  t.notOk(isAllowed('features/tokens/routes.ts', 'features/session/routes.ts'))
  t.notOk(isAllowed('cli.ts', 'app.ts'))
})

t.test('every file stands in a layer, and imports only from its own part or from the left', async (t) => {
  for (const source of sources) t.ok(layerOf(source.file) >= 0, `${source.file} stands in a layer`)
  const wrong = sources.flatMap((source) =>
    innerImports(source)
      .filter((target) => !isAllowed(source.file, target))
      .map((target) => `${source.file} imports ${target}`),
  )
  t.same(wrong, [])
  const missing = sources.flatMap((source) =>
    innerImports(source).filter((target) => !target.startsWith('generated/') && !existsSync(join(root, 'src', target))),
  )
  t.same(missing, [], 'what is imported exists')
})

/** Groups of files that import each other, directly or through other files: strongly connected components. */
function importCycles(imports: ReadonlyMap<string, readonly string[]>): string[][] {
  const reachable = (from: string): Set<string> => {
    const found = new Set<string>()
    const open = [from]
    for (let file = open.pop(); file !== undefined; file = open.pop())
      for (const target of imports.get(file) ?? []) if (!found.has(target)) open.push(target) && found.add(target)
    return found
  }
  const reached = new Map([...imports.keys()].map((file) => [file, reachable(file)]))
  const groups = [...imports.keys()].map((file) =>
    [...imports.keys()].filter((other) => reached.get(file)?.has(other) && reached.get(other)?.has(file)),
  )
  return groups.filter(([first], at) => first !== undefined && groups.findIndex((group) => group[0] === first) === at)
}

t.test('finds no import cycles between files', async (t) => {
  const example = { a: ['b'], b: ['c', 'd'], c: ['a'], d: ['e'], e: [], f: ['f'] }
  t.same(importCycles(new Map(Object.entries(example))), [['a', 'b', 'c'], ['f']], 'the search finds cycles')
  t.same(importCycles(new Map(sources.map((source) => [source.file, innerImports(source)]))), [])
})

t.test('each dependency that is a decision stays in its place', async (t) => {
  const holders = (pattern: RegExp) => sources.filter(({ text }) => pattern.test(code(text))).map(({ file }) => file)
  t.same(holders(/process\.env/), ['config/load.ts'], 'the environment')
  const importers = (name: RegExp) =>
    sources.filter(({ text }) => importsOf(text).some((found) => name.test(found))).map(({ file }) => file)
  const strays = (files: string[], allowed: RegExp[]) =>
    files.filter((file) => !allowed.some((place) => place.test(file)))
  t.same(strays(importers(/^oidc-provider/), [/^features\/oauth\/protocol\//]), [], 'the OAuth library')
  t.same(strays(importers(/^(pg|libsql|@prisma\/.*)$/), [/^database\//, /^access\/lookups\//]), [], 'drivers')
  t.same(importers(/(^|\/)app\.ts$/), ['main.ts'], 'app is imported by main alone')
})

t.test('the database is touched where it is said to be, and nowhere else', async (t) => {
  const touch = /\b(prisma|tx)\.\w|\$(queryRaw|executeRaw)/
  const touching = sources.filter(({ text }) => touch.test(code(text))).map(({ file }) => file)
  t.same(
    touching.filter((file) => !touchDatabase.some((place) => place.test(file))),
    [],
  )
  for (const place of touchDatabase)
    t.ok(
      sources.some(({ file }) => place.test(file)),
      `${place} is still needed`,
    )
})

t.test('an answer is in the hands of routes and hooks', async (t) => {
  const holding = sources
    .filter(({ text }) => /\breply\b/.test(code(text).replace(/'[^']*'/g, '')))
    .map(({ file }) => file)
  t.same(
    holding.filter((file) => !holdReply.some((place) => place.test(file))),
    [],
  )
  for (const place of holdReply)
    t.ok(
      holding.some((file) => place.test(file)),
      `${place} is still needed`,
    )
})

t.test('a slice has routes, and no name says nothing', async (t) => {
  const slices = new Set(sources.filter(({ file }) => file.startsWith('features/')).map(({ file }) => partOf(file)))
  t.ok(slices.size > 3)
  const files = new Set(sources.map(({ file }) => file))
  for (const slice of slices) {
    const hasRoutes = [...files].some((file) => file.startsWith(`${slice}/`) && file.endsWith('/routes.ts'))
    t.ok(hasRoutes, `${slice} has routes`)
  }
  const empty =
    /(^|\/)(index\.\w+|(utils?|helpers?|services?|managers?|common|shared|misc)(\.ts)?)(\/|$)|-(utils?|helpers?|service|manager)\.ts$/
  const named = [...typescript('src'), ...typescript('test'), ...typescript('.dev')]
  t.same(
    named.filter((file) => empty.test(file)),
    [],
  )
})

t.test('no file is longer than one reads at a sitting', async (t) => {
  const long = ['src', 'test', '.dev', 'bench', 'prisma'].flatMap((folder) =>
    typescript(folder)
      .map((file) => ({ file: `${folder}/${file}`, lines: read(folder, file).split('\n').length - 1 }))
      .filter(({ lines }) => lines > 250)
      .map(({ file, lines }) => `${file}: ${lines} lines`),
  )
  t.same(long, [])
})
