import type { CurrentConfig } from '../../../config/current.ts'
import type { Database } from '../../../database/database.ts'
import { unauthenticated } from '../../../errors.ts'
import type { Mail } from '../../../mail/mail.ts'
import { type EventContext, recordEvent } from '../../../users/events.ts'
import { lockAndCheckAccount } from '../../../users/lock.ts'
import { notify } from '../../../users/notices.ts'
import type { User } from '../../../users/user.ts'

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
  client: { clientId: string; clientName?: string | undefined }
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
export function saveConsent(
  parts: ConsentParts,
  { user, session, client: { clientId, clientName }, scopes, origin }: Consent,
): Promise<void> {
  const { database } = parts
  const { id: userId } = user
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
    await notify(parts, tx, origin, user, 'application_authorized', { application: clientName ?? clientId })
  })
}
