import type { FastifyRequest } from 'fastify'
import type { Destination } from '../../../pages/continuation.ts'
import { interactionCookie } from '../protocol/cookie-names.ts'
import { interactionReference } from '../protocol/interaction-reference.ts'
import type { OAuthServer } from '../protocol/oauth-server.ts'

const path = /^\/oauth\/interaction\/([\w-]{1,64})$/

/**
 * Returns the client and the redirect URI of the authorization that a path of svc continues, if it began in this
 * browser; null for any other path.
 */
export async function destinationOf(
  oauthServer: OAuthServer,
  { cookies, cookiePrefixes }: FastifyRequest,
  returnTo: string | null,
): Promise<Destination | null> {
  const uid = path.exec(returnTo ?? '')?.[1]
  if (uid === undefined) return null
  const presented = { values: cookies, prefixes: cookiePrefixes ?? new Map() }
  const reference = interactionReference(presented, interactionCookie, uid)
  if (reference === undefined) return null
  const { provider, registry } = await oauthServer.current()
  const params = (await provider.Interaction.find(reference))?.params
  if (!params) return null
  const { client_id, redirect_uri } = params
  const redirectUri = typeof redirect_uri === 'string' ? redirect_uri : null
  // A device does not wait on this browser.
  const cancelAction = redirectUri === null ? null : returnTo
  return { redirectUri, application: { ...registry.application(String(client_id)), cancelAction } }
}
