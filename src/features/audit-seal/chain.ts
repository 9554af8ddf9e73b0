import { headOf } from '../../identity/event-heads.ts'
import { sha256Hex } from '../../platform/crypto/hash.ts'
import type { EventSeal } from '../../platform/generated/postgresql/client.ts'
import type { Entry } from './entry.ts'
import { type HeadKeys, isSigned } from './signing-key.ts'
import type { EventKind } from './store.ts'

/** Ids of events from which, exclusive, and up to which a seal has all of a kind. */
type Span = readonly [after: string, until: string]

/** What a seal contains. */
export interface Body extends Record<EventKind, Span> {
  seal: number
  /** Hash of the previous seal; empty in the first one. */
  previous: string
  /** Creation of its latest event, in Unix milliseconds; 0 without events. */
  latest: number
  events: readonly Entry[]
  /** Checkpoint: events from before this time, in Unix milliseconds, were deleted after `audit.retention`. */
  retained_since: number
  /** The public key that signed the seals before this one, if it is another. The key of this seal vouches for it. */
  former_key: string | null
  /** Checkpoint: seals before this one were deleted with their events. Its `previous` is the hash of a deleted seal. */
  first_seal: number
}

const none: Span = ['0', '0']

/** The body before the first seal. */
export const beginning: Body = {
  ...{ seal: 0, previous: '', latest: 0, events: [], plain: none, repeats: none },
  ...{ retained_since: 0, first_seal: 1, former_key: null },
}

/** Reads the body of a seal. Throws for a text that svc did not write. */
export const bodyOf = ({ body }: Pick<EventSeal, 'body'>): Body => JSON.parse(body)

/** Makes the seal that follows another. Throws if none of the keys signed that one. */
export function nextSeal(
  last: EventSeal | null,
  changes: Partial<Body>,
  { keys, now }: { keys: HeadKeys; now: number },
): Omit<EventSeal, 'exportedAt'> {
  if (last && !(keys.all.includes(last.key) && sha256Hex(last.body) === last.hash && isSigned(headOf(last))))
    throw new Error(`The signature of the seal ${last.id} is wrong, or of an app.secret that was removed.`)
  const before = last ? bodyOf(last) : beginning
  const seal = before.seal + 1
  const former_key = last && last.key !== keys.all[0] ? last.key : null
  const spans = { plain: [before.plain[1], before.plain[1]], repeats: [before.repeats[1], before.repeats[1]] } as const
  const next: Body = {
    ...before,
    ...spans,
    events: [],
    latest: 0,
    ...changes,
    seal,
    previous: last?.hash ?? '',
    former_key,
  }
  const body = JSON.stringify(next)
  const hash = sha256Hex(body)
  const sealedAt = new Date(now)
  const { signature, key } = keys.sign({ seal, hash, sealed_at: sealedAt.toISOString() })
  return { id: BigInt(seal), body, hash, signature, key, sealedAt }
}
