import type { Database, Tx } from '../../../platform/database/database.ts'
import type { RecordSeal, SealedRecord } from './record-seal.ts'
import { lockOwners, recordId } from './store.ts'

/**
 * OAuth sessions to end: those of one browser session, those of a user except one, or one session unless it belongs to
 * this user.
 */
type EndedRecords = { publicId: string } | { userId: number; except: string | null } | { id: string; unlessOf?: number }

/** Session at the time it ended. */
interface EndedSession extends SealedRecord {
  uidHash: string
}

/** Deletes OAuth sessions with everything that ends with them. Returns the sessions. */
export async function deleteSessionRecords(tx: Tx, ended: EndedRecords): Promise<SealedRecord[]> {
  const sessions: EndedSession[] =
    'publicId' in ended
      ? await tx.$queryRaw`DELETE FROM oauth_records WHERE session_id = ${ended.publicId} AND kind = 'Session' RETURNING id, payload, uid_hash AS "uidHash"`
      : 'userId' in ended
        ? await tx.$queryRaw`
            DELETE FROM oauth_records WHERE user_id = ${BigInt(ended.userId)} AND kind = 'Session'
            AND (session_id IS NULL OR session_id <> ${ended.except ?? ''}) RETURNING id, payload, uid_hash AS "uidHash"`
        : await tx.$queryRaw`
            DELETE FROM oauth_records WHERE id = ${ended.id} AND kind = 'Session'
            AND user_id <> ${BigInt(ended.unlessOf ?? -1)} RETURNING id, payload, uid_hash AS "uidHash"`
  for (const { uidHash } of sessions) await tx.oauthRecord.deleteMany({ where: { parentHash: uidHash } })
  return sessions
}

/** Deletes a client's grants that end with a session, and their tokens. The session continues. */
export async function deleteClientGrants(
  database: Database,
  tx: Tx,
  seal: RecordSeal,
  { uid, clientId }: { uid: string; clientId: string },
): Promise<void> {
  const where = { parentHash: recordId('uid', uid) }
  await lockOwners(database, tx, where)
  const rows = await tx.oauthRecord.findMany({ where })
  const ids = rows.filter((row) => seal.open(row)?.clientId === clientId).map(({ id }) => id)
  await tx.oauthRecord.deleteMany({ where: { id: { in: ids } } })
}

/** Binds a user's OAuth session to another browser session, and extends it at least to a time (unix ms). */
export async function relinkSessionRecord(
  tx: Tx,
  { id, userId, publicId, until }: { id: string; userId: number; publicId: string; until: number },
): Promise<void> {
  await tx.$executeRaw`
    UPDATE oauth_records SET session_id = ${publicId},
      expires_at = CASE WHEN expires_at > ${BigInt(until)} THEN expires_at ELSE ${BigInt(until)} END
    WHERE id = ${id} AND kind = 'Session' AND user_id = ${BigInt(userId)}`
}

/** Deletes a grant and everything issued from it. */
export async function deleteGrantRecords(tx: Tx, grantId: string): Promise<void> {
  const [id, hash] = [recordId('Grant', grantId), recordId('grant', grantId)]
  await tx.$executeRaw`DELETE FROM oauth_records WHERE id = ${id} OR grant_hash = ${hash}`
}

/** Deletes all OAuth records of a user: sessions, grants and tokens. */
export async function deleteRecordsOf(tx: Tx, userId: number): Promise<void> {
  // Interactions continue: the next user to sign in completes the authorization.
  await tx.oauthRecord.deleteMany({ where: { userId: BigInt(userId), kind: { not: 'Interaction' } } })
}
