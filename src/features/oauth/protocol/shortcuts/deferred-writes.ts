import Provider, { type Client } from 'oidc-provider'
import type { NewRecord, Owner } from '../../records/records.ts'
import { takes } from './shortcuts.ts'

/** A new grant of a browser session, to be inserted together with its code. */
interface DeferredGrant {
  owner: Owner
  record: NewRecord
}

/** The use of a code or refresh token, to be written together with the refresh token that replaces it. */
interface DeferredUse {
  kind: string
  /** Key of the record. */
  id: string
}

/** Writes that requests have deferred to their next write, so that one statement makes both. */
const grants = new WeakMap<object, DeferredGrant>()
const uses = new WeakMap<object, DeferredUse>()

/** Routes that can issue a code. */
const issuing = new Set(['authorization', 'resume'])

/** Whether a client gets a refresh token for a code. */
const mayRefresh = (client: Client): boolean => client.grantTypeAllowed('refresh_token')

/** Defers the insertion of a grant until its code is inserted; false if this request issues no code. */
export function deferGrant(grant: DeferredGrant): boolean {
  const { ctx } = Provider
  if (!takes('deferred-writes') || !ctx || !issuing.has(ctx.oidc.route)) return false
  grants.set(ctx, grant)
  return true
}

/** Returns the deferred grant of this request and clears it. The caller must insert it. */
export const takeDeferredGrant = (): DeferredGrant | null => take(grants)

/**
 * Defers the use of a code or refresh token until the refresh token that replaces it is inserted; false if this request
 * issues none. The request makes no other write before that.
 */
export function deferUse(use: DeferredUse): boolean {
  const { ctx } = Provider
  if (!takes('deferred-writes') || ctx?.oidc.route !== 'token' || !ctx.oidc.client || !mayRefresh(ctx.oidc.client))
    return false
  uses.set(ctx, use)
  return true
}

/** Returns the deferred use of this request and clears it. The caller must write it. */
export const takeDeferredUse = (): DeferredUse | null => take(uses)

function take<Deferred>(all: WeakMap<object, Deferred>): Deferred | null {
  const { ctx } = Provider
  const found = ctx && all.get(ctx)
  if (ctx) all.delete(ctx)
  return found ?? null
}
