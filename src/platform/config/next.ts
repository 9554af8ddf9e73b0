import { type Change, changesBetween, withoutRestart } from './changes.ts'
import { printed } from './findings.ts'
import { findingsOf, type Loaded } from './load.ts'
import { resolveConfig } from './resolve.ts'
import type { Config, Settings } from './schema.ts'

/** Result of applying a new configuration to a running server. */
export interface Next {
  /** The configuration that takes effect immediately, and its settings. */
  config: Config
  settings: Settings
  changes: Change[]
  /** Why the reload fails: keys that need a restart keep their values, which conflict with the new ones. */
  problems: string[]
}

type Wanted = Pick<Loaded, 'settings' | 'placeOf'>

/** Computes which parts of a valid configuration take effect without a restart. */
export function nextConfig(running: Settings, wanted: Wanted, cwd = process.cwd()): Next {
  const settings = withoutRestart(running, wanted.settings)
  const config = resolveConfig(settings, cwd, wanted.placeOf)
  const problems = findingsOf(config).map(({ path, message }) => `${printed(path)}: ${message}`)
  return { config, settings, changes: changesBetween(running, wanted.settings), problems }
}
