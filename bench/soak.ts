// npm run bench:soak: an hour of mixed load, and how the memory of svc grows. See "An hour of load" in bench/README.md.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { Bench } from './support/bench.ts'
import { costOperations } from './support/cost-operations.ts'
import { costDatabase, startMeasured } from './support/costs.ts'
import { countingStatements } from './support/database-cost.ts'
import { Load } from './support/load.ts'
import { residentMemory } from './support/processes.ts'
import { median, rounded } from './support/report.ts'
import { commit, jsonOf, machineFacts } from './support/results.ts'
import { type Minute, type SoakReport, updateSoak } from './support/soak-readme.ts'

/** The connections of each operation, and how many milliseconds each waits before its next request. */
const mix: Readonly<Record<string, { connections: number; pause: number }>> = {
  bearer: { connections: 16, pause: 10 },
  session: { connections: 8, pause: 10 },
  jwt: { connections: 4, pause: 10 },
  introspection: { connections: 4, pause: 20 },
  'client-credentials': { connections: 4, pause: 20 },
  refresh: { connections: 4, pause: 200 },
  'code-flow': { connections: 2, pause: 200 },
  login: { connections: 2, pause: 200 },
  'login-new': { connections: 1, pause: 500 },
  'create-token': { connections: 1, pause: 200 },
  logout: { connections: 1, pause: 500 },
}

/** A shorter run writes no results. */
const hour = 60

const { values } = parseArgs({ options: { minutes: { type: 'string', default: String(hour) } } })
const minutes = Number(values.minutes)
const seconds = 60

const bench = new Bench({ seconds, rounds: minutes, connections: 0, dist: 'dist', postgresql: countingStatements })
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))

try {
  const server = await startMeasured(bench, await costDatabase(bench))
  const loads = await Promise.all(
    Object.entries(mix).map(async ([name, options]) => {
      const operation = costOperations.find((each) => each.name === name)
      if (!operation) throw new Error(`No such operation: ${name}`)
      const { requestsOf, requests: steps = 1 } = operation
      return { name, load: new Load({ port: server.port, requests: await requestsOf(server), steps, ...options }) }
    }),
  )
  for (const { load } of loads) await load.start()
  const measured: Minute[] = []
  while (measured.length < minutes) {
    const minute = await measureMinute(server.pid, loads)
    measured.push(minute)
    process.stderr.write(`${measured.length} min: ${JSON.stringify(minute)}\n`)
  }
  await Promise.all(loads.map(({ load }) => load.stop()))
  if (minutes >= hour) await save(measured)
} finally {
  await bench.close()
}

async function measureMinute(pid: number, loads: readonly { name: string; load: Load }[]): Promise<Minute> {
  const memory: number[] = []
  const timer = setInterval(() => memory.push(residentMemory(pid)), 1_000)
  const figures = await Promise.all(loads.map(async ({ name, load }) => ({ name, ...(await load.measure(seconds)) })))
  clearInterval(timer)
  return {
    memory: rounded(median(memory), 1),
    most: rounded(Math.max(...memory), 1),
    rates: Object.fromEntries(figures.map(({ name, rate }) => [name, rounded(rate, 2)])),
    p99: rounded(figures.find(({ name }) => name === 'bearer')?.p99 ?? 0, 2),
  }
}

async function save(measured: Minute[]): Promise<void> {
  const machine = { ...machineFacts(), postgresql: (await bench.postgresqlVersion()) ?? null }
  const report: SoakReport = { date: new Date().toISOString(), commit: commit(), machine, minutes: measured }
  writeFileSync(join(import.meta.dirname, 'results/soak.json'), `${jsonOf(report)}\n`)
  updateSoak()
}
