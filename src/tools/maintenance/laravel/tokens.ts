import type { ImportedToken } from '../../../auth/tokens/imported-token.ts'
import { findImported, insertImported } from '../../../auth/tokens/store.ts'
import { datesOf, importPart, oneLine, rowId } from './part.ts'

const isList = (text: string): boolean => {
  try {
    const list: unknown = JSON.parse(text)
    return Array.isArray(list) && list.every((ability) => typeof ability === 'string')
  } catch {
    return false
  }
}

/** API tokens. */
export const laravelTokens = (isUser: (type: string) => boolean, now: number) =>
  importPart<ImportedToken>({
    tables: ['personal_access_tokens'],
    columns: {
      id: ['id'],
      owner: ['tokenable_id'],
      owner_type: ['tokenable_type'],
      name: ['name'],
      token: ['token'],
      abilities: ['abilities'],
      last_used_at: ['last_used_at'],
      expires_at: ['expires_at'],
      created_at: ['created_at'],
      updated_at: ['updated_at'],
    },
    required: ['token', 'owner_type', 'abilities'],
    read(row) {
      const { id: idText = null, owner = null, owner_type, name, token, abilities = null } = row
      const [id, userId] = [rowId(idText), rowId(owner)]
      const dates = datesOf(row, ['last_used_at', 'expires_at', 'created_at', 'updated_at'])
      if (!isUser(owner_type ?? '')) return 'it belongs to another model than the user: see --user-type'
      if (id === null || userId === null) return 'the id is not an integer'
      if (!/^[0-9a-f]{64}$/.test(token ?? '')) return 'the token is not a SHA-256 hash'
      if (abilities !== null && !isList(abilities)) return 'the abilities are not a JSON list of strings'
      if (typeof dates === 'string') return dates
      if (dates.expires_at && dates.expires_at.getTime() <= now) return 'it has expired'
      return {
        id,
        userId,
        name: oneLine(name),
        token: token ?? '',
        abilities,
        lastUsedAt: dates.last_used_at,
        expiresAt: dates.expires_at,
        createdAt: dates.created_at,
        updatedAt: dates.updated_at,
      }
    },
    find: findImported,
    insert: insertImported,
  })
