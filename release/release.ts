// npm run release -- <version> [--dry-run] [--key <file>] [--out <folder>]: makes everything that a release publishes, from the
// latest commit. docs/releasing.md explains it.
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { addSums, archive } from './archive.ts'
import { notesOf } from './notes.ts'
import { provenanceOf } from './provenance.ts'
import { readKey, signEnvelope, signFile } from './signing.ts'
import { commitVersion, isVersion, setVersion, tagOf } from './version.ts'

// npm packages contain the modes of the files on disk.
process.umask(0o022)

const root = resolve(import.meta.dirname, '..')
const platforms = ['amd64', 'arm64'] as const

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { 'dry-run': { type: 'boolean', default: false }, key: { type: 'string' }, out: { type: 'string' } },
})
const [version = '', ...others] = positionals
const isDry = values['dry-run']
if (!isVersion(version) || others.length > 0)
  fail('usage: npm run release -- <version> [--dry-run] [--key <file>] [--out <folder>]')
const git = (...args: string[]): string => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim()
if (git('status', '--porcelain') !== '') fail('There are changes without a commit: a release is made from a commit.')
if (!isDry && !values.key) fail('A release needs --key, the file of the signing key. See docs/releasing.md.')
const key = values.key ? readKey(values.key) : null
const notes = notesOf(join(root, 'CHANGELOG.md'), version)
if (!isDry) {
  if (git('tag', '--list', tagOf(version)) !== '') fail(`The tag ${tagOf(version)} exists already.`)
  commitVersion(root, version, git)
}

const out = resolve(values.out ?? join(root, 'release', 'out', version))
const work = mkdtempSync(join(tmpdir(), 'svc-release-'))
const tree = join(work, 'svc')
try {
  const revision = git('rev-parse', 'HEAD')
  const time = Number(git('show', '--no-patch', '--format=%ct', 'HEAD'))
  rmSync(out, { recursive: true, force: true })
  mkdirSync(out, { recursive: true })
  checkOut(revision)
  // A dry run makes the same files as the release, whose commit has the version.
  setVersion(tree, version)
  makePackages()
  makeChart(time)
  makeImageFiles(time)
  const facts = { version, revision, repository: repositoryOf() }
  notes.writeTo(join(out, 'RELEASE-NOTES.md'))
  const statement = provenanceOf(out, { ...facts, lock: join(tree, 'package-lock.json') })
  signEnvelope(join(out, 'provenance.intoto.jsonl'), statement, key)
  addSums(out)
  if (key) signFile(join(out, 'SHA256SUMS'), key)
} finally {
  rmSync(work, { recursive: true, force: true })
}
process.stdout.write(`${out}\n`)
if (!isDry) git('tag', '--annotate', tagOf(version), '--message', `svc ${version}`)

/** Copies the commit to a new folder, which uses the installed packages of this checkout. */
function checkOut(revision: string): void {
  mkdirSync(tree)
  const archived = join(work, 'svc.tar')
  git('archive', '--format=tar', `--output=${archived}`, revision)
  execFileSync('tar', ['-xf', archived, '-C', tree])
  symlinkSync(join(root, 'node_modules'), join(tree, 'node_modules'))
}

function makePackages(): void {
  for (const name of ['@svc/client', '@svc/guard'])
    run('npm', ['pack', '--silent', '--workspace', name, '--pack-destination', out], tree)
}

function makeChart(time: number): void {
  // What `helm package` would contain, with times that do not change.
  const chart = join(work, 'chart', 'svc')
  const ignored = ['ci', '.helmignore']
  const filter = (source: string) => !ignored.some((name) => source === join(tree, 'helm', 'svc', name))
  cpSync(join(tree, 'helm', 'svc'), chart, { recursive: true, filter })
  archive(chart, join(out, `svc-chart-${version}.tgz`), time)
}

/** Makes the files that the container image adds to its base image, and their bill of materials, for each platform. */
function makeImageFiles(time: number): void {
  run(process.execPath, ['.dev/build.mjs'], tree)
  for (const platform of platforms) {
    const name = `svc-${version}-linux-${platform}`
    const image = join(work, name)
    const cpu = platform === 'amd64' ? 'x64' : platform
    run(process.execPath, ['.dev/image.mjs', image], tree, { npm_config_cpu: cpu, npm_config_libc: 'glibc' })
    cpSync(join(image, 'sbom.cdx.json'), join(out, `${name}.cdx.json`))
    archive(image, join(out, `${name}.tar.gz`), time)
  }
}

function repositoryOf(): string {
  const { repository } = JSON.parse(git('show', 'HEAD:package.json'))
  return repository.url.replace(/^git\+|\.git$/g, '')
}

function run(program: string, args: readonly string[], cwd: string, env: Record<string, string> = {}): void {
  // Node would write its cache of compiled code into the folders.
  const { NODE_OPTIONS: _options, NODE_COMPILE_CACHE: _cache, ...own } = process.env
  execFileSync(program, args, { cwd, env: { ...own, ...env }, stdio: ['ignore', 2, 'inherit'] })
}

function fail(message: string): never {
  process.stderr.write(`${message}\n`)
  process.exit(2)
}
