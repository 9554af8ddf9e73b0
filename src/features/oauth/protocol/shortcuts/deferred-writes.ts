import Provider from 'oidc-provider'
import type { NewRecord, Owner } from '../../records/records.ts'
import { takes } from './shortcuts.ts'

/** A new grant of a browser session, to be inserted together with its code. */
interface DeferredGrant {
  owner: Owner
  record: NewRecord
}

/** Grants that requests have deferred to the insertion of their code, so that one statement makes both. */
const grants = new WeakMap<object, DeferredGrant>()

/** Routes that can issue a code. */
const issuing = new Set(['authorization', 'resume'])

/** Defers the insertion of a grant until its code is inserted; false if this request issues no code. */
export function deferGrant(grant: DeferredGrant): boolean {
  const { ctx } = Provider
  if (!takes('deferred-writes') || !ctx || !issuing.has(ctx.oidc.route)) return false
  grants.set(ctx, grant)
  return true
}

/** Returns the deferred grant of this request and clears it. The caller must insert it. */
export function takeDeferredGrant(): DeferredGrant | null {
  const { ctx } = Provider
  const found = ctx && grants.get(ctx)
  if (ctx) grants.delete(ctx)
  return found ?? null
}
