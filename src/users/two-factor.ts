import type { Database, Tx } from '../database/database.ts'

/** A user's second factor as it is stored: the texts are encrypted. */
export interface StoredTwoFactor {
  secret: string | null
  recoveryCodes: string | null
  confirmed: boolean
  /** The 30-second step of the last code that was accepted. */
  lastStep: number | null
}

const columns = {
  twoFactorSecret: true,
  twoFactorRecoveryCodes: true,
  twoFactorConfirmedAt: true,
  twoFactorLastStep: true,
} as const

/** The user's second factor; null when there is no such user. */
export async function findTwoFactor(db: Database | { prisma: Tx }, userId: number): Promise<StoredTwoFactor | null> {
  const row = await db.prisma.user.findUnique({ where: { id: BigInt(userId) }, select: columns })
  return (
    row && {
      secret: row.twoFactorSecret,
      recoveryCodes: row.twoFactorRecoveryCodes,
      confirmed: row.twoFactorConfirmedAt !== null,
      lastStep: row.twoFactorLastStep === null ? null : Number(row.twoFactorLastStep),
    }
  )
}

/** Puts an unconfirmed second factor in place of the one that was read; false when another was put there meanwhile. */
export async function replaceTwoFactor(
  tx: Tx,
  userId: number,
  found: string | null,
  fresh: { secret: string; recoveryCodes: string },
): Promise<boolean> {
  const { count } = await tx.user.updateMany({
    where: { id: BigInt(userId), twoFactorSecret: found },
    data: {
      twoFactorSecret: fresh.secret,
      twoFactorRecoveryCodes: fresh.recoveryCodes,
      twoFactorConfirmedAt: null,
      twoFactorLastStep: null,
    },
  })
  return count > 0
}

/** Takes the second factor away, or only one that was not confirmed before `since`; false when there was none. */
export async function clearTwoFactor(tx: Tx, userId: number, since?: Date): Promise<boolean> {
  const recent = since ? { OR: [{ twoFactorConfirmedAt: null }, { twoFactorConfirmedAt: { gte: since } }] } : {}
  const { count } = await tx.user.updateMany({
    where: { id: BigInt(userId), twoFactorSecret: { not: null }, ...recent },
    data: {
      twoFactorSecret: null,
      twoFactorRecoveryCodes: null,
      twoFactorConfirmedAt: null,
      twoFactorLastStep: null,
    },
  })
  return count > 0
}

/** Uses a step up, of this secret: of two requests with one code only one gets true. `confirmedAt` also confirms the factor. */
export async function consumeStep(
  tx: Tx,
  userId: number,
  use: { secret: string; step: number; confirmedAt?: Date },
): Promise<boolean> {
  const step = BigInt(use.step)
  const { count } = await tx.user.updateMany({
    where: {
      id: BigInt(userId),
      twoFactorSecret: use.secret,
      OR: [{ twoFactorLastStep: null }, { twoFactorLastStep: { lt: step } }],
    },
    data: { twoFactorLastStep: step, ...(use.confirmedAt ? { twoFactorConfirmedAt: use.confirmedAt } : {}) },
  })
  return count > 0
}

/** Replaces the recovery codes that were read; false when they were replaced meanwhile. */
export async function replaceRecoveryCodes(tx: Tx, userId: number, found: string, fresh: string): Promise<boolean> {
  const { count } = await tx.user.updateMany({
    where: { id: BigInt(userId), twoFactorRecoveryCodes: found },
    data: { twoFactorRecoveryCodes: fresh },
  })
  return count > 0
}
