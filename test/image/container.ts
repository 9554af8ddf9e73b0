import { type ChildProcess, type SpawnOptions, spawn, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { until } from '../support/until.ts'

/** The user that builds and runs the image: unprivileged, even if root starts the check. */
export const plainUser: { uid: number; gid: number } | undefined =
  process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : undefined

/** The exit code and the output of a process. */
export interface ProcessResult {
  code: number | null
  output: string
}

/** A running process and how to stop it. */
export interface Running {
  output(): string
  ended: Promise<ProcessResult>
  /** Sends SIGTERM to the process itself and waits for its exit. */
  stop(): Promise<ProcessResult>
  kill(): void
}

/** Runs a command as the unprivileged user until it exits. */
export function run(command: readonly string[], options: SpawnOptions & { input?: string }): Promise<ProcessResult> {
  const [program = '', ...args] = command
  const { child, ended } = watch(spawn(program, args, { ...options, ...plainUser, stdio: 'pipe' }))
  child.stdin?.on('error', () => undefined)
  child.stdin?.end(options.input ?? '')
  return ended
}

/** Whether this machine allows a root file system and a process namespace. */
export const canIsolate =
  plainUser !== undefined && spawnSync('unshare', ['--fork', '--pid', '--mount', 'true']).status === 0

/**
 * Starts a command as a container does: as the unprivileged user and, where the machine allows it, as the first process
 * on a read-only root file system with one writable directory.
 */
export function start(
  command: readonly string[],
  { cwd, env, writable }: { cwd: string; env: Record<string, string>; writable: string },
): Running {
  if (!canIsolate) {
    const [program = '', ...args] = command
    return running(spawn(program, args, { cwd, env, ...plainUser, stdio: 'pipe' }), (child) => child.pid)
  }
  const script = `mount --bind "$1" "$1" && mount -o remount,ro,bind / && ! touch /svc-probe 2>/dev/null &&
    shift && exec setpriv --reuid=${plainUser?.uid} --regid=${plainUser?.gid} --clear-groups -- "$@"`
  const isolated = ['--fork', '--pid', '--mount', '--kill-child', 'sh', '-c', script, 'sh', writable, ...command]
  return running(spawn('unshare', isolated, { cwd, env, stdio: 'pipe' }), ({ pid }) =>
    Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim()),
  )
}

function running(spawned: ChildProcess, pidOf: (child: ChildProcess) => number | undefined): Running {
  const { child, output, ended } = watch(spawned)
  const stop = () => {
    const pid = pidOf(child)
    if (pid) process.kill(pid, 'SIGTERM')
    return ended
  }
  return { output, ended, stop, kill: () => child.kill('SIGKILL') }
}

function watch(child: ChildProcess) {
  let text = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (chunk) => {
      text += chunk
    })
  }
  const ended = new Promise<ProcessResult>((done, fail) => {
    child.once('error', fail)
    child.once('close', (code) => done({ code, output: text }))
  })
  return { child, output: () => text, ended }
}

/** Waits until a process is ready; throws if it exits first. */
export async function untilReady(isSo: () => Promise<boolean>, process: Running): Promise<void> {
  let hasEnded = false
  void process.ended.then(() => {
    hasEnded = true
  })
  await until(async () => {
    if (hasEnded) throw new Error(`The process ended before it was ready:\n${process.output()}`)
    return isSo()
  })
}
