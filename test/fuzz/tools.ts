// lane: all
// npm run fuzz:tools: installs Jazzer.js into a cache in the home directory. `tools/` pins its version. Its native part needs
// the C library of Debian 13 or later. On an older Debian, the libraries are downloaded and put beside it.
import { cpSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { buildInto, runTool, toolFolder } from '../support/tool-cache.ts'

const manifests = ['package.json', 'package-lock.json'].map((name) => join(import.meta.dirname, 'tools', name))
const folder = toolFolder('fuzz-tools', [...manifests, import.meta.filename])

/** The C library that the native part of Jazzer.js was linked with. */
const needed = [2, 38] as const

/** The program, and the arguments that come first. */
export interface Fuzzer {
  program: string
  args: string[]
}

/** Returns what starts the fuzzer, or undefined if it is not installed. */
export function fuzzer(): Fuzzer | undefined {
  const cli = join(folder, 'node_modules/@jazzer.js/core/dist/cli.js')
  if (!existsSync(cli)) return undefined
  const libraries = join(folder, 'libraries')
  if (!existsSync(libraries)) return { program: process.execPath, args: [cli] }
  const loader = join(libraries, readdirSync(libraries).find((name) => /^ld-linux.*\.so/.test(name)) ?? '')
  return { program: loader, args: ['--library-path', libraries, process.execPath, cli] }
}

function hasLibrary(): boolean {
  // Sound: the report has this shape on Linux.
  const { header } = process.report.getReport() as { header: { glibcVersionRuntime?: string } }
  const [major = 0, minor = 0] = (header.glibcVersionRuntime ?? '0').split('.').map(Number)
  return major > needed[0] || (major === needed[0] && minor >= needed[1])
}

if (import.meta.main && !fuzzer()) {
  process.stderr.write('installing the fuzzer\n')
  await buildInto(folder, async (work) => {
    for (const file of manifests) cpSync(file, join(work, basename(file)))
    await runTool(work, 'npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'])
    if (!hasLibrary()) await addLibraries(work)
  })
}

/** Downloads the libraries of Debian 13, whose signatures apt checks, without installing them. */
async function addLibraries(work: string): Promise<void> {
  const apt = join(work, 'apt')
  for (const name of ['lists/partial', 'cache/archives/partial', 'root'])
    mkdirSync(join(apt, name), { recursive: true })
  const source =
    'deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian trixie main'
  writeFileSync(join(apt, 'sources.list'), `${source}\n`)
  const options = [
    `Dir::Etc::sourcelist=${apt}/sources.list`,
    'Dir::Etc::sourceparts=/dev/null',
    `Dir::State::lists=${apt}/lists`,
    `Dir::Cache=${apt}/cache`,
    'APT::Sandbox::User=root',
  ].flatMap((option) => ['-o', option])
  await runTool(apt, 'apt-get', ['-qq', ...options, 'update'])
  await runTool(apt, 'apt-get', ['-qq', ...options, 'download', 'libc6', 'libstdc++6', 'libgcc-s1'])
  for (const name of readdirSync(apt).filter((each) => each.endsWith('.deb')))
    await runTool(apt, 'dpkg-deb', ['-x', name, 'root'])
  const [triplet = ''] = readdirSync(join(apt, 'root/usr/lib')).filter((name) => name.endsWith('-linux-gnu'))
  await runTool(work, 'cp', ['-rL', join(apt, 'root/usr/lib', triplet), join(work, 'libraries')])
  rmSync(apt, { recursive: true })
}
