import { type Change, changesBetween, withoutRestart } from './changes.ts'
import { printed } from './findings.ts'
import { findingsOf } from './load.ts'
import { resolveConfig } from './resolve.ts'
import type { Config, Settings } from './schema.ts'

/** What another configuration amounts to while the server runs. */
export interface Next {
  /** What takes effect at once, and the settings that it was derived from. */
  config: Config
  settings: Settings
  changes: Change[]
  /** Why even that cannot: the keys that wait for a restart keep their values, and do not go with the others. */
  problems: string[]
}

/** Works out what of a valid configuration counts at once beside what is in force. */
export function nextConfig(running: Settings, wanted: Settings, cwd = process.cwd()): Next {
  const settings = withoutRestart(running, wanted)
  const config = resolveConfig(settings, cwd)
  const problems = findingsOf(config).map(({ path, message }) => `${printed(path)}: ${message}`)
  return { config, settings, changes: changesBetween(running, wanted), problems }
}
