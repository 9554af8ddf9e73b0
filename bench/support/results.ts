import { execFileSync } from 'node:child_process'
import { cpus, loadavg, totalmem } from 'node:os'

/** The facts of the machine that figures depend on. */
export const machineFacts = () => ({
  processor: cpus()[0]?.model ?? null,
  cores: cpus().length,
  memory: `${Math.round(totalmem() / 2 ** 30)} GB`,
  system: `${process.platform} ${process.arch}`,
  node: process.versions.node,
  /** The load average over 15 minutes, including processes other than the benchmark's. */
  loadAverage: Math.round((loadavg()[2] ?? 0) * 100) / 100,
})

/** Formats lists of numbers on one line. */
export function jsonOf(report: object): string {
  const onOneLine = (_: string, list: string) => `[${list.replace(/\s+/g, ' ')}]`
  return JSON.stringify(report, null, 2).replace(/\[\s+([-\d.,\s]+?)\s+\]/g, onOneLine)
}

/** The commit of the measured sources. */
export function commit(): string {
  try {
    const git = (...args: string[]) => execFileSync('git', args, { cwd: import.meta.dirname, encoding: 'utf8' }).trim()
    const isChanged = git('status', '--porcelain', '--', '../../src') !== ''
    return `${git('rev-parse', '--short', 'HEAD')}${isChanged ? ' with changes' : ''}`
  } catch {
    return 'unknown'
  }
}
