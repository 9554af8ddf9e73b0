import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

/** A process under measurement. */
export interface Running {
  pid: number
  port: number
  /** Stops the process and waits for its exit. */
  stop(): Promise<void>
}

interface Program {
  /** Node by default. */
  command?: string
  args: string[]
  port: number
  cwd: string
  env: NodeJS.ProcessEnv
  /** Receives stderr. The log goes to /dev/null. */
  errors: string
  /** A path that returns 200 once the process is ready. */
  ready: string
  /** The number of seconds that a start may take: 30 by default. */
  timeout?: number
}

const children = new Set<ChildProcess>()
process.once('exit', () => {
  for (const child of children) killFamily(child)
})

/** Kills a process and the children that it would leave behind. */
function killFamily({ pid, exitCode, signalCode }: ChildProcess): void {
  if (pid === undefined || exitCode !== null || signalCode !== null || !existsSync(`/proc/${pid}`)) return
  for (const each of family(pid)) process.kill(each, 'SIGKILL')
}

/** Starts a process and waits until it serves HTTP. */
export async function startServer({
  command = process.execPath,
  args,
  port,
  cwd,
  env,
  errors,
  ready,
  timeout = 30,
}: Program): Promise<Running> {
  const log = openSync('/dev/null', 'w')
  const told = openSync(errors, 'w')
  const child = spawn(command, args, { cwd, env, stdio: ['ignore', log, told] })
  closeSync(log)
  closeSync(told)
  children.add(child)
  let isStopping = false
  const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  void gone.then(() => {
    if (!isStopping) process.stderr.write(`\n${args.join(' ')} ended: ${said()}\n`)
  })
  const said = () => readFileSync(errors, 'utf8').slice(-4000)
  const stop = async () => {
    isStopping = true
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM')
    const late = setTimeout(() => killFamily(child), 15_000)
    await gone
    clearTimeout(late)
    children.delete(child)
  }
  for (let tries = 0; tries < timeout * 20; tries++) {
    if (child.exitCode !== null) break
    const answer = await fetch(`http://127.0.0.1:${port}${ready}`).catch(() => null)
    await answer?.arrayBuffer()
    if (answer?.status === 200 && child.exitCode === null) return { pid: child.pid ?? 0, port, stop }
    await sleep(50)
  }
  await stop()
  throw new Error(`${args.join(' ')} did not start: ${said()}`)
}

/** Linux counts a process's time in hundredths of a second. */
const tick = 10_000

/** A process and its child processes, such as workers. */
function family(pid: number): number[] {
  const list = `/proc/${pid}/task/${pid}/children`
  if (!existsSync(list)) throw new Error(`The measured process ${pid} has ended.`)
  const children = readFileSync(list, 'utf8').split(' ').map(Number)
  return [pid, ...children.filter((child) => child > 0)]
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0)

/** The processor time of a process and its children in microseconds, all threads, including children that ended. */
export function processorTime(pid: number): number {
  return sum(family(pid).map(ownTime))
}

/** The processor time of the open connections to a PostgreSQL database in microseconds. It excludes vacuum and checkpoints. */
export function connectionTime(pid: number, database: string): number {
  const isConnection = (child: number) =>
    readFileSync(`/proc/${child}/cmdline`, 'utf8').startsWith(`postgres: postgres ${database} `)
  return sum(family(pid).filter(isConnection).map(ownTime))
}

/** The processor time of the main threads of a process and its children in microseconds. */
export const mainThreadTime = (pid: number): number =>
  sum(family(pid).map((each) => sum(timesIn(`/proc/${each}/task/${each}/stat`).slice(0, 2)) * tick))

/** The processor time of a process and of its children that ended, in microseconds. 0 if it has ended itself. */
export const ownTime = (pid: number): number => sum(timesIn(`/proc/${pid}/stat`)) * tick

/** The times in user and system mode of a process, then those of its children that ended. */
function timesIn(file: string): number[] {
  try {
    const stat = readFileSync(file, 'utf8')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return fields.slice(11, 15).map(Number)
  } catch {
    return []
  }
}

/** The resident memory of a process and its children in MB (2^20 bytes). */
export function residentMemory(pid: number): number {
  const sizes = family(pid).map((each) => {
    const found = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${each}/status`, 'utf8'))
    return Number(found?.[1]) / 1024
  })
  return sum(sizes)
}

/** Samples the memory of a process four times per second and returns the maximum. */
export function watchMemory(pid: number): () => number {
  let most = residentMemory(pid)
  const timer = setInterval(() => {
    most = Math.max(most, residentMemory(pid))
  }, 250)
  return () => {
    clearInterval(timer)
    return Math.max(most, residentMemory(pid))
  }
}
