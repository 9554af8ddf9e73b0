import { callerOf } from '../../../auth/access/caller.ts'
import type { Visit } from '../../../auth/access/visit.ts'
import { findUserById } from '../../../identity/users.ts'
import { isPassword } from '../../../platform/crypto/stored-password.ts'
import { HttpError, unauthenticated } from '../../../platform/errors.ts'
import type { FlowRequest } from '../flow-request.ts'
import type { SocialProvider } from '../providers/provider.ts'
import { isLinked } from '../store.ts'

const texts = {
  hasPassword: 'This account has a password. Confirm it with POST /user/confirm-password.',
  noTime: 'This provider does not prove when its user signed in. Confirm in another way.',
  notLinked: 'No account at this provider is linked to yours.',
} as const

const refused = (why: keyof typeof texts) => new HttpError(400, 'access_denied', texts[why])

/**
 * Returns the flow that confirms the user of this session at a provider. Throws 400 unless the account has no password,
 * the provider proves the time of a sign-in, and an account there is linked.
 */
export async function confirmationFlow(
  visit: Visit,
  provider: SocialProvider,
  place: Pick<FlowRequest, 'mode' | 'returnTo'>,
): Promise<FlowRequest> {
  const { database } = visit.app
  const { user, credentialId } = callerOf(visit)
  const found = user && (await findUserById(database, user.id))
  if (!found) throw unauthenticated()
  if (isPassword(found.password)) throw refused('hasPassword')
  if (!provider.provesTime) throw refused('noTime')
  if (!(await isLinked(database, found.user.id, provider.id))) throw refused('notLinked')
  return { intent: 'confirm', isReauthentication: true, deviceName: null, session: credentialId, ...place }
}
