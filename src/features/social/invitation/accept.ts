import type { Visit } from '../../../auth/access/visit.ts'
import { invitedAccount } from '../../../auth/sign-in/decisions.ts'
import { recordEvent } from '../../../identity/events.ts'
import { acceptInvitation, findInvitation, type Invitation } from '../../../identity/invitations.ts'
import type { Opened } from '../account.ts'
import { socialFailure } from '../failure.ts'
import { applyGroups, applyProfile } from '../profile-parts.ts'
import type { SocialProvider } from '../providers/provider.ts'
import { FactsChanged, retryOnChange } from '../retry-on-change.ts'
import { insertLink, ownerOf, type StoredIdentity } from '../store.ts'

interface Acceptance {
  provider: SocialProvider
  identity: StoredIdentity
  token: string
}

/**
 * Creates the account of an invitation and links the identity to it. The address of the identity does not matter, because
 * the invitation proves the invited one. Throws if the identity has an account, or the invitation is not valid any more;
 * a refusal does not use the invitation up.
 */
export async function acceptWithIdentity(visit: Visit, { provider, identity, token }: Acceptance): Promise<Opened> {
  const origin = visit.origin
  const { database, config } = visit.app
  await askBefore(visit, { provider, identity, token })
  return retryOnChange(database, async (tx) => {
    if (await ownerOf(tx, identity)) throw socialFailure('account_exists', 'linked to another user')
    const invitation = await findInvitation({ database: { prisma: tx }, config }, token, origin.now)
    if (!invitation) throw socialFailure('expired', 'the invitation is invalid')
    const name = nameOf(invitation, identity)
    const user = await acceptInvitation({ config, database }, tx, origin, { token, name, password: null })
    if (user === 'invalid') throw new FactsChanged()
    if (user === 'taken') throw socialFailure('account_exists', 'the invited address has an account')
    if (!(await insertLink(tx, user.id, identity, origin.now))) throw new FactsChanged()
    await applyGroups(visit, tx, user.id, identity)
    await applyProfile(visit, tx, user.id, identity)
    await recordEvent(tx, origin, { type: 'social_linked', userId: user.id, data: { provider: provider.id } })
    return { user, password: null, isNewAccount: true }
  })
}

const nameOf = ({ name, email }: Pick<Invitation, 'name' | 'email'>, identity: StoredIdentity): string =>
  name ?? identity.name ?? email.slice(0, email.lastIndexOf('@'))

/** Asks the hook before_registration, if the invitation is valid. */
async function askBefore(visit: Visit, { provider, identity, token }: Acceptance): Promise<void> {
  const { app, origin } = visit
  const invitation = await findInvitation(app, token, origin.now)
  if (!invitation) return
  const name = nameOf(invitation, identity)
  await app.decisions.registration(visit, invitedAccount({ name, email: invitation.email, method: provider.id }))
}
