import { decodeProtectedHeader } from 'jose'
import Provider from 'oidc-provider'
import type { Clock } from '../../../../platform/clock.ts'
import { patch } from './patch.ts'

/** Keys of a client that the library fetches from its `jwks_uri`. Missing from the library's types. */
interface FetchedKeys extends Iterable<{ kid?: string }> {
  jwksUri?: string
  /** Unix seconds; undefined before the first fetch. */
  freshUntil?: number
  /** The pending request. */
  lock?: Promise<void>
  fresh(): boolean
  refresh(): Promise<void>
}

/** Minimum interval between two fetches of a client's keys, in seconds. */
const pause = 10

/**
 * Fetches the keys of a client again when an assertion names an unknown key, and when they are stale, at most every ten
 * seconds. The library alone fetches them when an assertion fails and its copy is older than a minute. Until then, new
 * keys would not work and withdrawn ones would.
 */
export function renewClientKeys(provider: Provider, clock: Clock): void {
  const fetchedAt = new WeakMap<object, number>()
  const findWithKeys = (find: Provider['Client']['find']) => async (id: string) => {
    const client = await find(id)
    const assertion = Provider.ctx?.oidc.params?.client_assertion
    const keys = client && (Reflect.get(client, 'asymmetricKeyStore') as FetchedKeys)
    // Also the first time, because the library would fetch again for each request after a failure.
    if (keys?.jwksUri !== undefined && typeof assertion === 'string') await renew(keys, assertion)
    return client
  }
  patch(provider, ['Client', 'find'], 'fetches keys again when an assertion names an unknown one', findWithKeys)

  async function renew(keys: FetchedKeys, assertion: string): Promise<void> {
    const kid = kidOf(assertion)
    const isKnown = kid === undefined || [...keys].some((key) => key.kid === kid)
    const now = clock.now()
    const last = fetchedAt.get(keys)
    if ((isKnown && keys.fresh()) || (last !== undefined && now - last < pause * 1000)) {
      return keys.lock?.catch(() => undefined)
    }
    // A key may be new just after the first fetch.
    if (keys.freshUntil !== undefined) {
      fetchedAt.set(keys, now)
      keys.freshUntil = 0
    }
    try {
      await keys.refresh()
    } catch {
      fetchedAt.set(keys, now)
      // The existing keys continue to work while the client's server is unavailable.
      keys.freshUntil = Math.floor(Date.now() / 1000) + pause
    }
  }
}

function kidOf(jwt: string): string | undefined {
  try {
    return decodeProtectedHeader(jwt).kid
  } catch {
    return undefined
  }
}
