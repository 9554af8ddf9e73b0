import { rootSchema, type Settings } from '../config/schema.ts'
import { mapValue } from '../config/walk.ts'
import { sha256Hex } from '../crypto/hash.ts'
import { deriveCipher } from '../crypto/keys.ts'
import type { Database } from './database.ts'

/** The one row: replicas run the same configuration, or are about to. */
const last = 'last'

/** The same settings with a hash in the place of each secret. */
export const withoutSecrets = (settings: Settings): Settings =>
  // Sound: a text stays a text.
  mapValue(settings, rootSchema, (part, schema) =>
    schema['x-svc-secret'] && typeof part === 'string' ? sha256Hex(part) : part,
  ) as Settings

/** Keeps what was put in force, for `svc:config:diff`: encrypted, because a hash of a weak secret can be guessed. */
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

/** What was put in force last. */
export interface ConfigSnapshot {
  /** Secrets are hashes; null where none of the secrets decrypts them. */
  settings: Settings | null
  appliedAt: Date
}

/** What a server put in force last; null where none ever did on this database. */
export async function findSnapshot({ prisma }: Database, secrets: readonly string[]): Promise<ConfigSnapshot | null> {
  const row = await prisma.configSnapshot.findUnique({ where: { id: last } })
  if (!row) return null
  const text = deriveCipher(secrets, 'config').decrypt(row.settings, last)
  return { settings: text === null ? null : JSON.parse(text), appliedAt: row.appliedAt }
}
