import type { Database } from '../../../database/database.ts'
import { unauthenticated } from '../../../errors.ts'
import { type EventContext, recordEvent } from '../../../users/events.ts'
import { holdAccount } from '../../../users/lock.ts'

/** The scopes that the user allowed the client, for good. */
export async function findConsent({ prisma }: Database, userId: number, clientId: string): Promise<string[]> {
  const rows = await prisma.oauthConsent.findMany({
    where: { userId: BigInt(userId), clientId },
    select: { scope: true },
  })
  return rows.map(({ scope }) => scope)
}

/** What a user allows a client, in which browser session. */
interface Consent {
  userId: number
  sessionId: string
  clientId: string
  scopes: readonly string[]
  origin: EventContext
}

/** Remembers that the user allowed the client these scopes, and records it; throws 401 when the session ended meanwhile. */
export function saveConsent(
  database: Database,
  { userId, sessionId, clientId, scopes, origin }: Consent,
): Promise<void> {
  return database.transaction(async (tx) => {
    if (!(await holdAccount(database, tx, userId, { session: sessionId }))) throw unauthenticated()
    for (const scope of scopes) {
      await tx.$executeRaw`
        INSERT INTO oauth_consents (user_id, client_id, scope, created_at)
        VALUES (${BigInt(userId)}, ${clientId}, ${scope}, ${new Date(origin.now)}) ON CONFLICT DO NOTHING`
    }
    await recordEvent(tx, origin, {
      type: 'consent_given',
      userId,
      data: { client_id: clientId, scopes: scopes.join(' ') },
    })
  })
}
