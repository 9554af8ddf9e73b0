import { sha256Hex } from '../../../crypto/hash.ts'
import type { Database, Tx } from '../../../database/database.ts'

/** What a challenge may be answered for, by which session, and for which user (null where the answer will tell). */
export interface Asking {
  ceremony: 'register' | 'login' | 'confirm'
  sessionHash: string
  userId: number | null
}

/** How long an answer may take: five minutes. */
const challengeTtl = 300_000

/** Challenges of one session that may wait at once: one for each tab. */
const maxWaiting = 5

/** The most expired rows that one insert removes. */
const batch = 100

const idOf = (userId: number | null): bigint | null => (userId === null ? null : BigInt(userId))

/** Stores the hash of a challenge until its answer; of more than five per session, the oldest is deleted. */
export async function keepChallenge(db: Database, asking: Asking, challenge: string, now: number): Promise<void> {
  const { ceremony, sessionHash, userId } = asking
  const date = new Date(now)
  await db.transaction(async (tx) => {
    await tx.$executeRaw`DELETE FROM passkey_challenges WHERE id IN
      (SELECT id FROM passkey_challenges WHERE expires_at <= ${date} LIMIT ${batch})`
    await tx.passkeyChallenge.create({
      data: {
        ceremony,
        sessionHash,
        userId: idOf(userId),
        challenge: sha256Hex(challenge),
        expiresAt: new Date(now + challengeTtl),
      },
    })
    await tx.$executeRaw`DELETE FROM passkey_challenges
      WHERE session_hash = ${sessionHash} AND ceremony = ${ceremony} AND id NOT IN
        (SELECT id FROM passkey_challenges WHERE session_hash = ${sessionHash} AND ceremony = ${ceremony}
          ORDER BY id DESC LIMIT ${maxWaiting})`
  })
}

/** Deletes every challenge that waits for this answer and returns the hashes of those that are still valid. */
export async function takeChallenges({ prisma }: Database, asking: Asking, now: number): Promise<string[]> {
  const { ceremony, sessionHash, userId } = asking
  // One statement: of two answers at the same moment one takes all, and the other none.
  const taken = await prisma.$queryRaw<{ challenge: string; user: string | null; alive: number | bigint }[]>`
    DELETE FROM passkey_challenges WHERE session_hash = ${sessionHash} AND ceremony = ${ceremony}
    RETURNING challenge, CAST(user_id AS TEXT) AS "user", CASE WHEN expires_at > ${new Date(now)} THEN 1 ELSE 0 END AS alive`
  const owner = userId === null ? null : String(userId)
  return taken.filter(({ user, alive }) => user === owner && Number(alive) === 1).map(({ challenge }) => challenge)
}

/** Deletes every challenge of the user. */
export async function deleteChallengesOf(tx: Tx, userId: number): Promise<void> {
  await tx.passkeyChallenge.deleteMany({ where: { userId: BigInt(userId) } })
}
