import type { Database, Tx } from '../platform/database/database.ts'

/** A stored second factor; texts are encrypted. */
export interface StoredTwoFactor {
  secret: string | null
  recoveryCodes: string | null
  confirmed: boolean
  /** 30-second step of the last accepted code. */
  lastStep: number | null
}

const columns = {
  twoFactorSecret: true,
  twoFactorRecoveryCodes: true,
  twoFactorConfirmedAt: true,
  twoFactorLastStep: true,
} as const

/** Returns the user's second factor, or null for an unknown user. */
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

/** Replaces the factor that was read by an unconfirmed one; false if it changed meanwhile. */
export async function replaceTwoFactor(
  tx: Tx,
  userId: number,
  found: Pick<StoredTwoFactor, 'secret' | 'confirmed'> | null,
  fresh: { secret: string; recoveryCodes: string },
): Promise<boolean> {
  const { count } = await tx.user.updateMany({
    where: {
      id: BigInt(userId),
      twoFactorSecret: found?.secret ?? null,
      twoFactorConfirmedAt: found?.confirmed ? { not: null } : null,
    },
    data: {
      twoFactorSecret: fresh.secret,
      twoFactorRecoveryCodes: fresh.recoveryCodes,
      twoFactorConfirmedAt: null,
      twoFactorLastStep: null,
    },
  })
  return count > 0
}

/** Stores a factor that the user confirmed at another server. */
export async function storeConfirmedTwoFactor(
  tx: Tx,
  userId: number,
  { secret, recoveryCodes }: { secret: string; recoveryCodes: string },
  now: number,
): Promise<void> {
  await tx.user.update({
    where: { id: BigInt(userId) },
    data: { twoFactorSecret: secret, twoFactorRecoveryCodes: recoveryCodes, twoFactorConfirmedAt: new Date(now) },
  })
}

/** Removes the second factor, or only an unconfirmed one from before `since`; false if there was none. */
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

/** Removes a second factor that is not confirmed yet. */
export async function clearUnconfirmedTwoFactor(tx: Tx, userId: number): Promise<void> {
  await tx.user.updateMany({
    where: { id: BigInt(userId), twoFactorConfirmedAt: null },
    data: { twoFactorSecret: null, twoFactorRecoveryCodes: null, twoFactorLastStep: null },
  })
}

/**
 * Marks a step of this secret as used; only one of two concurrent calls returns true. `confirmedAt` also confirms the
 * factor.
 */
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

/** Replaces the recovery codes that were read; false if they changed meanwhile. */
export async function replaceRecoveryCodes(tx: Tx, userId: number, found: string, fresh: string): Promise<boolean> {
  const { count } = await tx.user.updateMany({
    where: { id: BigInt(userId), twoFactorRecoveryCodes: found },
    data: { twoFactorRecoveryCodes: fresh },
  })
  return count > 0
}
