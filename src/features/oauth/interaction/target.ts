import type { FastifyRequest } from 'fastify'
import { interactionCookie } from '../protocol/cookie-names.ts'
import type { OAuthServer } from '../protocol/oauth-server.ts'
import { interactionReference } from '../protocol/patches/cookie-jar.ts'

const path = /^\/oauth\/interaction\/([\w-]{1,64})$/

/** The redirect URI of the authorization that a path of svc continues, if it began in this browser; null for any other path. */
export async function redirectTarget(
  oauthServer: OAuthServer,
  { cookies, cookiePrefixes }: FastifyRequest,
  returnTo: string | null,
): Promise<string | null> {
  const uid = path.exec(returnTo ?? '')?.[1]
  if (uid === undefined) return null
  const presented = { values: cookies, prefixes: cookiePrefixes ?? new Map() }
  const reference = interactionReference(presented, interactionCookie, uid)
  if (reference === undefined) return null
  const { provider } = await oauthServer.current()
  const uri = (await provider.Interaction.find(reference))?.params.redirect_uri
  return typeof uri === 'string' ? uri : null
}
