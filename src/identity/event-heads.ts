import type { Database } from '../platform/database/database.ts'
import type { EventSeal } from '../platform/generated/postgresql/client.ts'

/** The last seal of the audit trail at a time. A copy of it shows later whether the trail was shortened or rewritten. */
export interface Head {
  /** Position in the chain. */
  seal: number
  /** SHA-256 (hex). */
  hash: string
  /** ISO 8601. */
  sealed_at: string
  /** Ed25519, base64url. */
  signature: string
  /** Public key, base64url (the `x` of a JWK, RFC 8037). */
  key: string
}

/** The head that a seal is. */
export const headOf = ({ id, hash, sealedAt, signature, key }: Omit<EventSeal, 'body' | 'exportedAt'>): Head => ({
  seal: Number(id),
  hash,
  sealed_at: sealedAt.toISOString(),
  signature,
  key,
})

/** Returns the last head if it was not exported, or null. */
export async function headToExport({ prisma }: Database): Promise<Head | null> {
  // Bodies are long, and nothing here needs them.
  const last = await prisma.eventSeal.findFirst({ orderBy: { id: 'desc' }, omit: { body: true } })
  return last && last.exportedAt === null ? headOf(last) : null
}

/** Marks a head as exported. */
export const markHeadExported = async ({ prisma }: Database, { seal }: Head, at: Date): Promise<void> =>
  void (await prisma.eventSeal.updateMany({ where: { id: BigInt(seal) }, data: { exportedAt: at } }))
