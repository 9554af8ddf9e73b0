import Provider, { type Client } from 'oidc-provider'
import type { NewRecord } from './store.ts'

/** A new grant of a browser session (public id), which its code is written with. */
interface HeldGrant {
  owner: string
  record: NewRecord
}

/** A code or refresh token that the next refresh token of the request uses up. */
interface HeldUse {
  kind: string
  /** Key of the record. */
  id: string
}

/** Writes that a request holds back for its next one, so that both are one statement. */
const grants = new WeakMap<object, HeldGrant>()
const uses = new WeakMap<object, HeldUse>()

/** Routes that answer with a code, if they do not ask the user something first. */
const issuing = new Set(['authorization', 'resume'])

/** Whether a client gets a refresh token for a code. */
export const mayRefresh = (client: Client): boolean => client.grantTypeAllowed('refresh_token')

/** Keeps a new grant for the write of its code; false if the request has none. */
export function holdGrant(grant: HeldGrant): boolean {
  const { ctx } = Provider
  if (!ctx || !issuing.has(ctx.oidc.route)) return false
  grants.set(ctx, grant)
  return true
}

/** The grant that this request keeps. The caller writes it. */
export const takeGrant = (): HeldGrant | null => taken(grants)

/**
 * Keeps the use of a code or refresh token for the write of the refresh token that replaces it; false if none follows.
 * Until then, nothing else of the request has an effect.
 */
export function holdUse(use: HeldUse): boolean {
  const { ctx } = Provider
  if (ctx?.oidc.route !== 'token' || !ctx.oidc.client || !mayRefresh(ctx.oidc.client)) return false
  uses.set(ctx, use)
  return true
}

/** The use that this request keeps. The caller writes it. */
export const takeUse = (): HeldUse | null => taken(uses)

function taken<Held>(all: WeakMap<object, Held>): Held | null {
  const { ctx } = Provider
  const found = ctx && all.get(ctx)
  if (ctx) all.delete(ctx)
  return found ?? null
}
