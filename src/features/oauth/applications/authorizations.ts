import { requireUser } from '../../../auth/access/caller.ts'
import type { Services, Visit } from '../../../auth/access/visit.ts'
import { requireStillSignedIn } from '../../../auth/sign-in/still-signed-in.ts'
import { recordEvent } from '../../../identity/events.ts'
import { wireDate } from '../../../identity/wire-date.ts'
import { notFound } from '../../../platform/errors.ts'
import type { Static } from '../../../platform/json-schema.ts'
import { claimedName } from '../client-documents/document.ts'
import { findDocuments } from '../client-documents/store.ts'
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
  const unregistered = authorizations.map(({ clientId }) => clientId).filter((id) => registry.isDocument(id))
  const documents = await findDocuments(database, unregistered)
  const claims = new Map(documents.map((document) => [document.client_id, claimedName(document)]))
  return authorizations.flatMap(({ id, clientId, scopes, claims: asked, createdAt, expiresAt }) => {
    const client = registry.client(clientId)
    if (client ? skipsConsent(client, current) : !registry.isDocument(clientId)) return []
    const dates = { created_at: wireDate(createdAt), expires_at: wireDate(expiresAt) }
    const permissions = grantedPermissions(clientId, { scopes, claims: asked }, registry)
    const { name } = registry.application(clientId)
    const shown = { id: clientId, name, claimed_name: claims.get(clientId) ?? null }
    return [{ id, client: shown, scopes: [...scopes], permissions, ...dates }]
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
