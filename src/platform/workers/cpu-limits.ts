import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch {
    return ''
  }
}

/** Returns a path and its parents, up to the root. */
function upwards(path: string): string[] {
  const parent = dirname(path)
  return parent === path ? [path] : [path, ...upwards(parent)]
}

/**
 * Returns the CPU limits of the control groups of this process. Node itself does not find them in every container. `root`
 * holds `proc` and `sys`.
 */
export function cpuLimits(root = '/'): number[] {
  const groups = join(root, 'sys/fs/cgroup')
  // Lines such as `0::/path` (version 2) and `4:cpu,cpuacct:/path`. A container often has its own group as the root.
  const lines = textOf(join(root, 'proc/self/cgroup')).matchAll(/^\d+:(?:|[^:\n]*\bcpu\b[^:\n]*):(\/.*)$/gm)
  // The limit of a parent, such as a slice of systemd, applies as well.
  const paths = new Set(['/', ...[...lines].flatMap(([, path = '/']) => upwards(join(path)))])
  const limits = [...paths].flatMap((path) => {
    const [quota, period] = textOf(join(groups, path, 'cpu.max')).split(' ')
    const first = join(groups, 'cpu', path)
    return [
      Number(quota) / Number(period),
      Number(textOf(join(first, 'cpu.cfs_quota_us'))) / Number(textOf(join(first, 'cpu.cfs_period_us'))),
    ]
  })
  // `max` and -1 mean no limit.
  return limits.filter((limit) => limit > 0)
}
