import { sha256Hex } from '../../crypto/hash.ts'
import type { Tx } from '../../database/database.ts'

/** Whose reset it is: the user, and the address that the link is mailed to. */
interface Account {
  id: number
  email: string
}

/** The address is part of it: a link that is still on its way when the user moves to another opens nothing there. */
const hashOf = (token: string, { email }: Account): string => sha256Hex(`${token}\0${email}`)

/** Puts a reset in place of the one before, unless that one is younger than `throttle` (ms); false when it is. */
export async function replaceReset(
  tx: Tx,
  account: Account,
  { token, throttle, now }: { token: string; throttle: number; now: number },
): Promise<boolean> {
  const date = new Date(now)
  const before = new Date(now - throttle)
  // One statement: of two requests at once, one is throttled.
  const written = await tx.$executeRaw`
    INSERT INTO password_resets (user_id, token_hash, created_at) VALUES (${BigInt(account.id)}, ${hashOf(token, account)}, ${date})
    ON CONFLICT (user_id) DO UPDATE SET token_hash = excluded.token_hash, created_at = excluded.created_at
    WHERE password_resets.created_at <= ${before}`
  return written > 0
}

/** What the token of a link stands for: the user's reset that is younger than `validity` (ms). */
const liveReset = (account: Account, token: string, validity: number, now: number) => ({
  userId: BigInt(account.id),
  tokenHash: hashOf(token, account),
  createdAt: { gt: new Date(now - validity) },
})

/** Whether the token is good. */
export const hasReset = async (
  tx: Tx,
  account: Account,
  token: string,
  validity: number,
  now: number,
): Promise<boolean> => (await tx.passwordReset.count({ where: liveReset(account, token, validity, now) })) > 0

/** Uses the token up; false when it is not good, or was used a moment before. */
export const takeReset = async (
  tx: Tx,
  account: Account,
  token: string,
  validity: number,
  now: number,
): Promise<boolean> =>
  (await tx.passwordReset.deleteMany({ where: liveReset(account, token, validity, now) })).count > 0
