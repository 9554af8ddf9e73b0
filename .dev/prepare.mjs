// node .dev/prepare.mjs [dev | test]: installs what an npm script needs, if it is missing: the packages of the server,
// those of development too (dev), and tap's build (test). Plain JavaScript without dependencies: on a fresh clone it runs
// with the Node version of the machine.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { productionPackages } from './production-lock.mjs'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const modules = join(root, 'node_modules')
const windows = process.platform === 'win32'
const localNode = join(modules, '.bin', windows ? 'node.cmd' : 'node')
// An older Node can install, but it cannot run the server.
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
const needsNode = major < 24 || (major === 24 && minor < 5)
// svc traces only if a variable of OpenTelemetry names a collector.
const traces = Object.keys(process.env).some((name) => name.startsWith('OTEL_'))

const [step = 'server', ...others] = process.argv.slice(2)
if (!['server', 'dev', 'test'].includes(step) || others.length > 0) {
  process.stderr.write(`prepare: unknown step: ${process.argv.slice(2).join(' ')}\n`)
  process.exit(1)
}

install(step !== 'server')
if (step === 'test') buildTap()

function install(isDevelopment) {
  const [manifest, lock] = ['package.json', 'package-lock.json'].map((f) =>
    JSON.parse(readFileSync(join(root, f), 'utf8')),
  )
  const server = productionPackages(manifest, lock, { node: needsNode, traces })
  const wanted = isDevelopment ? lock.packages : server.lock.packages
  const stamp = stampFor(isDevelopment ? 'installed' : 'server', JSON.stringify(wanted))
  const hasNode = () => !needsNode || existsSync(localNode)
  if (stamp.fresh && hasNode()) return
  if (!isInstalled(wanted) || !hasNode()) {
    requireWriteAccess()
    process.stderr.write('installing dependencies\n')
    if (isDevelopment) npmCi(root)
    else installServer(server)
    removeHeaders()
  }
  if (!hasNode()) {
    process.stderr.write(
      `svc needs Node 24.5 or later, and this is ${process.version}. Install it from https://nodejs.org.\n`,
    )
    process.exit(1)
  }
  stamp.write()
}

function requireWriteAccess() {
  try {
    accessSync(root, constants.W_OK)
  } catch {
    process.stderr.write(
      `The packages of svc are missing or outdated, and this user cannot write to ${root}. Run \`npm run svc -- --version\` as its owner.\n`,
    )
    process.exit(1)
  }
}

/** Installs into a separate folder first, because npm installs what the manifest beside node_modules lists. */
function installServer({ manifest, lock }) {
  const folder = join(root, `.install.${process.pid}`)
  mkdirSync(folder)
  try {
    writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest))
    writeFileSync(join(folder, 'package-lock.json'), JSON.stringify(lock))
    npmCi(folder)
    rmSync(modules, { recursive: true, force: true })
    renameSync(join(folder, 'node_modules'), modules)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function npmCi(folder) {
  // npm names itself to the scripts it runs.
  const cli = process.env.npm_execpath
  const npm = cli?.endsWith('.js') ? [process.execPath, cli] : ['npm']
  // No package needs its install script.
  run([...npm, 'ci', '--include=dev', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'], folder)
}

// Reads the record that npm writes, and so detects manual installs too.
function isInstalled(wanted) {
  const record = join(modules, '.package-lock.json')
  if (!existsSync(record)) return false
  const found = JSON.parse(readFileSync(record, 'utf8')).packages
  return Object.entries(wanted).every(([path, { version, optional, devOptional, peer }]) => {
    if (path === '') return true
    const there = found[path]
    return there ? there.version === version : Boolean(optional || devOptional || peer)
  })
}

/** The headers of Node are a third of its size, and nothing here is compiled against them. */
function removeHeaders() {
  for (const name of readdirSync(modules)) {
    if (name.startsWith('node-')) rmSync(join(modules, name, 'include', 'node'), { recursive: true, force: true })
  }
}

function buildTap() {
  // tap's build is in node_modules and is lost with a fresh install.
  const stamp = stampFor(
    'tap',
    readFileSync(join(modules, '.svc', 'installed'), 'utf8') + readFileSync(join(root, '.taprc'), 'utf8'),
  )
  if (stamp.fresh) return
  process.stderr.write('building the test runner\n')
  run([join(modules, '.bin', windows ? 'tap.cmd' : 'tap'), 'build'], root)
  stamp.write()
}

function stampFor(name, inputs) {
  const file = join(modules, '.svc', name)
  const wanted = createHash('sha256').update(inputs).digest('hex')
  return {
    fresh: existsSync(file) && readFileSync(file, 'utf8') === wanted,
    write() {
      try {
        mkdirSync(dirname(file), { recursive: true })
        writeFileSync(file, wanted)
      } catch (error) {
        // A user who only runs svc checks the packages again next time.
        if (!['EACCES', 'EPERM', 'EROFS'].includes(error.code)) throw error
      }
    },
  }
}

function run([command, ...args], cwd) {
  const path = `${join(modules, '.bin')}${delimiter}${process.env.PATH ?? ''}`
  const result = spawnSync(command, args, {
    cwd,
    // Standard output belongs to the script that follows.
    stdio: ['inherit', 2, 2],
    env: { ...process.env, PATH: path },
    shell: windows,
  })
  if (result.error) process.stderr.write(`prepare: ${result.error.message}\n`)
  if (result.status !== 0) process.exit(result.status || 1)
}
