// node .dev/image.mjs <directory>: assembles svc's part of the container image there: the built server, the
// configuration manual, the migrations, the production packages for this platform, and their bill of materials
// (sbom.cdx.json). Set `npm_config_cpu=arm64` in the environment to build for another processor.
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { completeBill } from './bill-of-materials.mjs'
import { productionPackages } from './production-lock.mjs'

const root = resolve(import.meta.dirname, '..')
const image = resolve(process.argv[2] ?? 'image')
const modules = join(image, 'node_modules')

rmSync(image, { recursive: true, force: true })
mkdirSync(image, { recursive: true })
copyServer()
installPackages()
removeUnread()
writeBillOfMaterials()

function copyServer() {
  cpSync(join(root, 'dist'), join(image, 'dist'), { recursive: true, filter: (source) => !source.endsWith('.stamp') })
  cpSync(join(root, 'prisma', 'migrations'), join(image, 'prisma', 'migrations'), { recursive: true })
  for (const file of ['svc.yaml', 'reference.yaml', 'svc.schema.json'])
    cpSync(join(root, 'config', file), join(image, 'config', file))
  cpSync(join(root, '.dev', 'container'), join(image, 'bin'), { recursive: true })
  symlinkSync('../dist/cli.js', join(image, 'bin', 'svc'))
}

function installPackages() {
  const { manifest, lock } = productionPackages(read('package.json'), read('package-lock.json'))
  write('package.json', manifest)
  write('package-lock.json', lock)
  // No package needs its install script: native code comes prebuilt, in one package per platform.
  npm('ci', '--ignore-scripts', '--no-bin-links', '--no-audit', '--no-fund', '--loglevel=error')
}

/**
 * Binaries for musl, which the image does not have, tests, types, source maps of packages, and the query compilers of other
 * databases: half of the size, unused at run time.
 */
function removeUnread() {
  for (const folder of foldersIn(modules)) {
    const isTest =
      /^(tests?|__tests__|benchmarks?)$/.test(basename(folder)) && existsSync(join(dirname(folder), 'package.json'))
    if (isTest || folder.endsWith('-musl')) rmSync(folder, { recursive: true, force: true })
  }
  const runtime = join(modules, '@prisma', 'client', 'runtime')
  const server = filesIn(join(image, 'dist')).map((file) => readFileSync(file, 'utf8'))
  for (const name of readdirSync(runtime)) {
    if (!name.startsWith('query_compiler_')) continue
    if (!server.some((text) => text.includes(`/${name}"`))) rmSync(join(runtime, name))
  }
  for (const file of filesIn(modules)) if (/\.(map|d\.[cm]?ts)$/.test(file)) rmSync(file)
}

function writeBillOfMaterials() {
  const bill = JSON.parse(npm('sbom', '--sbom-format=cyclonedx', '--sbom-type=application'))
  write('sbom.cdx.json', completeBill(bill, { name: read('package.json').name, modules }))
  rmSync(join(image, 'package-lock.json'))
}

function npm(...args) {
  const { status, stdout, error } = spawnSync('npm', args, {
    cwd: image,
    encoding: 'utf8',
    maxBuffer: 100_000_000,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  if (error) process.stderr.write(`image: ${error.message}\n`)
  if (status !== 0) process.exit(status || 1)
  return stdout
}

function filesIn(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
}

function foldersIn(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name))
}

function read(file) {
  return JSON.parse(readFileSync(join(root, file), 'utf8'))
}

function write(file, value) {
  writeFileSync(join(image, file), `${JSON.stringify(value, null, 2)}\n`)
}
