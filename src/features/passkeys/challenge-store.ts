import { sha256Hex } from '../../platform/crypto/hash.ts'
import { deleteOutdated } from '../../platform/database/batches.ts'
import type { Database, Tx } from '../../platform/database/database.ts'

/** Purpose of a challenge: ceremony, holder and user (null if the response identifies the user). */
export interface Asking {
  /**
   * `conditional`: a registration without a gesture of the user. `token`: a sign-in that ends in an API token.
   * `token_register`: a registration by the holder of one.
   */
  ceremony:
    | 'register'
    | 'conditional'
    | 'login'
    | 'confirm'
    | 'second_factor'
    | 'token'
    | 'token_register'
    | 'invitation'
  /** SHA-256 (hex) of what only the holder has: the id of the session, or the challenge token of an app. */
  sessionHash: string
  userId: number | null
}

/** Lifetime of a challenge: the five minutes of the browser's dialogue, and one more for the requests around it. */
const challengeTtl = 360_000

/** Maximum number of open challenges per session, for several tabs. */
const maxWaiting = 5

/** Maximum number of expired rows that one insert deletes. */
const batch = 100

const idOf = (userId: number | null): bigint | null => (userId === null ? null : BigInt(userId))

/** Stores the hash of a challenge. Beyond five per session, deletes the oldest. */
export async function keepChallenge(db: Database, asking: Asking, challenge: string, now: number): Promise<void> {
  const { ceremony, sessionHash, userId } = asking
  const date = new Date(now)
  await db.transaction(async (tx) => {
    await tx.$executeRaw`DELETE FROM passkey_challenges WHERE id IN
      (SELECT id FROM passkey_challenges WHERE expires_at <= ${date} ORDER BY expires_at LIMIT ${batch})`
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

/** Deletes all challenges for this response, and returns the hashes of the valid ones. */
export async function takeChallenges({ prisma }: Database, asking: Asking, now: number): Promise<string[]> {
  const { ceremony, sessionHash, userId } = asking
  // A single statement, so that only one of two concurrent responses gets the challenges.
  const taken = await prisma.$queryRaw<{ challenge: string; user: string | null; alive: number | bigint }[]>`
    DELETE FROM passkey_challenges WHERE session_hash = ${sessionHash} AND ceremony = ${ceremony}
    RETURNING challenge, CAST(user_id AS TEXT) AS "user", CASE WHEN expires_at > ${new Date(now)} THEN 1 ELSE 0 END AS alive`
  const owner = userId === null ? null : String(userId)
  return taken.filter(({ user, alive }) => user === owner && Number(alive) === 1).map(({ challenge }) => challenge)
}

/** Deletes expired challenges, in batches. */
export const pruneChallenges = (database: Database, now: number): Promise<number> =>
  deleteOutdated(database, { table: 'passkey_challenges', date: 'expires_at', before: new Date(now) })

/** Deletes all challenges of the user. */
export async function deleteChallengesOf(tx: Tx, userId: number): Promise<void> {
  await tx.passkeyChallenge.deleteMany({ where: { userId: BigInt(userId) } })
}
