// npm run generate: generates the database clients of both engines into src/platform/generated. They are committed, so that running
// svc does not need Prisma's tools; a test compares them. Another root than the repository's can be named.
import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, relative, resolve } from 'node:path'
import { deserializeParamGraph, serializeParamGraph } from '@prisma/param-graph'
import { type Engine, modelsFor } from './models.ts'

const repository = dirname(import.meta.dirname)
const root = resolve(process.argv[2] ?? repository)
const generated = join(root, 'src', 'platform', 'generated')
const packageFile = createRequire(import.meta.url).resolve('prisma/package.json')
const prisma = join(dirname(packageFile), JSON.parse(readFileSync(packageFile, 'utf8')).bin.prisma)

for (const engine of ['postgresql', 'sqlite'] as const) {
  rmSync(join(generated, engine), { recursive: true, force: true })
  generate(engine)
  readCompilerAsFile(engine)
  renumberFields(engine)
}
// The clients have the same types, and svc imports them from one. Browsers do not use them.
for (const name of ['models', 'models.ts', 'commonInputTypes.ts']) removeGenerated('sqlite', name)
for (const engine of ['postgresql', 'sqlite']) {
  for (const name of ['browser.ts', 'internal/prismaNamespaceBrowser.ts']) removeGenerated(engine, name)
}

function generate(engine: Engine): void {
  const folder = join(root, 'prisma', '.derived', engine)
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  for (const { path, content } of modelsFor(engine)) writeFileSync(join(folder, path), content)
  writeFileSync(join(folder, 'client.prisma'), clientBlock(relative(folder, join(generated, engine))))
  const { status, stdout, stderr, error } = spawnSync(
    process.execPath,
    [prisma, 'generate', '--no-hints', '--schema', folder],
    {
      cwd: repository,
      encoding: 'utf8',
      env: {
        ...process.env,
        // Generating needs only WebAssembly; with any executable here, Prisma does not download an unused engine.
        PRISMA_SCHEMA_ENGINE_BINARY: process.platform === 'win32' ? process.execPath : '/bin/true',
        CHECKPOINT_DISABLE: '1',
        PRISMA_HIDE_UPDATE_MESSAGE: '1',
      },
    },
  )
  if (status === 0) return
  process.stderr.write(`${stdout ?? ''}${stderr ?? ''}${error?.message ?? ''}\n`)
  process.exit(status || 1)
}

/**
 * Lets a client read its query compiler as a file. Importing it, as Prisma's client does, keeps its text in memory several
 * times: as the module's source, as its value and in the cache of compiled modules.
 */
function readCompilerAsFile(engine: Engine): void {
  const file = join(generated, engine, 'internal', 'class.ts')
  const text = readFileSync(file, 'utf8')
  const own = /async function decodeBase64AsWasm[\s\S]*?\n}\n/
  const use = /const \{ wasm \} = await import\(("[^"]+")\)\n *return await decodeBase64AsWasm\(wasm\)/
  if (!own.test(text) || !use.test(text)) throw changed()
  const reader = `async function readWasm(module: string): Promise<WebAssembly.Module> {
  const { readFileSync } = await import('node:fs')
  const [, wasm = ''] = readFileSync(new URL(module), 'latin1').split('"')
  return new WebAssembly.Module(Buffer.from(wasm, 'base64'))
}
`
  writeFileSync(file, text.replace(own, reader).replace(use, 'return await readWasm(import.meta.resolve($1))'))
}

/**
 * Numbers the fields that many types have first. A client holds an array for each of its 1,300 types, and the highest number of
 * a field in the type is the length of the array: 3.2 MB in Prisma's order, and 1.2 MB in this one.
 */
function renumberFields(engine: Engine): void {
  const file = join(generated, engine, 'internal', 'class.ts')
  const text = readFileSync(file, 'utf8')
  const found = /strings: JSON\.parse\((".*")\),\n {2}graph: (".*")\n/.exec(text)
  if (!found) throw changed()
  const [own, strings = '', graph = ''] = found
  const data = deserializeParamGraph({ strings: JSON.parse(JSON.parse(strings)), graph: JSON.parse(graph) })
  const uses = data.strings.map(() => 0)
  for (const { edges } of [...data.inputNodes, ...data.outputNodes]) {
    for (const field of Object.keys(edges).map(Number)) uses[field] = (uses[field] ?? 0) + 1
  }
  const order = [...uses.keys()].sort((a, b) => (uses[b] ?? 0) - (uses[a] ?? 0))
  const numberOf = (old: number): number => order.indexOf(old)
  const renumbered = <Edge extends { enumNameIndex?: number }>({ edges }: { edges: Record<number, Edge> }) => ({
    edges: Object.fromEntries(
      Object.entries(edges).map(([field, { enumNameIndex, ...edge }]) => [
        numberOf(Number(field)),
        enumNameIndex === undefined ? edge : { ...edge, enumNameIndex: numberOf(enumNameIndex) },
      ]),
    ),
  })
  const compact = serializeParamGraph({
    ...data,
    strings: order.map((old) => data.strings[old] ?? ''),
    inputNodes: data.inputNodes.map(renumbered),
    outputNodes: data.outputNodes.map(renumbered),
  })
  const replaced = own
    .replace(strings, () => JSON.stringify(JSON.stringify(compact.strings)))
    .replace(graph, () => JSON.stringify(compact.graph))
  writeFileSync(
    file,
    text.replace(own, () => replaced),
  )
}

function changed(): Error {
  return new Error(`Prisma's client has changed, and so must ${import.meta.filename}.`)
}

function removeGenerated(engine: string, name: string): void {
  rmSync(join(generated, engine, name), { recursive: true })
}

/** @param output the folder of the client, relative to the models: Prisma writes it into the client. */
function clientBlock(output: string): string {
  return [
    'generator client {',
    '  provider               = "prisma-client"',
    `  output                 = ${JSON.stringify(output)}`,
    '  runtime                = "nodejs"',
    '  moduleFormat           = "esm"',
    '  generatedFileExtension = "ts"',
    '  importFileExtension    = "ts"',
    // Half the memory of the fast one. Plans are cached, so each kind of query is compiled once.
    '  compilerBuild          = "small"',
    '}',
    '',
  ].join('\n')
}
