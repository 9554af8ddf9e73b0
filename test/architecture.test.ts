// engine: none
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { code, importsOf, innerImports, read, root, sources, typescript } from './support/sources.ts'

/** From left to right: a file imports only from its own folder or from layers to its left. */
const layers: readonly (readonly string[])[] = [
  ['cache.ts'],
  // The generated clients, with the database types that correspond to the schema, and the validator of the configuration.
  ['guard-rules', 'languages', 'event-types.ts', 'json-schema.ts', 'generated'],
  ['crypto', 'errors.ts', 'config', 'version.ts', 'clock.ts', 'compile-cache.ts', 'command-name.ts', 'dependencies.ts'],
  // Infrastructure, by subject.
  ['database'],
  ['limits', 'control'],
  ['workers'],
  ['jobs'],
  ['http'],
  ['observability', 'templates'],
  ['mail'],
  ['pages'],
  // What `main` and `cli` share at start-up.
  ['boot.ts'],
  ['users'],
  ['access'],
  ['login'],
  ['tokens'],
  // What a feature adds to the rest of svc.
  ['feature.ts'],
  // The contract between `run-command.ts` and the commands.
  ['commands.ts'],
  ['webhooks'],
  ['command-line.ts', 'command-origin.ts', 'command-output.ts'],
  // The frame of the account pages.
  ['account'],
  ['features'],
  // What several slices share about an account, what happens to all accounts, and background work.
  ['accounts.ts', 'gauges.ts', 'pipeline.ts', 'upkeep.ts', 'reload.ts', 'config-commands.ts', 'feature-list.ts'],
  // Operations of administrators, for the command line and the admin API.
  ['admin'],
  ['event-export'],
  ['app.ts'],
  ['guard-command.ts', 'doctor', 'maintenance', 'test-server'],
  ['command-list.ts'],
  ['run-command.ts'],
  ['cli.ts'],
  ['hang-ups.ts', 'stop-timeout.ts'],
  ['serve.ts', 'supervise.ts'],
  ['start.ts'],
  ['main.ts'],
]

/** Files that use the models of the database client. */
const touchDatabase = [
  /^users\//,
  /^webhooks\/store\.ts$/,
  /^features\/[\w-]+\/(.+\/)?store\.ts$/,
  /^database\//,
  /^jobs\/(lane|outbox|outbox-rows|outbox-state|schedule)\.ts$/,
  /^access\/(session-store|idempotency|prune|touches)\.ts$/,
  /^access\/lookups\//,
  /^login\/(end-sessions|login-code-store|remember|sign-in)\.ts$/,
  /^tokens\/store\.ts$/,
]

/** Files that handle a reply: routes, hooks, and the modules that set cookies for them. */
const holdReply = [
  /^features\/[\w-]+\/(.+\/)?(routes|hooks)\.ts$/,
  /^admin\/api\/(.+\/)?routes\.ts$/,
  // Hooks and the framework's own errors.
  /^app\.ts$/,
  /^http\/(api-headers|deprecation|empty-answer|error-handler|methods|translated-messages|vary)\.ts$/,
  // Redirects and results of forms in the account pages.
  /^account\/(account-pages|token-pages)\.ts$/,
  // They sign the browser out, or count a mail in its headers.
  /^features\/profile\/changes\.ts$/,
  /^pages\/(after-form|chosen-language|continuation|error-pages|page-headers|pages)\.ts$/,
  /^observability\/(logging|metrics\/requests)\.ts$/,
  /^access\/(abilities|csrf|find-caller|request-limits|verdicts|verified-address)\.ts$/,
  // Cookies: session, CSRF, remember token, known browser, and the test page's flash.
  /^access\/(cookies|sessions)\.ts$/,
  /^login\/(sign-in|challenge|remember|login-limiter)\.ts$/,
  /^features\/test-page\/flash\.ts$/,
  // Names the type only.
  /^features\/social\/links\/options\.ts$/,
  // The hooks of oidc-provider see a request and its reply only through these.
  /^features\/oauth\/protocol\/(browser|pages|patches\/(after-forms|failures))\.ts$/,
]

/** The folder (each slice counts as one) or root file that a source file belongs to. */
const partOf = (file: string): string => {
  const [top = '', slice] = file.split('/')
  return top === 'features' ? `features/${slice}` : top
}

const layerOf = (file: string): number => layers.findIndex((parts) => parts.includes(file.split('/')[0] ?? ''))

