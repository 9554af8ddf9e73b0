import { sha256Hex } from '../../crypto/hash.ts'
import type { User } from '../../users/user.ts'

/** The header of responses with a version. */
export const etagHeaders = { ETag: { type: 'string', description: 'The version of the user, for `If-Match`.' } }

/** Identifies a version of a user: the hash of all that changes can change. */
export const etagOf = (user: User): string => `"${sha256Hex(JSON.stringify(user)).slice(0, 32)}"`
