import Provider, { type AdapterPayload } from 'oidc-provider'
import type { Owner } from '../records/records.ts'
import { requestFactsOf } from './browser.ts'

/** Payload of a session or grant, with the browser session of its row and the payload that was read. */
export type LastingPayload = AdapterPayload & {
  storedId?: string | undefined
  storedPayload?: string | undefined
  storedContent?: string | undefined
  sessionId?: string
}

/** Returns the content of a session as text, for comparison. Omits the latest grant of each client. */
export function contentOf(session: LastingPayload): string {
  const { iat: _, exp, storedId, storedPayload, storedContent, authorizations = {}, ...rest } = session
  const clients = Object.entries(authorizations).map(([id, { grantId: _, ...client }]) => [id, client])
  const fields = Object.entries({ ...rest, clients }).filter(([, value]) => value !== undefined)
  return JSON.stringify(fields.toSorted(([one], [other]) => (one < other ? -1 : 1)))
}

/** Tests for the session of this request while it has no row. */
export function isNewSession(uid: string | undefined): boolean {
  const session: { uid?: string; storedId?: string } | undefined = Provider.ctx?.oidc.session
  return session !== undefined && session.uid === uid && session.storedId === undefined
}

/** Returns the browser session with this public id, as the request read it. */
export function ownerOf(publicId: string): Owner {
  const { ctx } = Provider
  const signedIn = ctx && requestFactsOf(ctx.req).signedIn
  return { publicId, rowId: signedIn?.sessionId === publicId ? signedIn.rowId : null }
}
