/** What a client of the control socket sends. */
export const reloadRequest = 'reload\n'

/** What a process did with a request to reload its configuration. */
export type ReloadResult =
  | {
      accepted: true
      /** Keys that changed. */
      changed: string[]
      /** Keys that changed in the file and take effect after a restart. */
      waiting: string[]
      warnings: string[]
    }
  | { accepted: false; problems: string[] }

/** Combines the results of several workers: all of them, or none, use the new configuration. */
export function combined(results: readonly ReloadResult[]): ReloadResult {
  const unique = (lists: string[][]) => [...new Set(lists.flat())]
  const rejected = results.filter((result) => !result.accepted)
  if (rejected.length > 0) return { accepted: false, problems: unique(rejected.map(({ problems }) => problems)) }
  const accepted = results.filter((result) => result.accepted)
  return {
    accepted: true,
    changed: unique(accepted.map(({ changed }) => changed)),
    waiting: unique(accepted.map(({ waiting }) => waiting)),
    warnings: unique(accepted.map(({ warnings }) => warnings)),
  }
}
