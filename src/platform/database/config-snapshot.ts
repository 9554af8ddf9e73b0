import { rootSchema, type Settings } from '../config/schema.ts'
import { mapValue } from '../config/walk.ts'
import { sha256Hex } from '../crypto/hash.ts'
import { deriveCipher } from '../crypto/keys.ts'
import type { Database } from './database.ts'

/** Key of the only row: all replicas run the same configuration. */
const last = 'last'

/** Replaces each secret in the settings by a hash. */
export const withoutSecrets = (settings: Settings): Settings =>
  // Sound: text stays text.
  mapValue(settings, rootSchema, (part, schema) =>
    schema['x-svc-secret'] && typeof part === 'string' ? sha256Hex(part) : part,
  ) as Settings

/** Saves the active configuration for `svc config:diff`, encrypted because hashes of weak secrets can be guessed. */
export async function keepSnapshot(
  { prisma }: Database,
  secrets: readonly string[],
  settings: Settings,
  now: number,
): Promise<void> {
  const sealed = deriveCipher(secrets, 'config').encrypt(JSON.stringify(withoutSecrets(settings)), last)
  await prisma.$executeRaw`INSERT INTO config_snapshots (id, settings, applied_at) VALUES (${last}, ${sealed}, ${new Date(now)})
    ON CONFLICT (id) DO UPDATE SET settings = excluded.settings, applied_at = excluded.applied_at`
}

/** The configuration that was activated last. */
export interface ConfigSnapshot {
  /** Secrets are hashes. Null if no secret decrypts the settings. */
  settings: Settings | null
  appliedAt: Date
}

/** Returns the configuration that a server activated last, or null if none was saved in this database. */
export async function findSnapshot({ prisma }: Database, secrets: readonly string[]): Promise<ConfigSnapshot | null> {
  const row = await prisma.configSnapshot.findUnique({ where: { id: last } })
  if (!row) return null
  const text = deriveCipher(secrets, 'config').decrypt(row.settings, last)
  return { settings: text === null ? null : JSON.parse(text), appliedAt: row.appliedAt }
}
