import { requireUser } from '../../auth/access/caller.ts'
import type { Visit } from '../../auth/access/visit.ts'
import type { Static } from '../../platform/json-schema.ts'
import type { PasskeySignals } from './schemas.ts'
import { findUserHandle, listCredentials } from './store.ts'

/**
 * Returns what to tell the browser about the user's passkeys (WebAuthn section 5.1.10). Without a user handle, no
 * authenticator has a passkey of the user.
 */
export async function passkeySignals(visit: Visit): Promise<Static<typeof PasskeySignals>> {
  const { config, database } = visit.app
  const user = requireUser(visit)
  const userId = await findUserHandle(database, user.id)
  if (userId === null) return { all_accepted_credentials: null, current_user_details: null }
  const { rp_id: rpId } = config.current().passkeys
  const credentials = await listCredentials(database, user.id)
  return {
    all_accepted_credentials: { rpId, userId, allAcceptedCredentialIds: credentials.map(({ id }) => id) },
    current_user_details: { rpId, userId, name: user.email, displayName: user.name },
  }
}
