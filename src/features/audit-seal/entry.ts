import { createHmac } from 'node:crypto'
import { sha256Base64url } from '../../platform/crypto/hash.ts'
import type { Event as EventRow } from '../../platform/generated/postgresql/client.ts'

/** Keys of users by id, for the personal data in their events. */
export type UserKeys = ReadonlyMap<number, string>

/**
 * What a seal has of an event: its id, its creation in Unix milliseconds, the hash of everything else, and commitments to the
 * parts with personal data. A commitment begins with the owners of its keys: `o` for the user of the event, `a` for the actor.
 */
export type Entry = readonly [
  id: string,
  createdAt: number,
  hash: string,
  origin: string | null,
  reason: string | null,
  data: string | null,
]

const hashOf = (value: unknown): string => sha256Base64url(JSON.stringify(value))

/** Ids of the users whose deletion clears parts of an event: its user, and the one who caused it. */
export function ownersOf({ userId, actor }: Pick<EventRow, 'userId' | 'actor'>): {
  o: number | null
  a: number | null
} {
  const [, id] = /^user:(\d{1,15})$/.exec(actor ?? '') ?? []
  return { o: userId === null ? null : Number(userId), a: id === undefined ? null : Number(id) }
}

/** Parts of an event that a deletion of a user clears: by whose deletion, and their values. Null for a part without a value. */
function partsOf(row: EventRow): { owners: 'oa' | 'o'; value: unknown }[] {
  const { ipAddress, userAgent, credential, reason, data } = row
  const origin = [ipAddress, userAgent, credential]
  return [
    { owners: 'oa', value: origin.every((one) => one === null) ? null : origin },
    { owners: 'o', value: reason },
    // The names of credentials and of the user: `clearEventsOf` replaces such data by an empty object.
    { owners: 'o', value: data.includes('"name":') ? data : null },
  ]
}

/** What deletion leaves of each part. */
const isCleared = (value: unknown): boolean => value === null

/** Returns a commitment that only someone with the keys of these owners can compute, or null if none of them has a key. */
function commitmentTo(
  value: unknown,
  row: EventRow,
  letters: string,
  { keys, place }: { keys: UserKeys; place: number },
): string | null {
  const owners = ownersOf(row)
  const used = (['o', 'a'] as const).flatMap((letter) => {
    const id = letters.includes(letter) ? owners[letter] : null
    const key = id === null ? undefined : keys.get(id)
    return key === undefined ? [] : [{ letter, key }]
  })
  if (used.length === 0) return null
  const mac = createHmac('sha256', used.map(({ key }) => key).join(' ')).update(
    JSON.stringify([String(row.id), place, value]),
  )
  return `${used.map(({ letter }) => letter).join('')}:${mac.digest('base64url')}`
}

/** Everything of an event that no deletion changes, and its other parts as given. */
const contentOf = (row: EventRow, parts: readonly unknown[], hasNames: boolean): unknown[] => [
  ...[row.type, row.userId === null ? null : String(row.userId), row.actor, row.target, row.clientId, row.requestId],
  ...[row.repeats, row.lastAt === null ? null : row.lastAt.getTime()],
  hasNames ? null : row.data,
  ...parts,
]

/** Returns the entry of an event. Parts without a key are not personal, and count as they are. */
export function entryOf(row: EventRow, keys: UserKeys): Entry {
  const parts = partsOf(row)
  const [origin = null, reason = null, data = null] = parts.map(({ owners, value }, place) =>
    isCleared(value) ? null : commitmentTo(value, row, owners, { keys, place }),
  )
  const commitments = [origin, reason, data]
  const hash = hashOf(
    contentOf(
      row,
      parts.map(({ value }, at) => commitments[at] ?? value),
      data !== null,
    ),
  )
  return [String(row.id), row.createdAt.getTime(), hash, origin, reason, data]
}

/** Who was deleted, according to the audit trail. */
export interface Deletions {
  keys: UserKeys
  deleted: ReadonlySet<number>
}

/** Tests whether an event is as it was when it was sealed, apart from what the deletion of its users removed. */
export function isAsSealed(row: EventRow, entry: Entry, { keys, deleted }: Deletions): boolean {
  const [id, createdAt, hash, ...commitments] = entry
  if (id !== String(row.id) || createdAt !== row.createdAt.getTime()) return false
  const owners = ownersOf(row)
  const parts = partsOf(row)
  const values: unknown[] = []
  for (const [place, { value }] of parts.entries()) {
    const commitment = commitments[place] ?? null
    if (commitment === null) {
      values.push(value)
      continue
    }
    const letters = commitment.slice(0, commitment.indexOf(':'))
    const ids = [...letters].map((letter) => owners[letter === 'a' ? 'a' : 'o'])
    const isGone = ids.some((one) => one !== null && !keys.has(one) && deleted.has(one))
    const isValid = isGone ? isCleared(value) : commitmentTo(value, row, letters, { keys, place }) === commitment
    if (!isValid) return false
    values.push(commitment)
  }
  const hadNames = (commitments[2] ?? null) !== null
  // Deletion replaces data with names by an empty object.
  if (hadNames && isCleared(parts[2]?.value) && row.data !== '{}') return false
  return hashOf(contentOf(row, values, hadNames)) === hash
}
