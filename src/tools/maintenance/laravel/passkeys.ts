import { findImported, type ImportedPasskey, insertImported } from '../../../features/passkeys/store.ts'
import { datesOf, importPart, oneLine, rowId } from './part.ts'

/** Maximum length of a credential id: 1023 bytes in base64url. */
const maxIdLength = 1364

/** Returns base64 of either alphabet as base64url; null for other text. */
function base64url(text: unknown, max: number): string | null {
  if (typeof text !== 'string' || !/^[\w+/-]+=*$/.test(text)) return null
  const bytes = Buffer.from(text, 'base64url').toString('base64url')
  return bytes !== '' && bytes.length <= max ? bytes : null
}

/** The credential as webauthn-lib wrote it. */
function credentialOf(text: string) {
  try {
    const { publicKeyCredentialId, credentialPublicKey, userHandle, counter, transports, backupStatus } =
      JSON.parse(text)
    const credentialId = base64url(publicKeyCredentialId, maxIdLength)
    const publicKey = base64url(credentialPublicKey, 4096)
    const handle = base64url(userHandle, 86)
    // A COSE key is a map in CBOR.
    const isMap = publicKey !== null && (Buffer.from(publicKey, 'base64url')[0] ?? 0) >> 5 === 5
    if (credentialId === null || !isMap || handle === null || !Number.isSafeInteger(counter) || counter < 0) return null
    const known = Array.isArray(transports) ? transports.filter((one) => /^[a-z-]{1,20}$/.test(String(one))) : []
    return { credentialId, publicKey, handle, counter, transports: known, backedUp: backupStatus === true }
  } catch {
    return null
  }
}

/** Passkeys of laravel/passkeys-server, and of spatie/laravel-passkeys, whose tables differ in their columns. */
export const laravelPasskeys = (isUser: (type: string) => boolean) =>
  importPart<ImportedPasskey>({
    tables: ['passkeys'],
    columns: {
      id: ['id'],
      owner: ['user_id', 'authenticatable_id'],
      owner_type: ['authenticatable_type'],
      name: ['name'],
      credential: ['credential', 'data'],
      last_used_at: ['last_used_at'],
      created_at: ['created_at'],
      updated_at: ['updated_at'],
    },
    required: ['credential'],
    read(row) {
      const userId = rowId(row.owner)
      const dates = datesOf(row, ['last_used_at', 'created_at', 'updated_at'])
      const credential = credentialOf(row.credential ?? '')
      if (typeof row.owner_type === 'string' && !isUser(row.owner_type))
        return 'it belongs to another model than the user: see --user-type'
      if (userId === null) return 'the id is not an integer'
      if (!credential) return 'the credential is not readable, or has no user handle'
      if (typeof dates === 'string') return dates
      return {
        userId,
        name: oneLine(row.name) || 'Passkey',
        ...credential,
        lastUsedAt: dates.last_used_at,
        createdAt: dates.created_at,
        updatedAt: dates.updated_at,
      }
    },
    find: findImported,
    insert: insertImported,
  })
