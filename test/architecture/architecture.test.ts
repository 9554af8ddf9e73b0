// engine: none
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { code, importsOf, innerImports, read, root, sources, typescript } from '../support/sources.ts'

/** From left to right: a folder imports only from folders to its left. */
const layers = ['platform', 'pages', 'identity', 'auth', 'contract', 'features', 'app', 'process', 'tools', 'cli']

/** Files that use the models of the database client. */
const touchDatabase = [
  /^identity\//,
  /^features\/[\w-]+\/(.+\/)?([\w-]+-)?store\.ts$/,
  /^platform\/database\//,
  /^platform\/jobs\/(failed-jobs|job-queue|outbox|outbox-rows|outbox-state|schedule)\.ts$/,
  /^auth\/access\/(session-store|idempotency|prune|touches)\.ts$/,
  /^auth\/access\/lookups\//,
  /^auth\/sign-in\/(end-sessions|login-code-store|remember|sign-in|trusted-browsers)\.ts$/,
  /^auth\/tokens\/store\.ts$/,
  // Counts rows of several features under two configurations.
  /^cli\/plan\/affected\.ts$/,
]

/** Files that handle a reply: routes, hooks, and the modules that set cookies for them. */
const holdReply = [
  /^features\/[\w-]+\/(.+\/)?([\w-]+-)?(routes|hooks)\.ts$/,
  // Hooks and the framework's own errors.
  /^app\/app\.ts$/,
  /^platform\/http\/(api-headers|deprecation|empty-answer|error-handler|methods|translated-messages|vary)\.ts$/,
  // Redirects and results of forms in the account pages.
  /^pages\/account\/(account-pages|token-pages)\.ts$/,
  // They sign the browser out, or count a mail in its headers.
  /^features\/profile\/changes\.ts$/,
  /^pages\/(after-form|chosen-language|continuation|error-pages|form-page|page-headers|pages)\.ts$/,
  /^platform\/observability\/(logging|metrics\/requests)\.ts$/,
  /^auth\/access\/(abilities|csrf|find-caller|request-limits|verdicts|verified-address)\.ts$/,
  // Cookies: session, binding, CSRF, remember token, known browser, and the test page's flash.
  /^auth\/access\/(bound-sessions|cookies|sessions)\.ts$/,
  /^auth\/sign-in\/(sign-in|challenge|remember|known-browser|trusted-browsers)\.ts$/,
  /^features\/test-page\/flash\.ts$/,
  // Names the type only.
  /^features\/social\/links\/options\.ts$/,
  // The hooks of oidc-provider see a request and its reply only through these.
  /^features\/oauth\/protocol\/(browser|pages|patches\/(after-forms|failures))\.ts$/,
]

/** The folder (each feature counts as one) that a source file belongs to. */
const partOf = (file: string): string => {
  const [top = '', feature] = file.split('/')
  return top === 'features' ? `features/${feature}` : top
}

/** They are to the right of every folder. */
const programs = ['main.ts', 'cli.ts']

const layerOf = (file: string): number =>
  programs.includes(file) ? layers.length : layers.indexOf(file.split('/')[0] ?? '')

/** Features that show or change what other features store, which import nothing from them. */
const reachOthers = ['features/admin', 'features/event-export', 'features/scim']

const isAllowed = (from: string, to: string): boolean =>
  partOf(from) === partOf(to) ||
  (reachOthers.includes(partOf(from)) && to.startsWith('features/') && partOf(to) !== 'features/event-export') ||
  (layerOf(to) >= 0 && layerOf(to) < layerOf(from))

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
  t.ok(isAllowed('auth/access/bearer-token.ts', 'identity/user.ts'))
  t.notOk(isAllowed('identity/user.ts', 'auth/access/bearer-token.ts'))
  t.notOk(isAllowed('features/tokens/routes.ts', 'features/session/routes.ts'))
  t.notOk(isAllowed('app/app.ts', 'cli.ts'))
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
    innerImports(source).filter(
      (target) => !target.startsWith('platform/generated/') && !existsSync(join(root, 'src', target)),
    ),
  )
  t.same(missing, [], 'every imported file exists')
})

