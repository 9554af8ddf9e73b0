import { decodeProtectedHeader } from 'jose'
import Provider from 'oidc-provider'
import type { Clock } from '../../../../clock.ts'
import { patch } from './patch.ts'

/** The keys of a client that the library fetches from its `jwks_uri`; the types leave them out. */
interface FetchedKeys extends Iterable<{ kid?: string }> {
  /** Unix seconds; absent before the first time, and for keys that the configuration holds. */
  freshUntil?: number
  /** The call that is under way. */
  lock?: Promise<void>
  fresh(): boolean
  refresh(): Promise<void>
}

/** How many seconds svc waits before it fetches the keys of a client again. */
const pause = 10

/**
 * Fetches the keys of a client again as soon as one of its assertions names an unknown one, and when they are stale; at
 * most every ten seconds. By itself the library keeps what it has until an assertion fails after a minute: a new key
 * waits, and a withdrawn one goes on working.
 */
export function renewClientKeys(provider: Provider, clock: Clock): void {
  const fetchedAt = new WeakMap<object, number>()
  const findWithKeys = (find: Provider['Client']['find']) => async (id: string) => {
    const client = await find(id)
    const assertion = Provider.ctx?.oidc.params?.client_assertion
    const keys = client && (Reflect.get(client, 'asymmetricKeyStore') as FetchedKeys)
    // The first time is the library's.
    if (keys?.freshUntil !== undefined && typeof assertion === 'string') await renew(keys, assertion)
    return client
  }
  patch(provider, ['Client', 'find'], 'fetches keys again when an assertion names an unknown one', findWithKeys)

  async function renew(keys: FetchedKeys, assertion: string): Promise<void> {
    const kid = kidOf(assertion)
    const isKnown = kid === undefined || [...keys].some((key) => key.kid === kid)
    const now = clock.now()
    const last = fetchedAt.get(keys)
    if ((isKnown && keys.fresh()) || (last !== undefined && now - last < pause * 1000)) return keys.lock
    fetchedAt.set(keys, now)
    keys.freshUntil = 0
    try {
      await keys.refresh()
    } catch {
      // The keys that are there go on working while the client's server is down.
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
