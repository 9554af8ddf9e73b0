// npm test [-- files or folders]: runs the suite with tap, on SQLite and then on PostgreSQL, and sums up both runs in
// the last line. SVC_TEST_ENGINE limits it to one engine.
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative, resolve } from 'node:path'
import { findPostgresql, startPostgresql } from '../test/support/postgresql-server.ts'
import { undescribedAnswers, unseenAnswers } from './answers.mjs'
import { groupFiles } from './test-groups.mjs'

// Seconds of a test process. Only one that hangs takes this long.
const TIMEOUT = 1_800

const root = resolve(import.meta.dirname, '..')
const tap = join(root, 'node_modules', 'tap', 'dist', 'esm', 'run.mjs')
const ci = Boolean(process.env.CI)
const named = process.argv.slice(2).filter((argument) => argument !== '--')
const files = (named.length > 0 ? named : ['test', 'packages/client/test', 'packages/guard/test']).flatMap((path) =>
  testFiles(resolve(path)),
)
const wantedEngine = process.env.SVC_TEST_ENGINE
if (wantedEngine && !['sqlite', 'postgresql'].includes(wantedEngine)) {
  stop(`SVC_TEST_ENGINE must be sqlite or postgresql, not ${wantedEngine}`)
}

const sum = { pass: 0, fail: 0, skip: 0, todo: 0 }
const problems = []
const answers = mkdtempSync(join(tmpdir(), 'svc-answers-'))
let running
let server

for (const [signal, code] of [
  ['SIGINT', 130],
  ['SIGTERM', 143],
]) {
  process.on(signal, async () => {
    endGroup(running)
    await server?.stop()
    rmSync(answers, { recursive: true, force: true })
    process.exit(code)
  })
}

try {
  // Files marked `engine: none` run once, on whichever engine comes first; `engine: postgresql` files run only there.
  const onSqlite = files.filter((file) => engineOf(file) !== 'postgresql')
  const others = files.filter((file) => engineOf(file) !== 'none')
  // SQLite alone reaches nearly every line, so only a full run on it measures coverage.
  const coverage = named.length === 0 && !wantedEngine ? ['--no-disable-coverage'] : []
  if (wantedEngine !== 'postgresql') await run('sqlite', onSqlite, {}, coverage)
  if (wantedEngine !== 'sqlite') await onPostgresql(wantedEngine ? files : others)
  await checkAnswers()
  checkSum()
} finally {
  await server?.stop()
  rmSync(answers, { recursive: true, force: true })
}

for (const problem of problems) process.stdout.write(`\n${problem}\n`)
process.stdout.write(`\n${sum.pass} passed, ${sum.fail} failed\n`)
process.exitCode = sum.fail > 0 || problems.length > 0 ? 1 : 0

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
  await run('postgresql', chosen, { SVC_TEST_POSTGRES_URL: server.url })
}

async function run(engine, chosen, variables, options = []) {
  if (chosen.length === 0) return
  process.stdout.write(`\n${engine}\n`)
  const processes = groupFiles(chosen, { root, folder: join(root, '.tap', 'groups') })
  const args = [tap, 'run', `--timeout=${TIMEOUT}`, ...options, ...processes.map((file) => relative(root, file))]
  const env = {
    ...process.env,
    NODE_COMPILE_CACHE: join(root, 'node_modules', '.svc', 'compiled'),
    NODE_OPTIONS: `${process.env.NODE_OPTIONS ?? ''} --import=${new URL('lean-tap.mjs', import.meta.url)}`.trim(),
    ...variables,
    SVC_TEST_ENGINE: engine,
    SVC_TEST_ANSWERS: answers,
  }
  // A separate process group, so that servers of a crashed test end with it.
  running = spawn(process.execPath, args, { cwd: root, env, stdio: ['ignore', 'pipe', 'inherit'], detached: true })
  let counts = ''
  running.stdout.setEncoding('utf8').on('data', (text) => {
    process.stdout.write(text)
    counts = `${counts}${text}`.slice(-1_000)
  })
  const drained = new Promise((done) => running.stdout.once('close', done))
  const code = await new Promise((done) => running.once('exit', (status, signal) => done(status ?? signal)))
  endGroup(running)
  await drained
  // tap ends with `# { total: 8, pass: 4, fail: 2, todo: 1, skip: 1 }`.
  const [, line] = /^# \{ (total: .*) \}$/m.exec(counts) ?? []
  if (line === undefined) problems.push(`tap ended without a result on ${engine} (exit ${code}).`)
  for (const [, key, value] of (line ?? '').matchAll(/(\w+): (\d+)/g)) if (key in sum) sum[key] += Number(value)
  if (code !== 0 && sum.fail === 0) problems.push(`tap failed on ${engine} (exit ${code}).`)
}

/** Counts each undescribed or unseen answer as a failed test. Only a full run can find unseen answers. */
async function checkAnswers() {
  const undescribed = undescribedAnswers(answers)
  const unseen = named.length === 0 ? await unseenAnswers(answers) : []
  sum.fail += undescribed.length + unseen.length
  if (undescribed.length > 0) problems.push(`Answers that the API description lacks:\n${undescribed.join('\n')}`)
  if (unseen.length > 0) problems.push(`Described answers that no test saw:\n${unseen.join('\n')}`)
}

function checkSum() {
  const idle = sum.skip + sum.todo
  if (idle > 0) process.stdout.write(`\n${idle} skipped or still to do\n`)
  if (idle > 0 && ci) {
    problems.push('CI must not skip tests.')
    sum.fail += idle
  }
  if (sum.pass + sum.fail === 0) problems.push('No test ran.')
}

function endGroup(child) {
  try {
    if (child?.pid) process.kill(-child.pid, 'SIGKILL')
  } catch {
    // The group has already ended.
  }
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
