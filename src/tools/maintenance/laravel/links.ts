import { findProvider } from '../../../features/social/providers/provider.ts'
import { findImported, type ImportedLink, insertImported } from '../../../features/social/store.ts'
import type { Config } from '../../../platform/config/schema.ts'
import { datesOf, importPart, oneLine, rowId } from './part.ts'

/** Names of Laravel's drivers that differ from those of svc. */
const names: Readonly<Record<string, string>> = {
  'linkedin-openid': 'linkedin',
  twitter: 'x',
  'twitter-oauth-2': 'x',
}

/** Drivers whose ids differ from those that svc receives from the same provider. */
const otherIds: Readonly<Record<string, string>> = {
  azure: 'Microsoft gives svc another id of the user than Laravel',
  microsoft: 'Microsoft gives svc another id of the user than Laravel',
  linkedin: 'LinkedIn gives svc another id of the user than this driver',
  slack: 'svc also needs the id of the workspace, which this driver does not store',
  'slack-openid': 'svc also needs the id of the workspace, which this driver does not store',
}

/** Accounts at identity providers, from the tables that apps with Socialite commonly use. */
export const laravelLinks = (config: Config) =>
  importPart<ImportedLink>({
    tables: ['social_accounts', 'linked_social_accounts', 'connected_accounts', 'socialite_users'],
    columns: {
      id: ['id'],
      owner: ['user_id'],
      provider: ['provider', 'provider_name'],
      provider_id: ['provider_id', 'provider_user_id', 'provider_uid'],
      email: ['email', 'provider_email'],
      name: ['name'],
      avatar: ['avatar', 'avatar_path'],
      created_at: ['created_at'],
      updated_at: ['updated_at'],
    },
    required: ['provider', 'provider_id'],
    read(row) {
      const driver = (row.provider ?? '').toLowerCase()
      const id = names[driver] ?? driver
      const found = findProvider(config, id)
      const userId = rowId(row.owner)
      const dates = datesOf(row, ['created_at', 'updated_at'])
      const providerId = row.provider_id ?? ''
      if (otherIds[driver]) return otherIds[driver]
      if (!found)
        return `the configuration has no provider ${/^[\w-]{1,40}$/.test(id) ? `social.${id}` : 'of this name'}`
      if (userId === null) return 'the id is not an integer'
      if (providerId === '' || providerId !== oneLine(providerId)) return 'the id at the provider is missing or invalid'
      if (typeof dates === 'string') return dates
      return {
        userId,
        provider: id,
        issuer: found.issuer,
        providerId,
        email: oneLine(row.email) || null,
        name: oneLine(row.name) || null,
        avatar: /^https:\/\/\S{1,2000}$/.test(row.avatar ?? '') ? (row.avatar ?? null) : null,
        createdAt: dates.created_at,
        updatedAt: dates.updated_at,
      }
    },
    find: findImported,
    insert: insertImported,
  })
