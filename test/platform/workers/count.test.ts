// engine: none
import { mkdirSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import { hashingThreads, workerCount } from '../../../src/platform/workers/count.ts'
import { cpuLimits } from '../../../src/platform/workers/cpu-limits.ts'
import { temporaryDirectory } from '../../support/process.ts'

/** The limits that svc reads from a machine with these files below `/proc/self/cgroup` and `/sys/fs/cgroup`. */
function limitsOf(t: Test, membership: string, files: Record<string, string>): number[] {
  const root = temporaryDirectory(t)
  const all = Object.entries(files).map(([name, text]) => [join('sys/fs/cgroup', name), text] as const)
  for (const [name, text] of [['proc/self/cgroup', membership] as const, ...all]) {
    mkdirSync(dirname(join(root, name)), { recursive: true })
    writeFileSync(join(root, name), `${text}\n`)
  }
  return cpuLimits(root)
}

const v1 = (path: string) => `12:memory:${path}\n4:cpu,cpuacct:${path}\n2:cpuset:/other\n1:name=systemd:${path}`

t.test('reads the CPU limit of a container with control groups of version 2', (t) => {
  t.strictSame(limitsOf(t, '0::/', { 'cpu.max': '250000 100000' }), [2.5], 'in a separate namespace')
  t.strictSame(limitsOf(t, '0::/', { 'cpu.max': 'max 100000' }), [], 'without a limit')
  const pod = 'kubepods.slice/pod1.slice:cri-containerd:9'
  t.strictSame(limitsOf(t, `0::/${pod}`, { [`${pod}/cpu.max`]: '50000 100000' }), [0.5], 'with the groups of the node')
  const nested = { 'a.slice/cpu.max': '300000 100000', 'a.slice/svc.service/cpu.max': 'max 100000' }
  t.strictSame(limitsOf(t, '0::/a.slice/svc.service', nested), [3], 'with the limit of a parent group')
  t.end()
})

t.test('reads the CPU limit of a container with control groups of version 1', (t) => {
  const limit = (path: string, quota: string) => ({
    [`cpu/${path}cpu.cfs_quota_us`]: quota,
    [`cpu/${path}cpu.cfs_period_us`]: '100000',
  })
  t.strictSame(limitsOf(t, v1('/docker/9'), limit('', '150000')), [1.5], 'with its own group as the root')
  t.strictSame(limitsOf(t, v1('/docker/9'), limit('docker/9/', '400000')), [4], 'with the groups of the machine')
  t.strictSame(limitsOf(t, v1('/docker/9'), limit('', '-1')), [], 'without a limit')
  t.strictSame(limitsOf(t, v1('/docker/9'), limit('other/', '100000')), [], 'of another controller')
  t.end()
})

t.test('finds no limit on a machine without control groups', (t) => {
  t.strictSame(cpuLimits(join(temporaryDirectory(t), 'missing')), [])
  const odd = { 'cpu.max': 'many', 'cpu/cpu.cfs_quota_us': '' }
  t.strictSame(limitsOf(t, 'no lines', odd), [], 'or with unreadable ones')
  t.end()
})

t.test('starts as many workers and hashing threads as the limit allows', (t) => {
  const database = { url: '', engine: 'postgresql', file: null, prepared_statements: true } as const
  const server = { workers: 'auto' } as Parameters<typeof workerCount>[0]['server']
  const all = availableParallelism()
  for (const [limits, count] of [
    [[0.5], 1],
    [[1.9, 8], 1],
    [[10_000], all],
    [[], all],
  ] as const) {
    t.equal(workerCount({ server, database }, limits), count, `limits ${limits}`)
    t.equal(hashingThreads(null, limits), Math.max(1, count - 1))
    t.equal(hashingThreads({ count: 2 }, limits), Math.max(1, Math.floor(count / 2)))
  }
  t.equal(workerCount({ server, database: { ...database, engine: 'sqlite' } }, [8]), 1)
  t.equal(workerCount({ server: { ...server, workers: 3 }, database }, [1]), 3, 'a number is not limited')
  t.end()
})
