import Provider from 'oidc-provider'
import type { Lookups, OauthRecordRow } from '../../../../auth/access/lookups/lookups.ts'
import type { User } from '../../../../identity/user.ts'
import { requestFactsOf } from '../browser.ts'

/** Rows that a request has read before the library asks for them. */
interface Ahead {
  /** By the key of the row. */
  records: Map<string, OauthRecordRow>
  user: User | null
}

const ahead = new WeakMap<object, Ahead>()

/**
 * Reads a code or a refresh token for a token request, and with it the session, the grant and the user, which the library
 * asks for next.
 */
export async function readToken(lookups: Lookups, id: string): Promise<OauthRecordRow | null> {
  const found = await lookups.oauthToken(id)
  const { ctx } = Provider
  if (!found || !ctx) return found?.record ?? null
  const { record, grant, session, user } = found
  const records = [grant, session].flatMap((row) => (row ? [[row.key, row] as const] : []))
  ahead.set(ctx, { records: new Map(records), user })
  return record
}

/** Returns a row that this request has read ahead, once. A second read asks the database, because the row may have changed. */
export function takeRecord(key: string): OauthRecordRow | undefined {
  const records = Provider.ctx && ahead.get(Provider.ctx)?.records
  const row = records?.get(key)
  records?.delete(key)
  return row
}

/** Returns the user with this id, if this request has read it with the token or with the browser's session. */
export function knownUser(id: string): User | undefined {
  const { ctx } = Provider
  if (!ctx) return undefined
  const user = ahead.get(ctx)?.user ?? requestFactsOf(ctx.req).signedIn?.user
  return user && String(user.id) === id ? user : undefined
}
