import type { Act } from '../access-token.ts'
import type { StatusLists, StatusReference } from './status-lists.ts'

/** Access token that the library is issuing. */
interface IssuedToken {
  jti: string
  iat?: number | undefined
  exp?: number | undefined
  /** Lifetime in seconds. */
  expiration?: number | undefined
  accountId?: string | undefined
  clientId?: string | undefined
  resourceServer?: { audience?: string | undefined } | undefined
}

/** Claims of svc in a token that the library is issuing. */
interface OwnClaims {
  gid?: string | undefined
  gty?: string | undefined
  subject_jti?: string | readonly string[] | undefined
  act?: Act | undefined
}

/** Place of a token of the library in a status list; empty if its API has none. */
export function statusOf(
  statusLists: StatusLists,
  token: IssuedToken,
  { gid, gty, subject_jti, act }: OwnClaims,
): Promise<StatusReference | object> {
  const { jti, clientId = '', accountId = clientId } = token
  const iat = token.iat ?? Math.floor(Date.now() / 1000)
  const exp = token.exp ?? iat + (token.expiration ?? 0)
  const aud = token.resourceServer?.audience ?? ''
  return statusLists.referenceFor({
    ...{ sub: accountId, jti, aud, client_id: clientId, iat, exp },
    ...(gid === undefined ? {} : { gid }),
    ...(gty === undefined ? {} : { gty }),
    ...(act === undefined ? {} : { act }),
    ...(subject_jti === undefined ? {} : { subject_jti: [subject_jti].flat() }),
  })
}
