// lane: all
import { type ChildProcess, spawn } from 'node:child_process'
import { chownSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { stringify } from 'yaml'
import { isAvailable } from './available.ts'
import type { Place, Switch } from './networks.ts'
import { haproxySettings, patroniSettings } from './patroni-settings.ts'
import { freePort } from './port.ts'
import { findPostgresql, serverUser } from './postgresql-server.ts'
import { openProxy } from './proxy.ts'
import { sendRequest } from './remote.ts'
import { until } from './until.ts'

const find = (name: string) =>
  ['/usr/bin', '/usr/sbin', '/usr/local/bin'].map((folder) => join(folder, name)).find((path) => existsSync(path))

const programs = { etcd: find('etcd'), patroni: find('patroni'), haproxy: find('haproxy') }

/** Whether the programs of the cluster are installed for the tests; CI requires them. */
export function hasPatroni(t: Test): boolean {
  return isAvailable(
    t,
    Boolean(programs.etcd && programs.patroni && programs.haproxy && findPostgresql()),
    'PATRONI, ETCD, HAPROXY OR POSTGRESQL IS NOT ON THIS MACHINE: NO FAILOVER WAS TESTED',
  )
}

/** A node of a cluster: Patroni with its PostgreSQL. */
export interface Node {
  name: string
  /** The URL of its PostgreSQL, whatever its role. */
  url: string
  folder: string
  /** Whether it holds the lock of the primary and accepts writes. */
  isPrimary(): Promise<boolean>
  /** Kills PostgreSQL, and Patroni too unless only the database crashes. */
  kill(parts: 'postgresql' | 'all'): void
  /** Pauses all its processes: connections stay open without answers. */
  freeze(): void
  thaw(): void
  /** Cuts Patroni off from etcd. With its own network interface, cuts the whole node off. */
  cutOff(): void
  reconnect(): void | Promise<void>
  /** Starts Patroni again after `kill('all')`. */
  start(): void
}

/** Three nodes with synchronous replication, and HAProxy in front of the primary. */
export interface Cluster {
  /** The URL of the database through HAProxy. */
  url: string
  nodes: Node[]
  /** Waits for the primary; `other` excludes the former one. */
  primary(other?: Node): Promise<Node>
  /** Waits until a standby confirms every commit, so that a failover loses none. */
  isSynchronous(): Promise<void>
  /** Waits until every node is running. */
  isWhole(): Promise<void>
  /** Asks Patroni to move the primary to another node. */
  switchOver(): Promise<void>
}

/** Runs a program until the test ends; its output is shown if the test fails. */
function run(t: Test, program: string, args: string[], folder: string, place?: Place): ChildProcess {
  const [command = program, ...others] = place ? place.command(program, args) : [program, ...args]
  const child = spawn(command, others, {
    cwd: folder,
    ...(place ? {} : serverUser()),
    env: { PATH: process.env.PATH, HOME: folder, LC_ALL: 'C' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let log = ''
  const note = (chunk: Buffer) => {
    log = `${log}${chunk}`.slice(-20_000)
  }
  child.stdout.on('data', note)
  child.stderr.on('data', note)
  t.teardown(async () => {
    if (!t.passing()) process.stderr.write(`${program} ${args.join(' ')}:\n${log}\n`)
    if (child.exitCode !== null || child.signalCode !== null) return
    const gone = new Promise((resolve) => child.once('exit', resolve))
    child.kill('SIGKILL')
    child.kill('SIGCONT')
    await gone
  })
  return child
}

/** The processes of the PostgreSQL below a folder. */
function postgresqlOf(folder: string): number[] {
  try {
    const [pid = ''] = readFileSync(join(folder, 'data/postmaster.pid'), 'utf8').split('\n')
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')
    return [pid, ...children].filter(Boolean).map(Number)
  } catch {
    return []
  }
}

function signal(pids: (number | undefined)[], name: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      if (pid) process.kill(pid, name)
    } catch (error) {
      // A process of one connection may end meanwhile.
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
    }
  }
}

/** Where the nodes run: on the loopback interface, or on machines at a switch. */
interface Network {
  range: string
  etcd: URL
  places: Switch | null
}

async function startNode(t: Test, parent: string, name: string, network: Network): Promise<Node & { rest: string }> {
  const folder = join(parent, name)
  mkdirSync(folder, { recursive: true })
  give(folder)
  const place = network.places?.connect(name)
  const { etcd, cutOff, reconnect } = place ? unpluggable(network.etcd, place) : await proxied(t, network.etcd)
  const [rest, database] = [await freePort(), await freePort()].map(
    (port) => `${place?.address ?? '127.0.0.1'}:${port}`,
  )
  const file = join(folder, 'patroni.yml')
  const addresses = { etcd, rest: rest ?? '', database: database ?? '', range: network.range }
  writeFileSync(file, stringify(patroniSettings(addresses, name, folder)))
  // PostgreSQL detaches from Patroni, so it must be ended on its own, and after Patroni, which would start it again.
  const end = () => signal(postgresqlOf(folder), 'SIGKILL')
  process.once('exit', end)
  t.teardown(() => {
    end()
    process.off('exit', end)
  })
  let patroni: ChildProcess
  const start = () => {
    patroni = run(t, programs.patroni ?? '', [file], folder, place)
  }
  start()
  const all = () => [patroni.pid, ...postgresqlOf(folder)]
  return {
    name,
    folder,
    rest: `http://${rest}`,
    url: `postgresql://postgres@${database}/postgres`,
    isPrimary: () => isOk(`http://${rest}`, '/primary'),
    kill: (parts) => signal(parts === 'all' ? all() : postgresqlOf(folder), 'SIGKILL'),
    freeze: () => signal(all(), 'SIGSTOP'),
    thaw: () => signal(all(), 'SIGCONT'),
    cutOff,
    reconnect,
    start,
  }
}

/** Leads Patroni to etcd through a proxy that can be cut. */
async function proxied(t: Test, etcd: URL) {
  const proxy = await openProxy(t, etcd)
  return { etcd: new URL(proxy.url).host, cutOff: proxy.cut, reconnect: proxy.open }
}

const unpluggable = (etcd: URL, { unplug, plugIn }: Place) => ({
  etcd: etcd.host,
  cutOff: unplug,
  reconnect: plugIn,
})

const isOk = (url: string, path: string): Promise<boolean> =>
  sendRequest(url, { url: path }).then(
    ({ statusCode }) => statusCode === 200,
    () => false,
  )

/** Gives a folder to the user of the servers. */
function give(folder: string): void {
  const owner = serverUser()
  if (owner) chownSync(folder, owner.uid, owner.gid)
}

async function startEtcd(t: Test, folder: string, address: string): Promise<URL> {
  const [client, peer] = [await freePort(), await freePort()].map((port) => `http://${address}:${port}`)
  const options = {
    'data-dir': join(folder, 'etcd'),
    'listen-client-urls': client,
    'advertise-client-urls': client,
    'listen-peer-urls': peer,
    'initial-advertise-peer-urls': peer,
    'initial-cluster': `default=${peer}`,
    'enable-v2': true,
    'unsafe-no-fsync': true,
  }
  const args = Object.entries(options).map(([key, value]) => `--${key}=${value}`)
  run(t, programs.etcd ?? '', args, folder)
  await until(() => isOk(client ?? '', '/health'))
  return new URL(client ?? '')
}

interface ClusterOptions {
  /** The folder of a node, for example on a separate disk. */
  folderOf?: (name: string) => string
  /** Connects the nodes, which otherwise share the loopback interface. */
  places?: Switch
}

/** Starts a cluster; stopped with the test. */
export async function startCluster(t: Test, { folderOf, places }: ClusterOptions = {}): Promise<Cluster> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-patroni-'))
  // First, so that it runs after the other teardowns.
  t.teardown(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))
  give(folder)
  const etcd = await startEtcd(t, folder, places?.address ?? '127.0.0.1')
  const network = { etcd, range: places?.range ?? '127.0.0.1/32', places: places ?? null }
  const nodes = await Promise.all(
    ['one', 'two', 'three'].map((name) => startNode(t, folderOf?.(name) ?? folder, name, network)),
  )
  const port = await freePort()
  const config = join(folder, 'haproxy.cfg')
  writeFileSync(config, haproxySettings(port, nodes))
  run(t, programs.haproxy ?? '', ['-db', '-f', config], folder)

  const primary = async (other?: Node) => {
    let found: (typeof nodes)[number] | undefined
    await until(async () => {
      const roles = await Promise.all(nodes.map((node) => node !== other && node.isPrimary()))
      found = nodes[roles.indexOf(true)]
      return found !== undefined
    })
    if (!found) throw new Error('The cluster has no primary.')
    return found
  }
  const members = async (): Promise<{ role: string; state: string }[]> => {
    const { rest } = await primary()
    return (await sendRequest(rest, { url: '/cluster' })).json().members
  }
  const isSynchronous = () =>
    until(async () => {
      const all = await members().catch(() => [])
      return all.some(({ role, state }) => role === 'sync_standby' && ['running', 'streaming'].includes(state))
    })
  const isWhole = () =>
    until(async () => {
      const all = await members().catch(() => [])
      return all.length === nodes.length && all.every(({ state }) => ['running', 'streaming'].includes(state))
    })
  const switchOver = async () => {
    const { rest, name: leader } = await primary()
    const answer = await sendRequest(rest, { method: 'POST', url: '/switchover', payload: { leader } })
    if (answer.statusCode !== 200) throw new Error(answer.body)
  }
  await isSynchronous()
  const url = `postgresql://postgres@127.0.0.1:${port}/postgres`
  return { url, nodes, primary, isSynchronous, isWhole, switchOver }
}
