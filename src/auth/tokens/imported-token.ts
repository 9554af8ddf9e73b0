import type { ImportItem } from '../../identity/import-part.ts'

/** A token of Laravel Sanctum. Its plain text stays valid, because svc stores the same id and hash. */
export interface ImportedToken extends ImportItem {
  id: bigint
  name: string
  /** SHA-256 (hex) of the secret. */
  token: string
  abilities: string | null
  lastUsedAt: Date | null
  expiresAt: Date | null
  updatedAt: Date | null
}
