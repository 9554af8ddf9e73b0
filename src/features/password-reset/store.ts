import { sha256Hex } from '../../platform/crypto/hash.ts'
import type { Tx } from '../../platform/database/database.ts'

/** The user, and the address that receives the link. */
interface Account {
  id: number
  email: string
}

/** Includes the address, so that changing it invalidates links that were already mailed. */
const hashOf = (token: string, { email }: Account): string => sha256Hex(`${token}\0${email}`)

/** Replaces the earlier reset; false if that one is younger than `throttle` (ms). */
export async function replaceReset(
  tx: Tx,
  account: Account,
  { token, throttle, now }: { token: string; throttle: number; now: number },
): Promise<boolean> {
  const date = new Date(now)
  const before = new Date(now - throttle)
  // A single statement, so that one of two concurrent requests is throttled.
  const written = await tx.$executeRaw`
    INSERT INTO password_resets (user_id, token_hash, created_at) VALUES (${BigInt(account.id)}, ${hashOf(token, account)}, ${date})
    ON CONFLICT (user_id) DO UPDATE SET token_hash = excluded.token_hash, created_at = excluded.created_at
    WHERE password_resets.created_at <= ${before}`
  return written > 0
}

/** Query for the user's reset by token, younger than `validity` (ms). */
const liveReset = (account: Account, token: string, validity: number, now: number) => ({
  userId: BigInt(account.id),
  tokenHash: hashOf(token, account),
  createdAt: { gt: new Date(now - validity) },
})

/** Tests whether the token is valid. */
export const hasReset = async (
  tx: Tx,
  account: Account,
  token: string,
  validity: number,
  now: number,
): Promise<boolean> => (await tx.passwordReset.count({ where: liveReset(account, token, validity, now) })) > 0

/** Uses the token up; false if it is invalid or already used. */
export const takeReset = async (
  tx: Tx,
  account: Account,
  token: string,
  validity: number,
  now: number,
): Promise<boolean> =>
  (await tx.passwordReset.deleteMany({ where: liveReset(account, token, validity, now) })).count > 0
