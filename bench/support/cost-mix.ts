import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Bench } from './bench.ts'
import { costOperations } from './cost-operations.ts'
import { type OperationCost, set, startMeasured } from './costs.ts'
import { type Backends, connectionTimeSince, connectionTimes, positionOf, watchBackends } from './database-cost.ts'
import { Load, type NextRequest } from './load.ts'
import { processorTime, type Running } from './processes.ts'
import { median, rounded } from './report.ts'

/** Operations that run at the same time, each with its connections per process. */
const loads: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  'sign-ins': { login: 4, bearer: 48, refresh: 8 },
  writes: { 'create-token': 16, refresh: 16 },
}

interface Use {
  /** Cores. */
  svc: number
  /** Cores of the connections to PostgreSQL. */
  database: number
  /** MB of the write-ahead log per second, without full-page images. */
  wal: number
}

/** A load of several operations: its measured use of resources, and the use that the costs of single operations predict. */
export interface Mix {
  name: string
  processes: number
  /** Operations per second. */
  rates: Record<string, number>
  measured: Use
  predicted: Use
  /** Cores of PostgreSQL's other processes, such as the writer of the write-ahead log and autovacuum. */
  background: number
  /** Waits for the disk per second. */
  syncs: number
  backends: Backends
}

/** Predicts the use of resources at these rates from the costs of the operations. */
export function predict(rates: Readonly<Record<string, number>>, costs: readonly OperationCost[]): Use {
  const sum = (pick: (cost: OperationCost) => number) =>
    costs.reduce((total, cost) => total + (rates[cost.name] ?? 0) * pick(cost), 0)
  return {
    svc: rounded(sum(({ svc }) => svc) / 1e6, 3),
    database: rounded(sum(({ database }) => database) / 1e6, 3),
    wal: rounded(sum(({ wal }) => wal) / 1e6, 3),
  }
}

interface Measured {
  url: string
  databasePid: number
}

/** The requests by the name of the operation. */
type Requests = Map<string, readonly Buffer[] | NextRequest>

const mixed = new Set(Object.values(loads).flatMap(Object.keys))

/** Runs the mixes on 1, 2 and 4 processes. */
export async function measureMixes(bench: Bench, on: Measured, costs: readonly OperationCost[]): Promise<Mix[]> {
  await set(on.url, 'full_page_writes', 'off')
  const mixes: Mix[] = []
  const requests: Requests = new Map()
  for (const processes of [1, 2, 4]) {
    const server = await startMeasured(bench, on.url, processes)
    for (const { name, requestsOf } of costOperations) {
      if (mixed.has(name) && !requests.has(name)) requests.set(name, await requestsOf(server))
    }
    for (const name of Object.keys(loads)) {
      const mix = await measureMix(bench, { ...on, server, requests }, { name, processes }, costs)
      console.log(JSON.stringify(mix))
      mixes.push(mix)
    }
    await server.stop()
  }
  return mixes
}

/** Waits until V8 has compiled the busy code: ten seconds of processor time for each process. */
async function warmUp({ pid }: Running, processes: number): Promise<void> {
  const begin = processorTime(pid)
  for (let waited = 0; waited < 30 && processorTime(pid) - begin < processes * 1e7; waited++) await sleep(1_000)
}

async function measureMix(
  bench: Bench,
  { url, databasePid, server, requests }: Measured & { server: Running; requests: Requests },
  { name, processes }: Pick<Mix, 'name' | 'processes'>,
  costs: readonly OperationCost[],
): Promise<Mix> {
  const operations = Object.entries(loads[name] ?? {})
  const { seconds, rounds } = bench.options
  const samples: Omit<Mix, 'name' | 'processes' | 'predicted'>[] = []
  const running = operations.map(([operation, connections]) => ({
    operation,
    load: new Load({
      port: server.port,
      requests: requests.get(operation) ?? [],
      connections: connections * processes,
    }),
  }))
  for (const { load } of running) await load.start()
  await warmUp(server, processes)
  for (let round = 0; round < rounds; round++) {
    const log = await positionOf(url)
    const watch = await watchBackends(url)
    const [svc, whole, connections] = [
      processorTime(server.pid),
      processorTime(databasePid),
      connectionTimes(databasePid),
    ]
    const at = performance.now()
    const rates: Record<string, number> = {}
    await Promise.all(
      running.map(async ({ operation, load }) => {
        rates[operation] = rounded((await load.measure(seconds)).rate, 1)
      }),
    )
    const took = (performance.now() - at) / 1000
    const cores = (time: number) => rounded(time / 1e6 / took, 3)
    const used = connectionTimeSince(connections, databasePid)
    const sample = {
      rates,
      background: cores(processorTime(databasePid) - whole - used),
      measured: { svc: cores(processorTime(server.pid) - svc), database: cores(used) },
      backends: await watch(),
    }
    const grown = await positionOf(url)
    samples.push({
      ...sample,
      measured: { ...sample.measured, wal: rounded((grown.wal - log.wal) / 1e6 / took, 3) },
      syncs: rounded((grown.syncs - log.syncs) / took, 0),
    })
  }
  await Promise.all(running.map(({ load }) => load.stop()))
  const of = (pick: (sample: (typeof samples)[number]) => number) => rounded(median(samples.map(pick)), 3)
  const rates = Object.fromEntries(operations.map(([each]) => [each, of((sample) => sample.rates[each] ?? 0)]))
  return {
    name,
    processes,
    rates,
    measured: {
      svc: of(({ measured }) => measured.svc),
      database: of(({ measured }) => measured.database),
      wal: of(({ measured }) => measured.wal),
    },
    predicted: predict(rates, costs),
    background: of(({ background }) => background),
    syncs: of(({ syncs }) => syncs),
    backends: {
      open: of(({ backends }) => backends.open),
      used: of(({ backends }) => backends.used),
      disk: of(({ backends }) => backends.disk),
      locks: of(({ backends }) => backends.locks),
      svc: of(({ backends }) => backends.svc),
    },
  }
}
