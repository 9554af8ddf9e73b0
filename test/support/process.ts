import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import type { Test } from 'tap'
import { freePort } from './port.ts'
import { until } from './until.ts'

export { freePort } from './port.ts'

const source = resolve(import.meta.dirname, '../../src')
const compareAnswers = new URL('compare-answers.ts', import.meta.url).href

/** The exit code and the output of a process. */
export interface ProcessResult {
  code: number | null
  stdout: string
  stderr: string
}

/** A running process of svc. */
export interface Running {
  child: ChildProcess
  /** `http://localhost:<port>`. */
  url: string
  port: number
  cwd: string
  /** Its environment, for commands beside it. */
  env: Record<string, string | undefined>
  stdout(): string
  stderr(): string
  /** Waits until standard output matches. */
  printed(pattern: RegExp): Promise<void>
  ended: Promise<ProcessResult>
  /** Sends SIGTERM and waits for the exit. */
  stop(): Promise<ProcessResult>
}

interface Options {
  env?: Record<string, string | undefined>
  cwd?: string
}

/** A directory that is deleted after the test. */
export function temporaryDirectory(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'svc-process-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

function launch(script: string, args: readonly string[], { cwd, env }: Options) {
  // Settings of svc in the caller's environment are dropped.
  const { PATH, HOME, NODE_COMPILE_CACHE, SVC_TEST_ANSWERS } = process.env
  const preloaded =
    SVC_TEST_ANSWERS && script === 'main.ts'
      ? `--import=${compareAnswers} ${env?.NODE_OPTIONS ?? ''}`
      : env?.NODE_OPTIONS
  const all = { PATH, HOME, NODE_COMPILE_CACHE, SVC_TEST_ANSWERS, ...env, NODE_OPTIONS: preloaded }
  const clean = Object.entries(all).filter(([, value]) => value !== undefined)
  const child = spawn(process.execPath, [join(source, script), ...args], { cwd, env: Object.fromEntries(clean) })
  const output = { stdout: '', stderr: '' }
  child.stdout.setEncoding('utf8').on('data', (chunk) => {
    output.stdout += chunk
  })
  child.stderr.setEncoding('utf8').on('data', (chunk) => {
    output.stderr += chunk
  })
  const ended = new Promise<ProcessResult>((done) => child.once('close', (code) => done({ code, ...output })))
  return { child, output, ended }
}

/** Runs `main.ts` until it exits. */
export async function runMain(
  t: Test,
  { cwd = temporaryDirectory(t), env = {} }: Options = {},
): Promise<ProcessResult> {
  const { child, ended } = launch('main.ts', [], { cwd, env: { PORT: String(await freePort()), ...env } })
  t.teardown(() => child.kill('SIGKILL'))
  return ended
}

/** Runs a command of `cli.ts`, with a text on its standard input. */
export function runCli(
  args: readonly string[],
  options: Options & { cwd: string; input?: string },
): Promise<ProcessResult> {
  const { child, ended } = launch('cli.ts', args, options)
  child.stdin.on('error', () => undefined)
  child.stdin.end(options.input ?? '')
  return ended
}

/** Starts a command of `cli.ts` that runs until it is stopped, and waits for its first line on standard output. */
export async function startCli(t: Test, args: readonly string[], options: Options & { cwd: string }) {
  const { child, output, ended } = launch('cli.ts', args, options)
  t.teardown(async () => {
    child.kill('SIGKILL')
    await ended
  })
  await until(() => output.stdout.includes('\n') || child.exitCode !== null)
  return { child, ended, output }
}

/** Starts `main.ts` on a free port and waits until it listens. */
export async function startMain(t: Test, { cwd = temporaryDirectory(t), env = {} }: Options = {}): Promise<Running> {
  const port = Number(env.PORT ?? (await freePort()))
  const { child, output, ended } = launch('main.ts', [], { cwd, env: { PORT: String(port), ...env } })
  t.teardown(async () => {
    child.kill('SIGKILL')
    await ended
  })
  const printed = async (pattern: RegExp) => {
    const isPrinted = () => pattern.test(output.stdout)
    await until(() => isPrinted() || child.exitCode !== null || child.signalCode !== null)
    if (!isPrinted()) throw new Error(`Nothing printed fits ${pattern}:\n${output.stdout}\n${output.stderr}`)
  }
  // The log level may hide that line; then the socket decides.
  if (env.LOG_LEVEL === undefined || ['trace', 'debug', 'info'].includes(env.LOG_LEVEL)) await printed(/listening on/)
  return {
    child,
    url: `http://localhost:${port}`,
    port,
    cwd,
    env: { ...env, PORT: String(port) },
    stdout: () => output.stdout,
    stderr: () => output.stderr,
    printed,
    ended,
    stop: () => {
      child.kill('SIGTERM')
      return ended
    },
  }
}
