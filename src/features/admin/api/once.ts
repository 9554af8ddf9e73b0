/** Describes the header `Idempotency-Key` of an operation. */
export const once =
  'A request with the same `Idempotency-Key` and body within 24 hours returns the record of the first one, with the header `Idempotent-Replayed`.'

export const replayHeaders = {
  'Idempotent-Replayed': { type: 'string', description: '`true` if an earlier request created the record.' },
}
