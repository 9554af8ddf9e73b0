import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import type { Test } from 'tap'
import { isAvailable } from './available.ts'
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
  return isAvailable(t, Boolean(program), 'REDIS IS NOT ON THIS MACHINE: NOTHING WAS TESTED WITH IT')
}

/** Starts a Redis on a free port, in memory only; stopped with the test. */
export async function startRedis(t: Test, options: string[] = []): Promise<RedisServer> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-redis-'))
  const port = await freePort()
  let child: ReturnType<typeof spawn> | undefined
  const start = async () => {
    const args = [
      '--port',
      String(port),
      '--bind',
      '127.0.0.1',
      '--save',
      '',
      '--appendonly',
      'no',
      '--dir',
      folder,
      ...options,
    ]
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

/** A Redis with one replica, watched by three sentinels. */
export interface SentinelSite {
  /** The settings of svc. */
  settings: { url: string; sentinels: string[]; sentinel_password: string }
  primary: RedisServer
  /** The port of the primary that the sentinels agree on. */
  port(): Promise<number>
}

/** Starts sentinels that replace a primary after it has not answered for two seconds; stopped with the test. */
export async function startSentinels(t: Test): Promise<SentinelSite> {
  const password = 'redis-password'
  const secured = ['--requirepass', password, '--masterauth', password]
  const primary = await startRedis(t, secured)
  const { port: first } = new URL(primary.url)
  await startRedis(t, [...secured, '--replicaof', `127.0.0.1 ${first}`])
  const sentinel_password = 'sentinel-password'
  const folder = mkdtempSync(join(tmpdir(), 'svc-sentinel-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const ports = await Promise.all([freePort(), freePort(), freePort()])
  for (const port of ports) {
    const file = join(folder, `${port}.conf`)
    const lines = [
      ...[`port ${port}`, 'bind 127.0.0.1', `dir ${folder}`, `requirepass ${sentinel_password}`],
      ...[`sentinel sentinel-pass ${sentinel_password}`, `sentinel monitor the-primary 127.0.0.1 ${first} 2`],
      ...[`sentinel auth-pass the-primary ${password}`, 'sentinel down-after-milliseconds the-primary 2000'],
      'sentinel failover-timeout the-primary 6000',
    ]
    writeFileSync(file, lines.join('\n'))
    const child = spawn(program ?? '', [file, '--sentinel'], { stdio: 'ignore' })
    t.teardown(async () => {
      const gone = new Promise((resolve) => child.once('exit', resolve))
      if (child.exitCode === null && child.kill('SIGKILL')) await gone
    })
  }
  const clients = ports.map((port) => {
    const client = new Redis({ port, password: sentinel_password, retryStrategy: () => 100 })
    client.on('error', () => undefined)
    t.teardown(() => client.disconnect())
    return client
  })
  for (const client of clients) {
    await until(async () => {
      const known = await client.call('SENTINEL', 'ckquorum', 'the-primary').catch(() => null)
      const replicas = await client.call('SENTINEL', 'replicas', 'the-primary').catch(() => [])
      return /^OK 3/.test(String(known)) && /master-link-status,ok/.test(String(replicas))
    })
  }
  return {
    settings: {
      url: `redis://:${password}@the-primary`,
      sentinels: ports.map((port) => `127.0.0.1:${port}`),
      sentinel_password,
    },
    primary,
    async port() {
      const found = await clients[0]?.call('SENTINEL', 'get-master-addr-by-name', 'the-primary')
      return Number(Array.isArray(found) ? found[1] : 0)
    },
  }
}
