import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { freePort } from './port.ts'
import { until } from './until.ts'

const program = ['/usr/bin/redis-server', '/usr/local/bin/redis-server'].find((path) => existsSync(path))

/** A separate Redis for a test. */
export interface RedisServer {
  url: string
  stop(): Promise<void>
  start(): Promise<void>
  /** Pauses it: connections stay open without answers. */
  freeze(): void
  thaw(): void
}

/** Whether a Redis is installed for the tests; CI requires one. */
export function hasRedis(t: Test): boolean {
  if (program) return true
  const line = 'REDIS IS NOT ON THIS MACHINE: NOTHING WAS TESTED WITH IT'
  process.stderr.write(`*** ${line} ***\n`)
  if (process.env.CI) t.fail(line)
  else t.pass(line, { skip: true })
  return false
}

/** Starts a Redis on a free port, in memory only; stopped with the test. */
export async function startRedis(t: Test): Promise<RedisServer> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-redis-'))
  const port = await freePort()
  let child: ReturnType<typeof spawn> | undefined
  const start = async () => {
    const args = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', '--dir', folder]
    const started = spawn(program ?? '', args, { stdio: ['ignore', 'pipe', 'ignore'] })
    child = started
    let output = ''
    started.stdout.on('data', (chunk) => {
      output += chunk
    })
    await until(() => output.includes('Ready to accept connections') || started.exitCode !== null)
    if (started.exitCode !== null) throw new Error(`Redis does not start: ${output}`)
  }
  const stop = async () => {
    const running = child
    if (!running || running.exitCode !== null || running.signalCode !== null) return
    await new Promise((resolve) => {
      running.once('exit', resolve)
      running.kill('SIGKILL')
    })
  }
  await start()
  t.teardown(async () => {
    await stop()
    rmSync(folder, { recursive: true, force: true })
  })
  const [freeze, thaw] = [() => void child?.kill('SIGSTOP'), () => void child?.kill('SIGCONT')]
  return { url: `redis://127.0.0.1:${port}`, start, stop, freeze, thaw }
}
