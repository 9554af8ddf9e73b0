// npm test [-- files or folders]: the suite on SQLite, then on PostgreSQL. SVC_TEST_ENGINE narrows to one of them.
// Each file is a process of its own that speaks TAP; the last line is the sum of what they counted.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { findPostgresql, startPostgresql } from '../test/support/postgresql-server.ts'
import { endAll, runFile } from './test-file.mjs'

const JOBS = 2
const LINES_COVERED = 90

const root = resolve(import.meta.dirname, '..')
const ci = Boolean(process.env.CI)
const named = process.argv.slice(2).filter((argument) => argument !== '--')
const files = (named.length > 0 ? named : ['test']).flatMap((path) => testFiles(resolve(path)))
const wantedEngine = process.env.SVC_TEST_ENGINE
if (wantedEngine && !['sqlite', 'postgresql'].includes(wantedEngine)) {
  stop(`SVC_TEST_ENGINE is sqlite or postgresql, not ${wantedEngine}`)
}

const sum = { pass: 0, fail: 0, skip: 0, todo: 0 }
const coverage = mkdtempSync(join(tmpdir(), 'svc-coverage-'))
const problems = []
let interrupted
let server

for (const [signal, code] of [
  ['SIGINT', 130],
  ['SIGTERM', 143],
]) {
  process.on(signal, async () => {
    interrupted = code
    endAll()
    await cleanUp()
    process.exit(code)
  })
}

try {
  // What says `engine: none` runs once, with whichever engine comes first; `engine: postgresql` runs on that one only.
  const onSqlite = files.filter((file) => engineOf(file) !== 'postgresql')
  const others = files.filter((file) => engineOf(file) !== 'none')
  // The lines that SQLite alone does not reach are few; the second run goes without the cost of measuring them.
  if (wantedEngine !== 'postgresql') await runAll('sqlite', onSqlite, { NODE_V8_COVERAGE: coverage })
  if (wantedEngine !== 'sqlite') await onPostgresql(wantedEngine ? files : others)
  checkSum()
  if (named.length === 0 && !wantedEngine) checkCoverage()
} finally {
  await cleanUp()
}

for (const problem of problems) process.stdout.write(`\n${problem}\n`)
process.stdout.write(`\n${sum.pass} passed, ${sum.fail} failed\n`)
process.exit(interrupted ?? (sum.fail > 0 || problems.length > 0 ? 1 : 0))

function engineOf(file) {
  return /^\/\/ engine: (none|postgresql)$/m.exec(readFileSync(file, 'utf8').slice(0, 500))?.[1]
}

async function onPostgresql(chosen) {
  if (chosen.length === 0) return
  if (!findPostgresql()) {
    const line = 'PostgreSQL IS NOT ON THIS MACHINE (initdb, postgres): NOTHING WAS TESTED ON IT'
    if (ci || wantedEngine) problems.push(line)
    else process.stdout.write(`\n*** ${line} ***\n`)
    return
  }
  server = await startPostgresql()
  // Without coverage what Node compiled once may be used again.
  const NODE_COMPILE_CACHE = join(root, 'node_modules', '.svc', 'compiled')
  await runAll('postgresql', chosen, { SVC_TEST_POSTGRES_URL: server.url, NODE_COMPILE_CACHE })
}

async function runAll(engine, chosen, variables) {
  process.stdout.write(`\n${engine}\n`)
  const env = { ...process.env, ...variables, SVC_TEST_ENGINE: engine }
  const queue = [...chosen]
  const worker = async () => {
    for (let file = queue.shift(); file && !interrupted; file = queue.shift()) {
      const result = await runFile(file, env, root)
      for (const key of Object.keys(sum)) sum[key] += result.counts[key]
      process.stdout.write(result.report)
    }
  }
  await Promise.all(Array.from({ length: JOBS }, worker))
}

function checkSum() {
  const idle = sum.skip + sum.todo
  if (idle > 0) process.stdout.write(`\n${idle} skipped or still to do\n`)
  if (idle > 0 && ci) {
    problems.push('Nothing is skipped in CI.')
    sum.fail += idle
  }
  if (sum.pass + sum.fail === 0) problems.push('No test ran.')
}

function checkCoverage() {
  const args = ['report', `--temp-directory=${coverage}`, '--reporter=text-summary', '--all', '--src=src']
  const scope = ['--include=src/**', '--exclude=src/generated/**', '--check-coverage', `--lines=${LINES_COVERED}`]
  const c8 = fileURLToPath(import.meta.resolve('c8/bin/c8.js'))
  const { NODE_V8_COVERAGE: _, ...env } = process.env
  const result = spawnSync(process.execPath, [c8, ...args, ...scope], { cwd: root, encoding: 'utf8', env })
  process.stdout.write(result.stdout)
  if (result.status !== 0) problems.push(result.stderr.trim() || 'The coverage could not be measured.')
}

async function cleanUp() {
  rmSync(coverage, { recursive: true, force: true })
  const running = server
  server = undefined
  await running?.stop()
}

function testFiles(path) {
  if (!existsSync(path)) stop(`no such file: ${relative(root, path)}`)
  if (statSync(path).isFile()) return [path]
  return readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.test.ts'))
    .map((entry) => join(entry.parentPath, entry.name))
    .sort()
}

function stop(message) {
  process.stderr.write(`${message}\n`)
  process.exit(1)
}
