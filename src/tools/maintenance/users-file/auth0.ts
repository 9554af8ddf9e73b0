import { isMapping } from '../../../platform/config/walk.ts'
import { type ConvertedUser, FileError, recordsIn, textOf, textsOf } from './converted.ts'
import { linksIn } from './links.ts'

/** Connection of Auth0 with users of its own database. */
const database = 'auth0|'

/** The id of a user in both files: `auth0|<id>` of an export, and `_id` of the file with password hashes. */
function idOf({ user_id, _id }: Record<string, unknown>): string | null {
  const own = isMapping(_id) ? textOf(_id.$oid) : textOf(_id)
  return textOf(user_id) ?? (own === null ? null : database + own)
}

/** The identity that the id of a user names, for exports without the field `identities`. */
function identitiesOf(key: string): object[] {
  const [provider = '', ...id] = key.split('|')
  return [{ provider, user_id: id.join('|') }]
}

/**
 * Reads a user export of Auth0, one JSON object per line or an array, and the lines with password hashes that its support sends.
 * Throws `FileError` for another file.
 */
export function auth0Users(text: string): ConvertedUser[] {
  const records = recordsIn(text, 'Expected a user export of Auth0, with one JSON object per line.')
  const byId = new Map<string, Record<string, unknown>>()
  for (const [at, record] of records.entries()) {
    const id = idOf(record)
    if (
      id === null ||
      (record.email === undefined && record.passwordHash === undefined && record.username === undefined)
    ) {
      throw new FileError(`Record ${at + 1} is not a user of Auth0: it has no user_id, or neither email nor username.`)
    }
    // The file with hashes is older than the export, and so are its addresses.
    const { passwordHash } = record
    const known = byId.get(id)
    byId.set(id, textOf(record.user_id) === null ? { ...record, ...known, passwordHash } : { ...known, ...record })
  }
  return [...byId].map(([key, user]) => {
    const hash = textOf(user.passwordHash)
    const isOwn = key.startsWith(database)
    return {
      ...{ key, email: textOf(user.email), username: textOf(user.username) },
      ...{ givenName: textOf(user.given_name), familyName: textOf(user.family_name) },
      name: textOf(user.name) ?? textOf(user.nickname) ?? textOf(user.email) ?? key,
      passwordHash: hash,
      groups: [],
      ...{ verified: user.email_verified === true, disabled: user.blocked === true, authenticator: null },
      links: linksIn(user.identities ?? identitiesOf(key), { provider: 'provider', id: 'user_id' }).filter(
        ({ given }) => given !== 'auth0',
      ),
      left: [
        ...(isOwn && hash === null ? ['the password: Auth0 exports hashes only on request; send a reset link'] : []),
        ...(textsOf(user.multifactor).length > 0 ? ['second factors, which the user must set up again'] : []),
        ...(isMapping(user.app_metadata) && Object.keys(user.app_metadata).length > 0 ? ['app_metadata'] : []),
        ...(isMapping(user.user_metadata) && Object.keys(user.user_metadata).length > 0 ? ['user_metadata'] : []),
      ],
    }
  })
}
