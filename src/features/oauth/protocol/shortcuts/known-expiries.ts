import Provider from 'oidc-provider'
import { takes } from './shortcuts.ts'

/** Expiry (Unix ms) of the session and grant rows that a request has read or saved or will save, by the key of the row. */
const known = new WeakMap<object, Map<string, number>>()

/** Remembers for this request when a row expires. Safe, because other requests only extend it. */
export function noteExpiry(key: string, expiresAt: number): void {
  const { ctx } = Provider
  if (!ctx) return
  const expiries: Map<string, number> = known.get(ctx) ?? new Map()
  known.set(ctx, expiries.set(key, expiresAt))
}

/** Returns when a row expires, or 0 if this request has not seen it. */
export const knownExpiry = (key: string): number => (Provider.ctx && known.get(Provider.ctx)?.get(key)) ?? 0

/** Tests whether this request knows that a row lasts until a time (Unix ms). */
export const lastsUntil = (key: string, time: number): boolean => takes('known-expiries') && knownExpiry(key) >= time
