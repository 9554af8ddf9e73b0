// npm run bench:peers [-- name…]: compares svc with other identity servers on one core. See bench/peers.md.
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { betterAuth } from './peers/better-auth.ts'
import { glewlwyd } from './peers/glewlwyd.ts'
import { keycloak } from './peers/keycloak.ts'
import { library } from './peers/library.ts'
import { credentials, hashing, type Operation, operations, type Peer } from './peers/peer.ts'
import { updatePeers } from './peers/readme.ts'
import { operationRows, type PeerResult, type PeersReport, processRows, roundedSample } from './peers/report.ts'
import { svc } from './peers/svc.ts'
import { installedPeers } from './peers/tools.ts'
import { Bench } from './support/bench.ts'
import { type Sampler, sampler } from './support/operations.ts'
import { processorTime, type Running, residentMemory } from './support/processes.ts'
import { table } from './support/readme.ts'
import { rounded } from './support/report.ts'
import { commit, jsonOf, machineFacts } from './support/results.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seconds: { type: 'string', default: '5' },
    rounds: { type: 'string', default: '3' },
    connections: { type: 'string', default: '64' },
    starts: { type: 'string', default: '3' },
    dist: { type: 'string', default: 'dist' },
  },
})
/** Connections of the operations that hash passwords. */
const hashingConnections = 16
/** The core of the measured server. The load generator and PostgreSQL use the others. */
const serverCore = 0

const cores = availableParallelism()
if (cores < 2) throw new Error('The comparison needs two cores.')
const pinned = spawnSync('taskset', ['-a', '-c', '-p', `${serverCore + 1}-${cores - 1}`, String(process.pid)])
if (pinned.status !== 0) throw new Error('The comparison needs taskset.')

const found = installedPeers()
const installed: Peer[] = [
  svc,
  ...(found.keycloak ? [keycloak({ keycloak: found.keycloak })] : []),
  ...(found['better-auth'] ? [betterAuth({ 'better-auth': found['better-auth'] })] : []),
  library,
  ...(found.glewlwyd ? [glewlwyd({ glewlwyd: found.glewlwyd })] : []),
]
const isComplete = positionals.length === 0 && installed.length === 5
const only = Object.keys(operations).filter((name) => positionals.includes(name))
const servers = positionals.filter((name) => !only.includes(name))
const wanted = installed.filter(({ name }) => servers.length === 0 || name === 'svc' || servers.includes(name))
if (installed.length < 5) console.error('Some servers are not installed: npm run peers:tools')

const options = {
  seconds: Number(values.seconds),
  rounds: Number(values.rounds),
  connections: Number(values.connections),
}
const bench = new Bench({ ...options, dist: values.dist, core: serverCore })
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))

/** A prepared server with its results. */
interface Side {
  peer: Peer
  result: PeerResult
  start: () => Promise<Running>
}

try {
  const sides: Side[] = []
  for (const peer of wanted) {
    process.stderr.write(`preparing ${peer.title} ${peer.version}\n`)
    const { name, title, version, store } = peer
    const result = { name, title, version, store, starts: [], startTimes: [], idle: [], loaded: 0, samples: {} }
    sides.push({ peer, result, start: await peer.prepare(bench) })
  }
  for (let start = 1; start < Number(values.starts); start++) {
    for (const side of sides) await (await measureStart(side)).stop()
  }
  const running = new Map<Side, Running>()
  for (const side of sides) running.set(side, await measureStart(side))
  for (const operation of Object.keys(operations) as Operation[]) {
    if (only.length === 0 || only.includes(operation)) await measure(operation, running)
  }

  const report: PeersReport = {
    date: new Date().toISOString(),
    commit: commit(),
    machine: {
      ...machineFacts(),
      java: /version "([^"]+)"/.exec(spawnSync('java', ['-version'], { encoding: 'utf8' }).stderr ?? '')?.[1] ?? null,
      postgresql: await bench.postgresqlVersion(),
    },
    options,
    peers: sides.map(({ result }) => result),
  }
  console.log(`\n${[...table(operationRows(report)), '', ...table(processRows(report))].join('\n')}`)
  // A partial run writes no report.
  if (isComplete) {
    writeFileSync(join(import.meta.dirname, 'results/peers.json'), `${jsonOf(report)}\n`)
    updatePeers()
    process.stderr.write('\nwritten: bench/results/peers.json, and the tables in README.md and bench/peers.md\n')
  }
} finally {
  await bench.close()
}

async function measureStart({ peer, result, start }: Side): Promise<Running> {
  const begin = performance.now()
  const server = await start()
  result.starts.push(Math.round(performance.now() - begin))
  result.startTimes.push(processorTime(server.pid) / 1000)
  await sleep(5000)
  result.idle.push(rounded(residentMemory(server.pid), 1))
  process.stderr.write(`${peer.name}: start ${result.starts.at(-1)} ms, ${result.idle.at(-1)} MB\n`)
  return server
}

/** Samples the servers in turns, so that other load on the machine affects all of them equally. */
async function measure(operation: Operation, servers: ReadonlyMap<Side, Running>): Promise<void> {
  const connections = hashing.includes(operation) ? hashingConnections : options.connections
  const count = operation === 'refresh' ? options.connections : credentials
  const { pid } = await bench.postgresql()
  const able = [...servers].filter(([{ peer }]) => peer.requests[operation])
  if (able.length < 2) return
  const samplers: { side: Side; sample: Sampler }[] = []
  for (const [side, server] of able) {
    const requestsOf = async () => (await side.peer.requests[operation]?.(server, count)) ?? []
    // A sample ends while refresh requests are in flight, so each sample needs new tokens.
    const requests = operation === 'refresh' ? undefined : await requestsOf()
    const sample: Sampler = async (seconds) =>
      sampler(bench, server, requests ?? (await requestsOf()), connections, pid)(seconds)
    await warmUp(server, side.peer.warmUp, sample)
    samplers.push({ side, sample })
  }
  process.stderr.write(`${operation}:`)
  for (let round = 0; round < options.rounds; round++) {
    for (const { side, sample } of samplers) {
      const figures = await sample(options.seconds)
      const { result } = side
      result.loaded = Math.max(result.loaded, rounded(figures.memory, 1))
      result.samples[operation] = [
        ...(result.samples[operation] ?? []),
        roundedSample({ ...figures, database: side.peer.store === 'memory' ? 0 : (figures.database ?? 0) }),
      ]
      process.stderr.write(` ${side.peer.name} ${Math.round(figures.rate)}`)
    }
  }
  process.stderr.write(' req/s\n')
}

/** Loads a server until it has used this many seconds of processor time. Fails if the machine is too busy for that. */
async function warmUp(server: Running, seconds: number, sample: Sampler): Promise<void> {
  const until = processorTime(server.pid) + seconds * 1e6
  const latest = performance.now() + seconds * 20_000
  do await sample(2)
  while (processorTime(server.pid) < until && performance.now() < latest)
  if (processorTime(server.pid) < until) throw new Error('Other processes use the core: the servers did not warm up.')
}
