// npm run generate: generates the database clients of both engines into src/platform/generated. They are committed, so that running
// svc does not need Prisma's tools; a test compares them. Another root than the repository's can be named.
import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, relative, resolve } from 'node:path'
import { type Engine, modelsFor } from './models.ts'

const repository = dirname(import.meta.dirname)
const root = resolve(process.argv[2] ?? repository)
const generated = join(root, 'src', 'platform', 'generated')
const packageFile = createRequire(import.meta.url).resolve('prisma/package.json')
const prisma = join(dirname(packageFile), JSON.parse(readFileSync(packageFile, 'utf8')).bin.prisma)

for (const engine of ['postgresql', 'sqlite'] as const) {
  rmSync(join(generated, engine), { recursive: true, force: true })
  generate(engine)
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
