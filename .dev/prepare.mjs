// node .dev/prepare.mjs [generate] [build] [test]: prepares what an npm script needs, beginning with the install. Plain
// JavaScript without dependencies: on a fresh clone it runs with the Node version of the machine.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const modules = join(root, 'node_modules')
const windows = process.platform === 'win32'

const steps = process.argv.slice(2)
const unknown = steps.filter((step) => !['generate', 'build', 'test'].includes(step))
if (unknown.length > 0) {
  process.stderr.write(`prepare: no such step: ${unknown.join(', ')}\n`)
  process.exit(1)
}

install()
if (steps.includes('build')) await import('./build.mjs')
else if (steps.includes('generate')) await import('../prisma/generate.mjs')
if (steps.includes('test')) buildTap()

function install() {
  const lock = readFileSync(join(root, 'package-lock.json'), 'utf8')
  const stamp = stampFor('installed', lock)
  if (stamp.fresh) return
  if (!installedAs(lock)) {
    say('installing dependencies')
    // npm names itself to the scripts it runs.
    const cli = process.env.npm_execpath
    const npm = cli?.endsWith('.js') ? [process.execPath, cli] : ['npm']
    run([...npm, 'ci', '--include=dev', '--no-audit', '--no-fund', '--loglevel=error'], {
      // Nothing here runs Prisma's engine: with any executable here, its install script does not download one.
      PRISMA_SCHEMA_ENGINE_BINARY: windows ? process.execPath : '/bin/true',
      CHECKPOINT_DISABLE: '1',
    })
  }
  stamp.write()
}

// npm records what it installed. This detects a manual install.
function installedAs(lock) {
  const record = join(modules, '.package-lock.json')
  if (!existsSync(record) || !existsSync(join(modules, '.bin', windows ? 'node.cmd' : 'node'))) return false
  const wanted = JSON.parse(lock).packages
  const found = JSON.parse(readFileSync(record, 'utf8')).packages
  return Object.entries(wanted).every(([path, { version, optional, devOptional, peer }]) => {
    if (path === '') return true
    const there = found[path]
    return there ? there.version === version : Boolean(optional || devOptional || peer)
  })
}

function buildTap() {
  // tap's build is in node_modules and is lost with a fresh install.
  const stamp = stampFor(
    'tap',
    readFileSync(join(modules, '.svc', 'installed'), 'utf8') + readFileSync(join(root, '.taprc'), 'utf8'),
  )
  if (stamp.fresh) return
  say('building the test runner')
  run([join(modules, '.bin', windows ? 'tap.cmd' : 'tap'), 'build'])
  stamp.write()
}

function stampFor(name, inputs) {
  const file = join(modules, '.svc', name)
  const wanted = createHash('sha256').update(inputs).digest('hex')
  return {
    fresh: existsSync(file) && readFileSync(file, 'utf8') === wanted,
    write() {
      mkdirSync(dirname(file), { recursive: true })
      writeFileSync(file, wanted)
    },
  }
}

function run([command, ...args], env = {}) {
  const path = `${join(modules, '.bin')}${delimiter}${process.env.PATH ?? ''}`
  const result = spawnSync(command, args, {
    cwd: root,
    // Standard output belongs to the script that follows.
    stdio: ['inherit', 2, 2],
    env: { ...process.env, PATH: path, ...env },
    shell: windows,
  })
  if (result.error) process.stderr.write(`prepare: ${result.error.message}\n`)
  if (result.status !== 0) process.exit(result.status || 1)
}

function say(line) {
  process.stderr.write(`${line}\n`)
}
