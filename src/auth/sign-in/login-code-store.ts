import { deleteOutdated } from '../../platform/database/batches.ts'
import type { Database, Tx } from '../../platform/database/database.ts'

/** A mailed code that waits for its entry. */
export interface WaitingCode {
  email: string
  /** Keyed hash of the code. */
  mac: string
  remember: boolean
  returnTo: string | null
}

/** Maximum number of expired rows that one insert deletes. */
const batch = 100

/** Stores a code in place of the holder's earlier one. */
export async function keepCode(
  tx: Tx,
  id: string,
  { email, mac, remember, returnTo, now, expiresAt }: WaitingCode & { now: number; expiresAt: number },
): Promise<void> {
  await tx.$executeRaw`DELETE FROM login_codes WHERE id IN
    (SELECT id FROM login_codes WHERE expires_at <= ${new Date(now)} AND id <> ${id} ORDER BY expires_at LIMIT ${batch})`
  await tx.$executeRaw`
    INSERT INTO login_codes (id, email, mac, attempts, remember, return_to, expires_at)
    VALUES (${id}, ${email}, ${mac}, 0, ${remember}, ${returnTo}, ${new Date(expiresAt)})
    ON CONFLICT (id) DO UPDATE SET email = excluded.email, mac = excluded.mac, attempts = 0,
      remember = excluded.remember, return_to = excluded.return_to, expires_at = excluded.expires_at`
}

/** Returns the holder's code if it can still be entered. */
export async function findCode(
  { prisma }: Database,
  id: string,
  { maxAttempts, now }: { maxAttempts: number; now: number },
): Promise<WaitingCode | null> {
  const where = { id, attempts: { lt: maxAttempts }, expiresAt: { gt: new Date(now) } }
  const select = { email: true, mac: true, remember: true, returnTo: true }
  return prisma.loginCode.findFirst({ where, select })
}

/** Counts an attempt before its code is compared; false if all attempts are used up, or another code took its place. */
export async function countAttempt(
  { prisma }: Database,
  id: string,
  { mac }: WaitingCode,
  maxAttempts: number,
): Promise<boolean> {
  // A single statement, so that of many concurrent attempts only the allowed number are compared.
  const { count } = await prisma.loginCode.updateMany({
    where: { id, mac, attempts: { lt: maxAttempts } },
    data: { attempts: { increment: 1 } },
  })
  return count > 0
}

/** Uses the code up; false if another request used it. */
export const takeCode = async ({ prisma }: Database, id: string, { mac }: WaitingCode): Promise<boolean> =>
  (await prisma.loginCode.deleteMany({ where: { id, mac } })).count > 0

/** Deletes expired codes, in batches. */
export const pruneCodes = (database: Database, now: number): Promise<number> =>
  deleteOutdated(database, { table: 'login_codes', date: 'expires_at', before: new Date(now) })

/** Deletes the codes that were requested for the user's address. */
export async function deleteCodesOf(tx: Tx, userId: number): Promise<void> {
  await tx.$executeRaw`DELETE FROM login_codes WHERE email = (SELECT email FROM users WHERE id = ${BigInt(userId)})`
}
