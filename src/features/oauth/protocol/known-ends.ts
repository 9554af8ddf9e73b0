import Provider from 'oidc-provider'

/** Ends (unix ms) of the sessions and grants that a request has read or saved, or will save, by the key of the row. */
const known = new WeakMap<object, Map<string, number>>()

/** Remembers for this request when a row ends. Other requests only extend it. */
export function noteEnd(key: string, end: number): void {
  const { ctx } = Provider
  if (!ctx) return
  const ends: Map<string, number> = known.get(ctx) ?? new Map()
  known.set(ctx, ends.set(key, end))
}

/** When a row ends, as far as this request knows; 0 if it does not. */
export const knownEnd = (key: string): number => (Provider.ctx && known.get(Provider.ctx)?.get(key)) ?? 0

/** Tests whether a row lasts until a time, as far as this request knows. */
export const lastsUntil = (key: string, time: number): boolean => knownEnd(key) >= time
