import type { IncomingHttpHeaders } from 'node:http'
import type { User } from '../../../identity/user.ts'
import { sha256Hex } from '../../../platform/crypto/hash.ts'
import { HttpError } from '../../../platform/errors.ts'

/** The header of responses with a version. */
export const etagHeaders = { ETag: { type: 'string', description: 'The version of the user, for `If-Match`.' } }

/** Returns the version of a user: a hash of all fields, so each change results in another version. */
export const etagOf = (user: User): string => `"${sha256Hex(JSON.stringify(user)).slice(0, 32)}"`

/** Returns a check that throws 412 unless `If-Match` lists the version of the user (RFC 9110 section 13.1.1). */
export function versionCheck({ headers }: { headers: IncomingHttpHeaders }): (user: User) => void {
  const expected = headers['if-match']?.split(',').map((tag) => tag.trim())
  return (user) => {
    if (!expected || expected.includes('*') || expected.includes(etagOf(user))) return
    throw new HttpError(412, 'precondition_failed', 'The user changed after you fetched it. Fetch it again.')
  }
}
