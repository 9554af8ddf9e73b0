import { spawn } from 'node:child_process'
import { relative } from 'node:path'

// Only a file that hangs takes this long: a busy machine must never be the reason of a failure.
const TIMEOUT = process.env.SVC_FAULTS === 'long' ? 1_800_000 : 600_000
// tap's own limit comes first, because its report names the test.
const TAP_TIMEOUT = String(TIMEOUT / 1000 - 15)

const running = new Set()

/** Runs one test file; tells what it counted, and the lines to print. */
export async function runFile(file, env, root) {
  const began = Date.now()
  // A group of its own, so that servers which a test started end with it.
  const child = spawn(process.execPath, [file], {
    cwd: root,
    env: { ...env, TAP_TIMEOUT },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  running.add(child)
  let output = ''
  let errors = ''
  child.stdout.setEncoding('utf8').on('data', (chunk) => {
    output += chunk
  })
  child.stderr.setEncoding('utf8').on('data', (chunk) => {
    errors += chunk
  })
  let late = false
  const timer = setTimeout(() => {
    late = true
    endGroup(child)
  }, TIMEOUT)
  const code = await new Promise((done) => {
    child.on('error', (error) => {
      errors += `${error.message}\n`
      done(1)
    })
    // Not `close`: a process left behind by the test may hold the pipes open.
    child.on('exit', (status, signal) => setImmediate(() => done(status ?? signal)))
  })
  clearTimeout(timer)
  endGroup(child)
  await drained(child)
  running.delete(child)

  const counts = countsOf(output)
  if (late) errors += `ended after ${TIMEOUT / 1000} s\n`
  // It failed and did not say so: it crashed, hung, or never began.
  if (counts.fail === 0 && (code !== 0 || late || counts.total + counts.skip === 0)) counts.fail = 1
  return { counts, report: reportOf(relative(root, file), counts, began, code, output, errors) }
}

/** Ends every test file that still runs. */
export function endAll() {
  for (const child of running) endGroup(child)
}

function endGroup(child) {
  try {
    process.kill(-child.pid, 'SIGKILL')
  } catch {
    // The group is gone already, as it should be.
  }
}

async function drained(child) {
  const streams = [child.stdout, child.stderr].filter((stream) => !stream.destroyed)
  const closed = streams.map((stream) => new Promise((done) => stream.once('close', done)))
  const patience = new Promise((done) => setTimeout(done, 1000).unref())
  await Promise.race([Promise.all(closed), patience])
}

// The line with which tap ends: `# { total: 8, pass: 4, fail: 2, todo: 1, skip: 1 }`.
function countsOf(output) {
  const line = [...output.matchAll(/^# \{ (.*) \}$/gm)].at(-1)?.[1] ?? ''
  const counts = { total: 0, pass: 0, fail: 0, skip: 0, todo: 0 }
  for (const [, key, value] of line.matchAll(/(\w+): (\d+)/g)) counts[key] = Number(value)
  return counts
}

function reportOf(name, counts, began, code, output, errors) {
  const seconds = ((Date.now() - began) / 1000).toFixed(1)
  const idle = counts.skip + counts.todo > 0 ? `, ${counts.skip + counts.todo} skipped` : ''
  // What a machine lacks is said loudly even where nothing failed.
  const notices = errors.split('\n').filter((line) => line.startsWith('***'))
  const loud = notices.map((line) => `\n${line}\n\n`).join('')
  if (counts.fail === 0) return `  ok      ${name}  ${counts.pass} passed${idle}, ${seconds} s\n${loud}`
  // What went well says nothing about the failure.
  const lines = output.split('\n').filter((line) => line.trim() !== '' && !/^\s*ok \d/.test(line))
  const details = [...lines, ...errors.split('\n').filter((line) => line !== '')].map((line) => `          ${line}`)
  const head = `  FAILED  ${name}  ${counts.pass} passed, ${counts.fail} failed${idle}, ${seconds} s (exit ${code})`
  return `${head}\n${details.join('\n')}\n`
}
