// node bench/profile.ts [--heap] <name>: shows where the server spends its time in one operation, or its memory after it. See
// bench/README.md.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { Bench } from './support/bench.ts'
import { comparisons } from './support/comparisons.ts'
import { type CallFrame, nameOf, packageOf } from './support/frames.ts'
import { heapFlags, mappedMemory, printHeap } from './support/heap.ts'
import { type Comparison, databaseOf } from './support/operations.ts'

interface ProfileNode {
  id: number
  callFrame: CallFrame
  children?: number[]
}

/** V8's CPU profile; times in microseconds. */
interface Profile {
  nodes: ProfileNode[]
  startTime: number
  endTime: number
  samples: number[]
  timeDeltas: number[]
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seconds: { type: 'string', default: '10' },
    connections: { type: 'string', default: '64' },
    dist: { type: 'string', default: 'dist' },
    heap: { type: 'boolean', default: false },
    top: { type: 'string', default: '30' },
  },
})
const comparison = comparisons.find(({ name }) => name === positionals[0])
const isIdle = values.heap && positionals[0] === 'idle'
if (!comparison && !isIdle) {
  console.error('node bench/profile.ts [--heap] [--seconds 10] [--top 30] [--dist dist] <name>, with one of the names:')
  console.error([...comparisons.map(({ name }) => name), 'idle, with --heap'].map((name) => `  ${name}`).join('\n'))
  process.exit(1)
}

const folder = mkdtempSync(join(tmpdir(), 'svc-profile-'))
const bench = new Bench({
  seconds: Number(values.seconds),
  rounds: 1,
  connections: Number(values.connections),
  dist: values.dist,
  flags: values.heap ? heapFlags(folder) : ['--cpu-prof', '--cpu-prof-interval=250', `--cpu-prof-dir=${folder}`],
})
try {
  if (values.heap) await profileHeap()
  else if (comparison) await profileTime(comparison)
} finally {
  await bench.close()
  rmSync(folder, { recursive: true, force: true })
}

async function profileHeap(): Promise<void> {
  const sides = await comparison?.prepare(bench)
  const server = sides?.server ?? (await bench.startSvc(await databaseOf(bench)))
  if (sides) await sides.op(bench.options.seconds)
  else await sleep(5_000)
  const mapped = mappedMemory(server.pid)
  // The profile is written when the process ends.
  await (sides ?? server).stop()
  console.log(comparison?.title ?? 'Idle', '\n')
  printHeap(folder, server.pid, mapped, Number(values.top))
}

async function profileTime(comparison: Comparison): Promise<void> {
  const sides = await comparison.prepare(bench)
  const { rate } = await sides.op(bench.options.seconds)
  // The profile is written when the process ends, which takes seconds.
  const stopping = performance.now()
  await sides.stop()
  const stopped = (performance.now() - stopping) / 1000
  const [file] = readdirSync(folder).filter((name) => name.includes(`.${sides.server.pid}.`))
  if (!file) throw new Error('The server wrote no profile.')
  const profile: Profile = JSON.parse(readFileSync(join(folder, file), 'utf8'))
  console.log(`${comparison.title}: ${Math.round(rate)} req/s while profiled\n`)
  print(profile, bench.options.seconds, stopped)
}

/** Prints the shares of the seconds of load before the stop: by function, with callees, and by package. */
function print({ nodes, samples, timeDeltas, endTime, startTime }: Profile, seconds: number, stopped: number): void {
  const byId = new Map(nodes.map((node) => [node.id, node]))
  const parents = new Map(nodes.flatMap((node) => (node.children ?? []).map((child) => [child, node.id] as const)))
  const own = new Map<number, number>()
  const end = endTime - stopped * 1_000_000
  const begin = end - seconds * 1_000_000
  let time = startTime
  samples.forEach((id, i) => {
    const delta = timeDeltas[i] ?? 0
    time += delta
    if (time >= begin && time < end) own.set(id, (own.get(id) ?? 0) + delta)
  })

  const self = new Map<string, number>()
  const inclusive = new Map<string, number>()
  const packages = new Map<string, number>()
  const add = (to: Map<string, number>, key: string, amount: number) => to.set(key, (to.get(key) ?? 0) + amount)
  let busy = 0
  for (const [id, amount] of own) {
    const node = byId.get(id)
    if (!node || node.callFrame.functionName === '(idle)') continue
    busy += amount
    add(self, nameOf(node.callFrame), amount)
    add(packages, packageOf(node.callFrame), amount)
    const above = new Set<string>()
    for (let at: number | undefined = id; at !== undefined; at = parents.get(at)) {
      const upper = byId.get(at)
      if (upper) above.add(nameOf(upper.callFrame))
    }
    for (const name of above) add(inclusive, name, amount)
  }
  const list = (title: string, entries: Map<string, number>, most = Number(values.top)) => {
    console.log(`${title}, % of the time in which it was busy`)
    const sorted = [...entries].sort((a, b) => b[1] - a[1]).slice(0, most)
    for (const [name, amount] of sorted) console.log(`${((amount / busy) * 100).toFixed(1).padStart(6)}  ${name}`)
    console.log()
  }
  console.log(`busy ${((busy / 1_000_000 / seconds) * 100).toFixed(0)} % of the time\n`)
  list('By package', packages)
  list('By function, itself', self)
  const ours = [...inclusive].filter(([name]) => name.includes(' src/'))
  list('Functions of svc, with what they call', new Map(ours))
  const others = [...inclusive].filter(([name]) => !name.includes(' src/') && !name.startsWith('('))
  list('Other functions, with what they call', new Map(others))
}
