import { requireUser } from '../../../auth/access/caller.ts'
import type { Visit } from '../../../auth/access/visit.ts'
import { requireStillSignedIn } from '../../../auth/sign-in/still-signed-in.ts'
import { recordEvent } from '../../../identity/events.ts'
import { notify } from '../../../identity/notices.ts'
import { wireDate } from '../../../identity/wire-date.ts'
import { notFound, validationFailed } from '../../../platform/errors.ts'
import type { Static } from '../../../platform/json-schema.ts'
import { personalOrigin } from '../alive.ts'
import { personalClient } from '../clients/clients.ts'
import { ownScopes } from '../clients/scopes.ts'
import type { OAuthServer } from '../protocol/oauth-server.ts'
import { signOwnToken } from './own-token.ts'
import type { PersonalTokenAnswer, PersonalTokenBody } from './schemas.ts'
import { countPersonalTokens, deletePersonalToken, insertPersonalToken } from './store.ts'

/** Maximum number of valid personal access tokens of a user. Lists contain all of them. */
const maxTokens = 1_000

/** Creates a personal access token of the user and mails a notice. Throws 422 for unknown scopes and above the limit. */
export async function createPersonalToken(
  visit: Visit,
  oauthServer: OAuthServer,
  body: Static<typeof PersonalTokenBody>,
): Promise<Static<typeof PersonalTokenAnswer>> {
  const app = visit.app
  const user = requireUser(visit)
  const { id: userId } = user
  const { name } = body
  const scopes = [...new Set(body.scopes ?? [])]
  const config = app.config.current()
  const known = new Set(ownScopes(config).map(([name]) => name))
  if (!scopes.every((scope) => known.has(scope))) {
    throw validationFailed({ scopes: ['The selected scopes is invalid.'] })
  }
  const issuedAt = app.clock.now()
  const expiresAt = issuedAt + config.oauth.personal_access_token_ttl
  const facts = { clientId: personalClient, user, gid: personalOrigin, scopes, signedIn: null }
  const token = { ...facts, audience: config.oauth.audience, issuedAt, expiresAt }
  const key = await oauthServer.signingKey(config.oauth.access_token_alg)
  const { jti: id, accessToken } = await signOwnToken(visit, key, token)
  const [createdAt, end] = [new Date(issuedAt), new Date(expiresAt)]
  await app.database.transaction(async (tx) => {
    await requireStillSignedIn(tx, visit)
    // The user is locked, so concurrent requests count one after the other.
    if ((await countPersonalTokens(tx, userId, createdAt)) >= maxTokens) {
      throw validationFailed({ name: ['This account already has 1,000 personal access tokens. Revoke one first.'] })
    }
    await insertPersonalToken(tx, { id, userId, name, scopes, createdAt, expiresAt: end })
    const data = { token_id: id, name, scopes: scopes.join(' ') }
    await recordEvent(tx, visit.origin, { type: 'personal_token_created', userId, data })
    await notify(app, tx, visit.origin, user, 'personal_token_created')
  })
  const dates = { created_at: wireDate(createdAt), expires_at: wireDate(end) }
  return { accessToken, token: { id, name, scopes, ...dates } }
}

/** Revokes a personal access token of the user. Throws 404 if the user has no such token. */
export async function revokePersonalToken(visit: Visit, id: string): Promise<void> {
  const { id: userId } = requireUser(visit)
  const isDeleted = await visit.app.database.transaction(async (tx) => {
    await requireStillSignedIn(tx, visit)
    if (!(await deletePersonalToken(tx, userId, id))) return false
    await recordEvent(tx, visit.origin, { type: 'personal_token_revoked', userId, data: { token_id: id } })
    return true
  })
  if (!isDeleted) throw notFound()
}
