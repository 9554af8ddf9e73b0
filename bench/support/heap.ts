import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { HeapSpaceInfo } from 'node:v8'
import { type CallFrame, nameOf, packageOf } from './frames.ts'

/** V8's sampled heap profile: the objects that are still in use, by the function that allocated them. */
interface HeapNode {
  callFrame: CallFrame
  selfSize: number
  children: HeapNode[]
}

interface HeapReport {
  spaces: HeapSpaceInfo[]
  memory: NodeJS.MemoryUsage
}

const reportFile = (folder: string) => join(folder, 'report.json')

/** Node flags of a server whose memory is profiled. */
export const heapFlags = (folder: string): string[] => [
  '--heap-prof',
  '--heap-prof-interval=16384',
  `--heap-prof-dir=${folder}`,
  `--import=${new URL(`../heap-report.mjs?file=${reportFile(folder)}`, import.meta.url)}`,
]

const megabytes = (bytes: number): string => (bytes / 2 ** 20).toFixed(1).padStart(8)

/** Sizes of a process by kind of memory, in bytes (Linux). */
export const mappedMemory = (pid: number): [string, number][] =>
  [...readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8').matchAll(/^(Rss|Anonymous|Shared_Clean):\s+(\d+) kB$/gm)].map(
    ([, name = '', size]) => [name, Number(size) * 1024],
  )

/** Prints where the memory of a server was when it ended. `mapped` are its sizes before that. */
export function printHeap(folder: string, pid: number, mapped: [string, number][], top: number): void {
  const { spaces, memory }: HeapReport = JSON.parse(readFileSync(reportFile(folder), 'utf8'))
  const list = (title: string, rows: readonly [string, number][]) => {
    console.log(`${title}, MB`)
    for (const [name, bytes] of rows) console.log(`${megabytes(bytes)}  ${name}`)
    console.log()
  }
  list('Process', mapped)
  list('Node', [
    ['heap in use', memory.heapUsed],
    ['heap committed', memory.heapTotal],
    ['outside the heap (buffers, WebAssembly)', memory.external],
  ])
  const used = spaces.filter(({ physical_space_size }) => physical_space_size > 0)
  list(
    'Heap by space, committed',
    used.map((space) => [
      `${space.space_name}, ${megabytes(space.space_used_size).trim()} in use`,
      space.physical_space_size,
    ]),
  )
  const file = readdirSync(folder).find((name) => name.endsWith('.heapprofile') && name.includes(`.${pid}.`))
  if (!file) throw new Error('The server wrote no heap profile.')
  const { head }: { head: HeapNode } = JSON.parse(readFileSync(join(folder, file), 'utf8'))
  const packages = new Map<string, number>()
  const functions = new Map<string, number>()
  const visit = ({ callFrame, selfSize, children }: HeapNode) => {
    const add = (to: Map<string, number>, name: string) => to.set(name, (to.get(name) ?? 0) + selfSize)
    add(packages, packageOf(callFrame))
    add(functions, nameOf(callFrame))
    for (const child of children) visit(child)
  }
  visit(head)
  const largest = (sizes: Map<string, number>) => [...sizes].sort((a, b) => b[1] - a[1]).slice(0, top)
  list('Objects in use, by the package that allocated them', largest(packages))
  list('Objects in use, by function', largest(functions))
}
