// lane: all
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import type { Test } from 'tap'
import { isAvailable } from './available.ts'
import { freePort } from './port.ts'
import type { Authority } from './tls-proxy.ts'
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

/** The settings of a Redis or a sentinel that accepts only TLS, with a certificate of this authority, or only plain text. */
function listening(port: number, authority: Authority | undefined): [string, string][] {
  if (!authority) return [['port', String(port)]]
  const { chain, key } = authority.issue({ host: '127.0.0.1' })
  return [
    ...Object.entries({ port: '0', 'tls-port': String(port), 'tls-cert-file': chain, 'tls-key-file': key }),
    ...Object.entries({ 'tls-ca-cert-file': authority.root, 'tls-auth-clients': 'no', 'tls-replication': 'yes' }),
  ]
}

/** Starts a Redis on a free port, in memory only; stopped with the test. With an authority, it accepts only TLS. */
export async function startRedis(t: Test, options: string[] = [], authority?: Authority): Promise<RedisServer> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-redis-'))
  const port = await freePort()
  const address = listening(port, authority).flatMap(([name, value]) => [`--${name}`, value])
  let child: ReturnType<typeof spawn> | undefined
  const start = async () => {
    const args = [...address, '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', '--dir', folder, ...options]
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
  return { url: `${authority ? 'rediss' : 'redis'}://127.0.0.1:${port}`, start, stop, freeze, thaw }
}

/** A Redis with one replica, watched by three sentinels. */
export interface SentinelSite {
  /** The settings of svc. */
  settings: { url: string; sentinels: string[]; sentinel_password: string }
  primary: RedisServer
  /** The port of the primary that the sentinels agree on. */
  port(): Promise<number>
  /** Stops one sentinel. The others still agree on a failover. */
  stopSentinel(): Promise<void>
  /** Connects to the Redis at this port. */
  connect(port: number): Redis
}

/**
 * Starts sentinels that replace a primary after it has not answered for two seconds; stopped with the test. With an
 * authority, all connections use TLS.
 */
export async function startSentinels(t: Test, authority?: Authority): Promise<SentinelSite> {
  const password = 'redis-password'
  const secured = ['--requirepass', password, '--masterauth', password]
  const primary = await startRedis(t, secured, authority)
  const { port: first } = new URL(primary.url)
  await startRedis(t, [...secured, '--replicaof', `127.0.0.1 ${first}`], authority)
  const sentinel_password = 'sentinel-password'
  const folder = mkdtempSync(join(tmpdir(), 'svc-sentinel-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const ports = await Promise.all([freePort(), freePort(), freePort()])
  let stopSentinel = async () => {}
  for (const port of ports) {
    const file = join(folder, `${port}.conf`)
    const lines = [
      ...listening(port, authority).map((setting) => setting.join(' ')),
      ...['bind 127.0.0.1', `dir ${folder}`, `requirepass ${sentinel_password}`],
      ...[`sentinel sentinel-pass ${sentinel_password}`, `sentinel monitor the-primary 127.0.0.1 ${first} 2`],
      ...[`sentinel auth-pass the-primary ${password}`, 'sentinel down-after-milliseconds the-primary 2000'],
      'sentinel failover-timeout the-primary 6000',
    ]
    writeFileSync(file, lines.join('\n'))
    const child = spawn(program ?? '', [file, '--sentinel'], { stdio: 'ignore' })
    stopSentinel = async () => {
      const gone = new Promise((resolve) => child.once('exit', resolve))
      if (child.exitCode === null && child.signalCode === null && child.kill('SIGKILL')) await gone
    }
    t.teardown(stopSentinel)
  }
  const tls = authority && { tls: { ca: readFileSync(authority.root) } }
  const open = (port: number, secret: string) => {
    const client = new Redis({ host: '127.0.0.1', port, password: secret, retryStrategy: () => 100, ...tls })
    client.on('error', () => undefined)
    t.teardown(() => client.disconnect())
    return client
  }
  const clients = ports.map((port) => open(port, sentinel_password))
  for (const client of clients) {
    await until(async () => {
      const known = await client.call('SENTINEL', 'ckquorum', 'the-primary').catch(() => null)
      const replicas = await client.call('SENTINEL', 'replicas', 'the-primary').catch(() => [])
      return /^OK 3/.test(String(known)) && /master-link-status,ok/.test(String(replicas))
    })
  }
  return {
    settings: {
      url: `${authority ? 'rediss' : 'redis'}://:${password}@the-primary`,
      sentinels: ports.map((port) => `127.0.0.1:${port}`),
      sentinel_password,
    },
    primary,
    stopSentinel,
    connect: (port) => open(port, password),
    async port() {
      const found = await clients[0]?.call('SENTINEL', 'get-master-addr-by-name', 'the-primary')
      return Number(Array.isArray(found) ? found[1] : 0)
    },
  }
}