/** Everything that a part imports, directly or through other parts. */
function reachable(imports: ReadonlyMap<string, readonly string[]>, from: string): Set<string> {
  const found = new Set<string>()
  const open = [from]
  for (let part = open.pop(); part !== undefined; part = open.pop())
    for (const target of imports.get(part) ?? []) if (!found.has(target)) open.push(target) && found.add(target)
  return found
}

/** Groups of parts that import each other, directly or through other parts: strongly connected components. */
function importCycles(imports: ReadonlyMap<string, readonly string[]>): string[][] {
  const reached = new Map([...imports.keys()].map((part) => [part, reachable(imports, part)]))
  const groups = [...imports.keys()].map((file) =>
    [...imports.keys()].filter((other) => reached.get(file)?.has(other) && reached.get(other)?.has(file)),
  )
  return groups.filter(([first], at) => first !== undefined && groups.findIndex((group) => group[0] === first) === at)
}

/** The imports between the folders and files that are directly inside a folder of `src`; '' is `src` itself. */
function importsInside(folder: string): Map<string, string[]> {
  const childOf = (file: string) => file.slice(folder.length).split('/')[0] ?? ''
  const inside = sources.filter(({ file }) => file.startsWith(folder) && !programs.includes(file))
  const found = new Map<string, Set<string>>()
  for (const source of inside) {
    const child = childOf(source.file)
    const targets = innerImports(source).filter((target) => target.startsWith(folder))
    const others = targets.map(childOf).filter((target) => target !== child)
    found.set(child, new Set([...(found.get(child) ?? []), ...others]))
  }
  return new Map([...found].map(([child, targets]) => [child, [...targets]]))
}

/** Number of levels of imports: 1 for parts that import nothing. */
function levelsOf(imports: ReadonlyMap<string, readonly string[]>): number {
  const known = new Map<string, number>()
  const levelOf = (part: string): number => {
    const level = known.get(part) ?? 1 + Math.max(0, ...(imports.get(part) ?? []).map(levelOf))
    known.set(part, level)
    return level
  }
  return Math.max(0, ...[...imports.keys()].map(levelOf))
}

const folders = ['', ...new Set(sources.flatMap(({ file }) => foldersOf(file)))]

/** The folders around a file, from the outside to the inside. */
function foldersOf(file: string): string[] {
  const parts = file.split('/').slice(0, -1)
  return parts.map((_, at) => `${parts.slice(0, at + 1).join('/')}/`)
}

t.test(
  'has ten folders, at most ten levels of imports in each, no cycle between folders, and no folder for one file',
  async (t) => {
    t.equal(layers.length, 10)
    for (const folder of folders) {
      const imports = importsInside(folder)
      const cycles = importCycles(imports)
      t.same(cycles, [], `src/${folder} has no cycle`)
      if (cycles.length === 0) t.ok(levelsOf(imports) <= 10, `src/${folder} has at most ten levels`)
      t.ok(readdirSync(join(root, 'src', folder)).length > 1, `src/${folder} has more than one file`)
    }
  },
)

t.test('shows the imports between folders in docs/architecture.md', async (t) => {
  const imports = importsInside('')
  const lines = layers.flatMap((folder) => {
    const targets = imports.get(folder) ?? []
    // Imports that follow from others would hide the order.
    const shown = targets.filter((target) => !targets.some((other) => reachable(imports, other).has(target)))
    return shown.sort().map((target) => `  ${folder} --> ${target}`)
  })
  const picture = ['```mermaid', 'flowchart BT', ...lines, '```'].join('\n')
  const [shown] = /```mermaid\n[\s\S]*?```/.exec(read('docs', 'architecture.md')) ?? []
  t.equal(shown, picture)
})

