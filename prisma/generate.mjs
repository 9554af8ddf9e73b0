// Derives the models for each engine from prisma/schema and generates both clients into src/generated. Plain
// JavaScript: a fresh clone may run it with an older Node than the server's own.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const models = join(root, 'prisma', 'schema')
const derived = join(root, 'prisma', '.derived')
const generated = join(root, 'src', 'generated')
const stamp = join(generated, '.stamp')

const files = readdirSync(models)
  .filter((name) => name.endsWith('.prisma'))
  .sort()
  .map((name) => ({ name, text: readFileSync(join(models, name), 'utf8') }))

const require = createRequire(import.meta.url)
const packageFile = require.resolve('prisma/package.json')
const prisma = JSON.parse(readFileSync(packageFile, 'utf8'))

const inputs = createHash('sha256')
for (const part of [prisma.version, readFileSync(fileURLToPath(import.meta.url), 'utf8')]) inputs.update(`${part}\0`)
for (const { name, text } of files) inputs.update(`${name}\0${text}\0`)
const wanted = inputs.digest('hex')

if (!existsSync(stamp) || readFileSync(stamp, 'utf8') !== wanted) {
  rmSync(generated, { recursive: true, force: true })
  process.stderr.write('generating the database clients\n')
  for (const engine of ['postgresql', 'sqlite']) generate(engine)
  writeFileSync(stamp, wanted)
}

function generate(engine) {
  const folder = join(derived, engine, 'client')
  writeModels(folder, (text) => forEngine(text, engine))
  writeFileSync(join(folder, 'client.prisma'), clientBlock(engine))
  writeModels(join(derived, engine, 'tables'), (text) => tables(forEngine(text, engine), engine))
  // Prisma runs on the server's own Node if that is installed.
  const node = join(root, 'node_modules', 'node', 'bin', 'node')
  const result = spawnSync(
    existsSync(node) ? node : process.execPath,
    [join(dirname(packageFile), prisma.bin.prisma), 'generate', '--no-hints', '--schema', folder],
    {
      cwd: root,
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
  if (result.status !== 0) {
    process.stderr.write(`${result.stdout ?? ''}${result.stderr ?? ''}${result.error?.message ?? ''}\n`)
    process.exit(result.status || 1)
  }
}

function writeModels(folder, derive) {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  for (const { name, text } of files) writeFileSync(join(folder, name), derive(text))
}

function forEngine(text, engine) {
  return text.replace(/^(\s*provider\s*=\s*)"postgresql"/m, `$1"${engine}"`)
}

// The target of the migrations. SQLite assigns row numbers only in a column declared INTEGER, which holds 64 bits
// there, so the tables are derived with Int in place of BigInt, while the client keeps BigInt.
function tables(text, engine) {
  return engine === 'sqlite' ? text.replace(/^(\s+\w+\s+)BigInt\b/gm, '$1Int') : text
}

function clientBlock(engine) {
  return [
    'generator client {',
    '  provider               = "prisma-client"',
    `  output                 = ${JSON.stringify(join(generated, engine))}`,
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
