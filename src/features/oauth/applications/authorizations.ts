import { requireUser } from '../../../auth/access/caller.ts'
import type { Services, Visit } from '../../../auth/access/visit.ts'
import { requireStillSignedIn } from '../../../auth/sign-in/still-signed-in.ts'
import { recordEvent } from '../../../identity/events.ts'
import { wireDate } from '../../../identity/wire-date.ts'
import { notFound } from '../../../platform/errors.ts'
import type { Static } from '../../../platform/json-schema.ts'
import { grantedPermissions } from '../interaction/consent-scopes.ts'
import { skipsConsent } from '../protocol/grants.ts'
import type { OAuthServer } from '../protocol/oauth-server.ts'
import type { Authorization } from './schemas.ts'
import { deleteAuthorization, listAuthorizations } from './store.ts'

/** An authorization, and what it allows as the consent page lists it. */
type Connected = Static<typeof Authorization> & { permissions: string[] }

/** The applications that the user allowed access, except those that need no consent. */
export async function connectedApplications(
  { config, database, clock }: Pick<Services, 'config' | 'database' | 'clock'>,
  oauthServer: OAuthServer,
  userId: number,
): Promise<Connected[]> {
  const current = config.current()
  const registry = oauthServer.registry()
  const authorizations = await listAuthorizations(database, oauthServer.seal, userId, clock.now())
  return authorizations.flatMap(({ id, clientId, scopes, claims, createdAt, expiresAt }) => {
    const client = registry.client(clientId)
    if (!client || skipsConsent(client, current)) return []
    const dates = { created_at: wireDate(createdAt), expires_at: wireDate(expiresAt) }
    const permissions = grantedPermissions(clientId, { scopes, claims }, registry)
    return [{ id, client: { id: clientId, name: client.name }, scopes: [...scopes], permissions, ...dates }]
  })
}

/** Revokes an authorization of the user with its tokens. Throws 404 if the user has no such authorization. */
export async function disconnect(visit: Visit, oauthServer: OAuthServer, id: string): Promise<void> {
  const { id: userId } = requireUser(visit)
  const isDeleted = await visit.app.database.transaction(async (tx) => {
    await requireStillSignedIn(tx, visit)
    const clientId = await deleteAuthorization(tx, oauthServer.seal, userId, id)
    if (clientId === null) return false
    await recordEvent(tx, visit.origin, { type: 'consent_revoked', userId, data: { client_id: clientId } })
    return true
  })
  if (!isDeleted) throw notFound()
}
