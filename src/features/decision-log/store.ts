import type { DecisionKind } from '../../auth/sign-in/decision-log.ts'
import type { Cipher } from '../../platform/crypto/cipher.ts'
import { deriveCipher } from '../../platform/crypto/keys.ts'
import { deleteOutdated } from '../../platform/database/batches.ts'
import type { Database } from '../../platform/database/database.ts'
import { deflate, inflate } from './compression.ts'

declare module '../../platform/crypto/keys.ts' {
  interface CipherPurposes {
    decisions: true
  }
}

/** Equal decisions that were made within a few seconds. */
export interface RecordedDecision {
  kind: DecisionKind
  /** Unix milliseconds of the last one. */
  at: number
  count: number
  /** As the deciding feature recorded them. */
  facts: unknown
}

/** Decisions as one row holds them. */
export interface Batch {
  decisions: RecordedDecision[]
  /** Number of decisions that were not recorded: there were too many, or the database did not answer. */
  missed: number
}

/** What the ciphertext of every batch belongs to. */
const context = 'decisions'

const cipherOf = (secrets: readonly string[]): Cipher => deriveCipher(secrets, 'decisions')

/** Stores a batch, compressed and encrypted: paths and addresses are personal data. */
export async function saveBatch(
  { prisma }: Database,
  secrets: readonly string[],
  batch: Batch,
  now: number,
): Promise<void> {
  const decisions = cipherOf(secrets).encryptBytes(await deflate(JSON.stringify(batch)), context)
  await prisma.decisionBatch.create({ data: { decisions, recordedAt: new Date(now) } })
}

/** Rows that are read at once. */
const readSize = 20

/** Reads the batches since a time, the earliest first. Null for a batch that no secret decrypts. */
export async function* batchesSince(
  { prisma }: Database,
  secrets: readonly string[],
  since: number,
): AsyncGenerator<Batch | null> {
  const cipher = cipherOf(secrets)
  let last = 0n
  for (;;) {
    const where = { id: { gt: last }, recordedAt: { gte: new Date(since) } }
    const rows = await prisma.decisionBatch.findMany({ where, orderBy: { id: 'asc' }, take: readSize })
    for (const row of rows) {
      const bytes = cipher.decryptBytes(row.decisions, context)
      // Sound: only svc can encrypt a batch.
      yield bytes && (JSON.parse(await inflate(bytes)) as Batch)
    }
    last = rows.at(-1)?.id ?? last
    if (rows.length < readSize) return
  }
}

/** Deletes the batches from before a time. */
export async function deleteBatches(database: Database, before: number): Promise<void> {
  await deleteOutdated(database, { table: 'decision_batches', date: 'recorded_at', before: new Date(before) })
}