const isAllowed = (from: string, to: string): boolean =>
  partOf(from) === partOf(to) || (layerOf(to) >= 0 && layerOf(to) < layerOf(from))

t.test('finds every form of import', async (t) => {
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
  t.notOk(isAllowed('app.ts', 'cli.ts'))
})

t.test('assigns every file to a layer, and imports only from the same part or from layers to the left', async (t) => {
  for (const source of sources) t.ok(layerOf(source.file) >= 0, `${source.file} belongs to a layer`)
  const wrong = sources.flatMap((source) =>
    innerImports(source)
      .filter((target) => !isAllowed(source.file, target))
      .map((target) => `${source.file} imports ${target}`),
  )
  t.same(wrong, [])
  const missing = sources.flatMap((source) =>
    innerImports(source).filter((target) => !target.startsWith('generated/') && !existsSync(join(root, 'src', target))),
  )
  t.same(missing, [], 'every imported file exists')
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

t.test('keeps each library in the module that wraps it', async (t) => {
  const holders = (pattern: RegExp) => sources.filter(({ text }) => pattern.test(code(text))).map(({ file }) => file)
  t.same(holders(/process\.env/), ['config/load.ts'], 'the environment')
  const importers = (name: RegExp) =>
    sources.filter(({ text }) => importsOf(text).some((found) => name.test(found))).map(({ file }) => file)
  const strays = (files: string[], allowed: RegExp[]) =>
    files.filter((file) => !allowed.some((place) => place.test(file)))
  t.same(strays(importers(/^oidc-provider/), [/^features\/oauth\/protocol\//]), [], 'the OAuth library')
  const haveDrivers = [/^database\//, /^access\/lookups\//, /^maintenance\/laravel\/source\//]
  t.same(strays(importers(/^(pg|libsql|@prisma\/.*)$/), haveDrivers), [], 'drivers')
  const changes = /\.prototype\.\w+ = |\b[A-Z]\w+\.\w+ = |Reflect\.set|Object\.defineProperty|provider\.use\(/
  t.same(
    holders(changes).filter((file) => file.startsWith('features/oauth/protocol/')),
    ['features/oauth/protocol/patches/patch.ts'],
    'changes to the OAuth library',
  )
  t.same(importers(/(^|\/)app\.ts$/), ['guard-command.ts', 'serve.ts', 'test-server/server.ts'], 'these build the app')
})

t.test('uses the database only in the listed files', async (t) => {
  const touch = /\b(prisma|tx)\.\w|\$(queryRaw|executeRaw)/
  const touching = sources.filter(({ text }) => touch.test(code(text))).map(({ file }) => file)
  t.same(
    touching.filter((file) => !touchDatabase.some((place) => place.test(file))),
    [],
  )
  for (const place of touchDatabase)
    t.ok(
      sources.some(({ file }) => place.test(file)),
      `the exception ${place} is still needed`,
    )
})

t.test('handles replies only in routes and hooks', async (t) => {
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
      `the exception ${place} is still needed`,
    )
})

t.test('allows no sign-in to skip the checks after its first factor', async (t) => {
  const importers = (name: string) =>
    sources
      .filter(({ text }) => new RegExp(`import\\s+\\{[^}]*\\b${name}\\b[^}]*\\}`).test(code(text)))
      .map(({ file }) => file)
  // Everything else starts sessions by `continueSignIn`. Resuming a remembered browser has no first factor.
  t.same(importers('signIn'), ['login/challenge.ts'])
  t.same(importers('insertSession'), ['login/remember.ts'])
  // `issueForSignIn` takes only what `checkTokenSignIn` returned.
  t.same(importers('createToken'), ['tokens/issue.ts'])
})

t.test('requires routes in every slice, and descriptive file names', async (t) => {
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

/** The lines of a file without its imports. */
const lengthOf = (source: string): number => source.replace(/^import [^;]*?'[^']*'\n/gm, '').split('\n').length - 1

t.test('limits files to 300 lines without imports', async (t) => {
  const long = ['src', 'test', '.dev', 'bench', 'prisma'].flatMap((folder) =>
    typescript(folder)
      .map((file) => ({ file: `${folder}/${file}`, lines: lengthOf(read(folder, file)) }))
      .filter(({ lines }) => lines > 300)
      .map(({ file, lines }) => `${file}: ${lines} lines`),
  )
  t.same(long, [])
})
