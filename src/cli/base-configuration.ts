import { existsSync } from 'node:fs'
import { CommandError } from '../contract/command.ts'
import { withDefaults } from '../platform/config/changes.ts'
import type { PlaceOf } from '../platform/config/findings.ts'
import { type Loaded, loadConfig } from '../platform/config/load.ts'
import type { Settings } from '../platform/config/schema.ts'
import { findSnapshot, withoutSecrets } from '../platform/database/config-snapshot.ts'
import { openDatabase } from '../platform/database/database.ts'
import { loadSettings } from '../process/boot.ts'

/** Configuration to compare with. */
export interface Base {
  name: string
  /** With hashes in place of secrets. */
  settings: Settings
  /** Where its file has each value. Missing for the active configuration. */
  placeOf?: PlaceOf
}

/** Returns the configuration that a server last saved in the database. */
async function activeConfiguration(): Promise<Base> {
  const { config } = loadSettings()
  const { app, database: where } = config.current()
  const never = 'No server has saved its configuration in this database yet. Compare with a file: --against=<file>.'
  if (where.file !== null && !existsSync(where.file)) throw new CommandError(never)
  const database = await openDatabase({ ...where, file: where.file ?? undefined })
  try {
    const found = await findSnapshot(database, app.secret)
    if (!found) throw new CommandError(never)
    if (!found.settings) {
      throw new CommandError(
        'The active configuration was saved with another app.secret. Compare with a file: --against=<file>.',
      )
    }
    return {
      name: `the configuration active since ${found.appliedAt.toISOString()}`,
      settings: withDefaults(found.settings),
    }
  } finally {
    await database.close()
  }
}

/** Returns a valid configuration file. Throws `ConfigError` for an invalid one. */
export function ofFile(file: string | undefined): Base & Pick<Loaded, 'placeOf'> {
  const loaded = loadConfig({ file })
  return {
    name: loaded.file ?? 'no file (all defaults)',
    settings: withoutSecrets(loaded.settings),
    placeOf: loaded.placeOf,
  }
}

/** Option that names the configuration to compare with. */
export const againstOption = {
  against: { value: 'file', description: 'Compare with this file instead of the active configuration' },
} as const

/** Returns the configuration of the option. */
export const baseOf = async (against: string | undefined): Promise<Base> =>
  against === undefined ? activeConfiguration() : ofFile(against)
