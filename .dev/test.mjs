// Runs test files with tap, and sums up the results in the last line.
//
//   npm test                          the quick lane: needs only Node, runs on SQLite
//   npm test -- <files or folders>    these files, on SQLite and, where it is installed, on PostgreSQL
//   npm test -- --changed[=<commit>]  the files that a change reaches, on SQLite
//   npm run test:all                  every file on both engines
//   npm run test:rest                 what `npm test` leaves out of `npm run test:all`
//
// SVC_TEST_ENGINE limits a run to one engine. SVC_TEST_ANSWERS is a folder that several runs share, so that the last one
// finds the described answers that no run saw.
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { findPostgresql, startPostgresql } from '../test/support/postgresql-server.ts'
import { undescribedAnswers, unseenAnswers } from './answers.mjs'
import { changedSince, engineOf, isInFullLane, reachedBy, testFiles } from './test-files.ts'
import { groupFiles } from './test-groups.mjs'

// Seconds of a test process. Only one that hangs takes this long.
const TIMEOUT = 1_800

const root = resolve(import.meta.dirname, '..')
const tap = join(root, 'node_modules', 'tap', 'dist', 'esm', 'run.mjs')
const ci = Boolean(process.env.CI)
const { lane, changed, files } = readArguments(process.argv.slice(2))
const wantedEngine = process.env.SVC_TEST_ENGINE
if (wantedEngine && !['sqlite', 'postgresql'].includes(wantedEngine)) {
  stop(`SVC_TEST_ENGINE must be sqlite or postgresql, got ${wantedEngine}`)
}

const sum = { pass: 0, fail: 0, skip: 0, todo: 0 }
const problems = []
const sharedAnswers = process.env.SVC_TEST_ANSWERS
const answers = sharedAnswers ?? mkdtempSync(join(tmpdir(), 'svc-answers-'))
let running
let server

for (const [signal, code] of [
  ['SIGINT', 130],
  ['SIGTERM', 143],
]) {
  process.on(signal, async () => {
    endGroup(running)
    await server?.stop()
    if (!sharedAnswers) rmSync(answers, { recursive: true, force: true })
    process.exit(code)
  })
}

try {
  for (const [engine, chosen] of Object.entries(chosenFiles())) {
    if (wantedEngine && wantedEngine !== engine) continue
    if (engine === 'sqlite') await run(engine, chosen)
    else await onPostgresql(chosen)
  }
  await checkAnswers()
  checkSum()
} finally {
  await server?.stop()
  if (!sharedAnswers) rmSync(answers, { recursive: true, force: true })
}

for (const problem of problems) process.stdout.write(`\n${problem}\n`)
process.stdout.write(`\n${sum.pass} passed, ${sum.fail} failed\n`)
process.exitCode = sum.fail > 0 || problems.length > 0 ? 1 : 0

function readArguments(args) {
  const options = { lane: { type: 'string' }, changed: { type: 'string' } }
  // `--changed` without a commit compares with the last one.
  const given = args.map((argument) => (argument === '--changed' ? '--changed=HEAD' : argument))
  const { values, positionals } = parsed(given, options)
  for (const path of positionals) if (!existsSync(path)) stop(`no such file: ${path}`)
  const places = positionals.length > 0 ? positionals : ['test', 'packages/client/test', 'packages/guard/test']
  if (values.lane && !['all', 'rest'].includes(values.lane)) stop(`--lane must be all or rest, got ${values.lane}`)
  const lane = positionals.length > 0 ? 'named' : (values.lane ?? 'quick')
  return { lane, changed: values.changed, files: places.flatMap((path) => testFiles(resolve(path))) }
}

function parsed(args, options) {
  try {
    return parseArgs({ args, options, allowPositionals: true })
  } catch (error) {
    return stop(error.message)
  }
}

/** The files to run on each engine. Files with `engine: none` run once, on SQLite, unless a run is limited to PostgreSQL. */
function chosenFiles() {
  const sqlite = files.filter((file) => engineOf(file) !== 'postgresql')
  const postgresql = files.filter((file) => wantedEngine || engineOf(file) !== 'none')
  if (changed) return { sqlite: reachedBy(changedSince(changed), sqlite) }
  if (lane === 'quick') return { sqlite: sqlite.filter((file) => !isInFullLane(file)) }
  if (lane === 'rest') return { sqlite: sqlite.filter(isInFullLane), postgresql }
  return { sqlite, postgresql }
}

async function onPostgresql(chosen) {
  if (chosen.length === 0) return
  if (!findPostgresql()) {
    const line = 'PostgreSQL IS NOT ON THIS MACHINE (initdb, postgres): NOTHING WAS TESTED ON IT'
    if (ci || wantedEngine || lane !== 'named') problems.push(line)
    else process.stdout.write(`\n*** ${line} ***\n`)
    return
  }
  server = await startPostgresql()
  await run('postgresql', chosen, { SVC_TEST_POSTGRES_URL: server.url })
}

async function run(engine, chosen, variables = {}) {
  if (chosen.length === 0) return
  process.stdout.write(`\n${engine}\n`)
  const processes = groupFiles(chosen, { root, folder: join(root, '.tap', 'groups') })
  // The quick lane reaches nearly every line, so it alone measures coverage.
  const coverage = lane === 'quick' && !changed && ci ? ['--no-disable-coverage'] : []
  const args = [tap, 'run', `--timeout=${TIMEOUT}`, ...coverage, ...processes.map((file) => relative(root, file))]
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

/** Counts each undescribed or unseen answer as a failed test. Only all lanes together can find unseen answers. */
async function checkAnswers() {
  const undescribed = undescribedAnswers(answers)
  const isComplete = !wantedEngine && !changed && (lane === 'all' || (lane === 'rest' && sharedAnswers))
  const unseen = isComplete ? await unseenAnswers(answers) : []
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

function stop(message) {
  process.stderr.write(`${message}\n`)
  process.exit(1)
}
