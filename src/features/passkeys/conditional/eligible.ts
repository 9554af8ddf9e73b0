import type { FastifyRequest } from 'fastify'
import { forbidden, passwordConfirmationRequired } from '../../../platform/errors.ts'
import { isOfferedPasskey } from '../offer.ts'
import { hasPasskey } from '../store.ts'

declare module 'fastify' {
  interface Session {
    /** Whether the session requested the options of a conditional registration. */
    passkeyAsked?: true
  }
}

/** How long after a sign-in by password the browser may create a passkey without a gesture: five minutes. */
const maxAge = 300_000

/** Tests whether the user signed in by password less than five minutes ago. */
function isFreshPassword({ server, session }: FastifyRequest): boolean {
  const { proof } = session
  return proof?.methods.includes('pwd') === true && server.clock.now() - proof.at < maxAge
}

/** Throws 423 unless the user signed in by password less than five minutes ago. */
export function requireFreshPassword(request: FastifyRequest): void {
  if (!isFreshPassword(request)) throw passwordConfirmationRequired()
}

/** Allows one request for options per session, and only without a passkey: 423 or 403 otherwise. */
export async function startOnce(request: FastifyRequest, userId: number): Promise<void> {
  requireFreshPassword(request)
  if (request.session.passkeyAsked || (await hasPasskey(request.server.database, userId))) throw forbidden()
  request.session.passkeyAsked = true
  await request.session.save()
}

/** Tests whether the start page asks the browser to create a passkey. */
export async function isConditional(request: FastifyRequest): Promise<boolean> {
  if (request.session.passkeyAsked || !isFreshPassword(request)) return false
  return isOfferedPasskey(request)
}
