// npm run build: compiles src to dist for the image, if something changed since the last build. A compiled server starts
// a little faster and needs less memory.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, extname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const source = join(root, 'src')
const target = join(root, 'dist')
const stamp = join(target, '.stamp')

const settings = ['tsconfig.json', '.dev/tsconfig.build.json', '.dev/build.mjs', 'package-lock.json'].map((f) =>
  join(root, f),
)
const sources = filesIn(source)
const inputs = createHash('sha256')
for (const file of [...settings, ...sources]) {
  const { mtimeMs, size } = statSync(file)
  inputs.update(`${relative(root, file)}\0${mtimeMs}\0${size}\0`)
}
const wanted = inputs.digest('hex')

if (!isBuilt()) build()

function build() {
  process.stderr.write('building\n')
  // Beside dist, so that a server that is running, or starting at the same time, never sees an incomplete build.
  const fresh = `${target}.${process.pid}`
  const tsc = spawnSync(
    process.execPath,
    [
      join(root, 'node_modules', 'typescript', 'bin', 'tsc'),
      '-p',
      join(root, '.dev', 'tsconfig.build.json'),
      // `npm run check` reports type errors; the build only strips the types, which takes a tenth of the time.
      '--noCheck',
      '--outDir',
      fresh,
    ],
    { cwd: root, stdio: ['ignore', 2, 2] },
  )
  if (tsc.error) process.stderr.write(`build: ${tsc.error.message}\n`)
  if (tsc.status !== 0) {
    rmSync(fresh, { recursive: true, force: true })
    process.exit(tsc.status || 1)
  }
  for (const file of sources) {
    const copy = join(fresh, relative(source, file))
    if (extname(file) === '.ts') continue
    mkdirSync(dirname(copy), { recursive: true })
    cpSync(file, copy)
  }
  const cli = join(fresh, 'cli.js')
  if (existsSync(cli)) chmodSync(cli, 0o755)
  writeFileSync(join(fresh, '.stamp'), wanted)
  rmSync(target, { recursive: true, force: true })
  try {
    renameSync(fresh, target)
  } catch (error) {
    // Another process finished the same build a moment earlier.
    rmSync(fresh, { recursive: true, force: true })
    if (!isBuilt()) throw error
  }
}

function isBuilt() {
  return existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted
}

function filesIn(folder) {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => !entry.name.startsWith('.'))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => (entry.isDirectory() ? filesIn(join(folder, entry.name)) : [join(folder, entry.name)]))
}