t.test('finds no import cycles between files', async (t) => {
  const example = { a: ['b'], b: ['c', 'd'], c: ['a'], d: ['e'], e: [], f: ['f'] }
  t.same(importCycles(new Map(Object.entries(example))), [['a', 'b', 'c'], ['f']], 'the search finds cycles')
  t.same(importCycles(new Map(sources.map((source) => [source.file, innerImports(source)]))), [])
})

t.test('keeps each library in the module that wraps it', async (t) => {
  const holders = (pattern: RegExp) => sources.filter(({ text }) => pattern.test(code(text))).map(({ file }) => file)
  // `svc init` passes it on to a command.
  t.same(holders(/process\.env/), ['platform/config/load.ts', 'tools/init/init.ts'], 'the environment')
  const importers = (name: RegExp) =>
    sources.filter(({ text }) => importsOf(text).some((found) => name.test(found))).map(({ file }) => file)
  const strays = (files: string[], allowed: RegExp[]) =>
    files.filter((file) => !allowed.some((place) => place.test(file)))
  t.same(
    strays(importers(/^oidc-provider/), [/^features\/oauth\/(clients|client-documents|protocol|records)\//]),
    [],
    'the OAuth library',
  )
  const haveDrivers = [/^platform\/database\//, /^auth\/access\/lookups\//, /^tools\/maintenance\/laravel\/source\//]
  t.same(strays(importers(/^(pg|libsql|@prisma\/.*)$/), haveDrivers), [], 'drivers')
  const changes = /\.prototype\.\w+ = |\b[A-Z]\w+\.\w+ = |Reflect\.set|Object\.defineProperty|provider\.use\(/
  t.same(
    holders(changes).filter((file) => file.startsWith('features/oauth/protocol/')),
    ['features/oauth/protocol/patches/patch.ts'],
    'changes to the OAuth library',
  )
  t.same(
    importers(/(^|\/)app\.ts$/),
    ['cli/guard-command.ts', 'process/serve.ts', 'tools/test-server/server.ts'],
    'these build the app',
  )
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
    .filter(({ text }) => /(?<!no-)\breply\b/.test(code(text).replace(/'[^']*'/g, '')))
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

t.test('keeps requests out of what decides', async (t) => {
  // Routes, hooks, and the OAuth protocol, whose library works with requests. A `Step` is a hook of the pipeline.
  const translates = ({ file, text }: { file: string; text: string }) =>
    /(routes|hooks)\.ts$/.test(file) ||
    file.startsWith('features/oauth/protocol/') ||
    /: (readonly )?Step\b|\bStepHook\b|\baddHook\(/.test(code(text))
  const others = sources.filter((source) => /\bFastifyRequest\b/.test(code(source.text)) && !translates(source))
  t.comment(`${others.length} files: ${others.map(({ file }) => file).join(', ')}`)
  t.ok(others.length <= 45, `${others.length} of at most 45 files take a request; take a Visit (auth/access/visit.ts)`)
})

t.test('allows no sign-in to skip the checks after its first factor', async (t) => {
  const importers = (name: string) =>
    sources
      .filter(({ text }) => new RegExp(`import\\s+\\{[^}]*\\b${name}\\b[^}]*\\}`).test(code(text)))
      .map(({ file }) => file)
  // Everything else starts sessions by `continueSignIn`. Resuming a remembered browser has no first factor.
  t.same(importers('signIn'), ['auth/sign-in/challenge.ts'])
  // An administrator who acts as a user has signed in, with a second factor.
  t.same(importers('insertSession'), ['auth/sign-in/remember.ts', 'features/admin/pages/impersonate.ts'])
  // `issueForSignIn` takes only what `checkTokenSignIn` returned.
  t.same(importers('createToken'), ['auth/tokens/issue.ts'])
})

t.test('requires routes in every slice, and descriptive file names', async (t) => {
  const slices = new Set(sources.filter(({ file }) => file.startsWith('features/')).map(({ file }) => partOf(file)))
  // They work in the background, and within the routes of others.
  for (const slice of [
    'features/audit-seal',
    'features/event-export',
    'features/webhooks',
    'features/decision-hooks',
    'features/decision-log',
  ])
    t.ok(slices.delete(slice))
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
