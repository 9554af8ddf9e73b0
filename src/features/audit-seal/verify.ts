import { type Head, headOf } from '../../identity/event-heads.ts'
import { sha256Hex } from '../../platform/crypto/hash.ts'
import { isRepeatable } from '../../platform/event-types.ts'
import type { EventSeal } from '../../platform/generated/postgresql/client.ts'
import { type Body, beginning, bodyOf } from './chain.ts'
import { isAsSealed, ownersOf } from './entry.ts'
import { type HeadKeys, isSigned } from './signing-key.ts'
import {
  deletedUsers,
  type EventKind,
  eventsBetween,
  eventsOf,
  keysOf,
  lastSeal,
  type Reader,
  sealsAfter,
  sealsWithNewKey,
} from './store.ts'

/** What a verification found. */
export interface Verified {
  /** The first break, as a sentence; null for an intact chain. */
  problem: string | null
  /** Numbers of seals and events that were checked before the break. */
  seals: number
  events: number
  /** The last seal that was checked. */
  last: EventSeal | null
}

/** The chain breaks here. */
class Break extends Error {}

const kinds: readonly EventKind[] = ['plain', 'repeats']

/** Seals that are read at once. */
const batch = 20

/** Events of one seal, or between two, that are read at once. */
const maxEvents = 2_000

/** Compares the events with the chain, from the first seal on. `head` is a head that was exported or kept elsewhere. */
export async function verifyChain(reader: Reader, keys: HeadKeys, head: Head | null): Promise<Verified> {
  const found: Verified = { problem: null, seals: 0, events: 0, last: null }
  try {
    await verifySeals(reader, keys, found)
    await verifyHead(reader, head, found)
  } catch (error) {
    if (!(error instanceof Break)) throw error
    found.problem = error.message
  }
  return found
}

async function verifySeals(reader: Reader, keys: HeadKeys, found: Verified): Promise<void> {
  const { checkpoint, trusted } = await survey(reader, keys)
  const deleted = await deletedUsers(reader)
  let before: Body | null = null
  for (;;) {
    const seals = await sealsAfter(reader, found.last?.id ?? 0n, batch)
    for (const seal of seals) {
      const body = readBody(seal)
      checkLink(seal, body, { before, hash: found.last?.hash ?? '', checkpoint })
      if (!trusted.has(seal.key) || !isSigned(headOf(seal)))
        throw new Break(`The signature of the seal ${seal.id} is wrong, or of another app.secret.`)
      found.events += await checkEvents(reader, seal, body, { checkpoint, deleted })
      // The first seal that is left covers nothing of what retention deleted.
      await checkNothingElse(reader, body, before ?? (body.seal === 1 ? beginning : null))
      found.seals++
      found.last = seal
      before = body
    }
    if (seals.length < batch) return
  }
}

/** The last checkpoint, and the keys that signed the chain: those of `app.secret`, and those that they vouch for. */
async function survey(reader: Reader, keys: HeadKeys): Promise<{ checkpoint: Body; trusted: ReadonlySet<string> }> {
  // Each seal repeats the checkpoint of the one before.
  const last = await lastSeal(reader)
  const trusted = new Set(keys.all)
  for (const seal of (await sealsWithNewKey(reader)).reverse()) {
    const { former_key } = readBody(seal)
    if (former_key !== null && trusted.has(seal.key) && isSigned(headOf(seal))) trusted.add(former_key)
  }
  return { checkpoint: last ? readBody(last) : beginning, trusted }
}

function readBody(seal: EventSeal): Body {
  if (sha256Hex(seal.body) !== seal.hash) throw new Break(`The seal ${seal.id} was changed: its hash does not fit.`)
  const body = bodyOf(seal)
  if (BigInt(body.seal) !== seal.id) throw new Break(`The seal ${seal.id} was moved: it was number ${body.seal}.`)
  return body
}

/** The seal before, and its hash. */
interface Link {
  before: Body | null
  hash: string
  checkpoint: Body
}

function checkLink({ id }: EventSeal, body: Body, { before, hash, checkpoint }: Link): void {
  if (!before) {
    if (body.seal > checkpoint.first_seal)
      throw new Break(
        `The seals before ${id} were deleted. The last checkpoint begins with the seal ${checkpoint.first_seal}.`,
      )
    if (body.seal === 1 && body.previous !== '') throw new Break('The seal 1 was replaced.')
    return
  }
  if (body.seal !== before.seal + 1) throw new Break(`The seal ${before.seal + 1} was deleted.`)
  if (body.previous !== hash)
    throw new Break(`The seal ${before.seal} was replaced: the seal ${id} follows another one.`)
  const isContinued = kinds.every((kind) => body[kind][0] === before[kind][1])
  if (!isContinued || body.retained_since < before.retained_since)
    throw new Break(`The seal ${id} does not continue the seal before it.`)
}

async function checkEvents(
  reader: Reader,
  { id }: EventSeal,
  body: Body,
  { checkpoint, deleted }: { checkpoint: Body; deleted: ReadonlySet<number> },
): Promise<number> {
  const ids = body.events.map(([event]) => BigInt(event))
  const found = await eventsOf(reader, ids)
  const rows = new Map(found.map((row) => [String(row.id), row]))
  const owners = found.flatMap((row) => Object.values(ownersOf(row)).filter((owner) => owner !== null))
  const keys = await keysOf(reader, owners)
  for (const entry of body.events) {
    const [event, createdAt] = entry
    const row = rows.get(event)
    if (!row && createdAt >= checkpoint.retained_since) throw new Break(`The event ${event} was deleted (seal ${id}).`)
    if (row && !isAsSealed(row, entry, { keys, deleted }))
      throw new Break(`The event ${event} was changed (seal ${id}).`)
  }
  return rows.size
}

/** Throws for an event that the seal covers and does not have. `before` is null if earlier seals were deleted. */
async function checkNothingElse(reader: Reader, body: Body, before: Body | null): Promise<void> {
  const sealed = new Set(body.events.map(([event]) => event))
  for (const kind of kinds) {
    // Nothing is left of what earlier seals covered, or has an id below the first.
    const after = before === null || body.seal === 1 ? -(2n ** 62n) : BigInt(body[kind][0])
    const rows = await eventsBetween(reader, kind, { after, until: BigInt(body[kind][1]), take: maxEvents })
    const inserted = rows.find((row) => !sealed.has(String(row.id)) || isRepeatable(row.type) !== (kind === 'repeats'))
    if (inserted) throw new Break(`The event ${inserted.id} was inserted (seal ${body.seal}).`)
  }
}

async function verifyHead(reader: Reader, head: Head | null, { last }: Verified): Promise<void> {
  if (!head) return
  const end = Number(last?.id ?? 0)
  if (head.seal > end)
    throw new Break(`The end of the chain was cut: it ends with the seal ${end}, and the head is number ${head.seal}.`)
  const [seal] = await sealsAfter(reader, BigInt(head.seal) - 1n, 1)
  // A signed checkpoint says that retention has deleted it otherwise.
  const isKept = seal && Number(seal.id) === head.seal
  if (isKept && seal.hash !== head.hash)
    throw new Break(`The chain was replaced: its seal ${head.seal} is not that of the head.`)
}
