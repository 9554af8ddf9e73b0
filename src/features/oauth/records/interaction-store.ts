import { type EventContext, recordEvent } from '../../../identity/events.ts'
import { lockAndCheckAccount } from '../../../identity/lock.ts'
import { notify } from '../../../identity/notices.ts'
import type { User } from '../../../identity/user.ts'
import type { CurrentConfig } from '../../../platform/config/current.ts'
import type { Database } from '../../../platform/database/database.ts'
import { unauthenticated } from '../../../platform/errors.ts'
import type { Mail } from '../../../platform/mail/mail.ts'

/** Returns the scopes of the remembered consent of a user for a client. */
export async function findConsent({ prisma }: Database, userId: number, clientId: string): Promise<string[]> {
  const rows = await prisma.oauthConsent.findMany({
    where: { userId: BigInt(userId), clientId },
    select: { scope: true },
  })
  return rows.map(({ scope }) => scope)
}

/** Consent of a user for a client, given in a browser session. */
interface Consent {
  user: User
  /** Id of the session's row. */
  session: string
  client: { clientId: string; name: string }
  scopes: readonly string[]
  origin: EventContext
}

interface ConsentParts {
  database: Database
  mail: Pick<Mail, 'queueNotice'>
  config: CurrentConfig
}

/**
 * Remembers that the user allowed the client these scopes, records it, and mails a notice if a scope is new. Throws 401
 * if the session ended or was renewed meanwhile.
 */
export function saveConsent(parts: ConsentParts, { user, session, client, scopes, origin }: Consent): Promise<void> {
  const { database } = parts
  const { id: userId } = user
  const { clientId } = client
  return database.transaction(async (tx) => {
    if (!(await lockAndCheckAccount(database, tx, userId, { session }))) throw unauthenticated()
    let added = 0
    for (const scope of scopes) {
      added += await tx.$executeRaw`
        INSERT INTO oauth_consents (user_id, client_id, scope, created_at)
        VALUES (${BigInt(userId)}, ${clientId}, ${scope}, ${new Date(origin.now)}) ON CONFLICT DO NOTHING`
    }
    await recordEvent(tx, origin, {
      type: 'consent_given',
      userId,
      data: { client_id: clientId, scopes: scopes.join(' ') },
    })
    if (added === 0) return
    await notify(parts, tx, origin, user, 'application_authorized', { application: client.name })
  })
}
