import type { Visit } from '../../auth/access/visit.ts'
import { requireStillSignedIn } from '../../auth/sign-in/still-signed-in.ts'
import { newAttributes } from '../../identity/attributes.ts'
import { recordEvent } from '../../identity/events.ts'
import { lockUser, lockUserByEmail } from '../../identity/lock.ts'
import { notify } from '../../identity/notices.ts'
import {
  clearPassword,
  createUser,
  findUserByEmail,
  findUserById,
  isAddressInDoubt,
  markVerified,
  type UserWithPassword,
} from '../../identity/users.ts'
import { isPassword } from '../../platform/crypto/stored-password.ts'
import type { Tx } from '../../platform/database/database.ts'
import { isAllowedDomain } from '../../platform/http/allowed-domains.ts'
import { decideLink, type LinkDecision, type LinkFacts } from './decide-link.ts'
import { type SocialFailure, socialFailure } from './failure.ts'
import { applyGroups, applyProfile } from './profile-parts.ts'
import type { SocialProvider } from './providers/provider.ts'
import { FactsChanged, retryOnChange } from './retry-on-change.ts'
import { insertLink, noteUse, ownerOf, type StoredIdentity } from './store.ts'

/** The account, and whether this request created it. */
export interface Opened extends UserWithPassword {
  isNewAccount: boolean
}

interface SignInFacts {
  provider: SocialProvider
  identity: StoredIdentity
  asker: LinkFacts['asker']
  /** Whether the hook before_registration has allowed a new account. */
  mayRegister?: boolean
}

/** The transaction needs the answer of the hook before_registration, which must not be awaited within it. */
class RegistrationUndecided extends Error {}

/**
 * Applies the decision for an identity in one transaction and returns the account. Throws if the decision is a refusal.
 */
export async function openAccount(visit: Visit, facts: SignInFacts): Promise<Opened> {
  const open = (asked: SignInFacts) => retryOnChange(visit.app.database, (tx) => decideAndApply(visit, tx, asked))
  try {
    // Without the hook, the first transaction may create the account.
    return await open({ ...facts, mayRegister: !visit.app.config.current().hooks.before_registration })
  } catch (error) {
    if (!(error instanceof RegistrationUndecided)) throw error
    const { identity, provider } = facts
    await visit.app.decisions.registration(visit, {
      ...newAccount(identity),
      ...{ username: null, fields: {}, method: provider.id, isInvited: false },
    })
    return open({ ...facts, mayRegister: true })
  }
}

/** Names and address of a new account of an identity. */
function newAccount({ email: found, name, given_name = null, family_name = null }: StoredIdentity) {
  const email = found?.address ?? ''
  return { email, name: name ?? email.slice(0, email.lastIndexOf('@')), given_name, family_name }
}

const isByAddress = (code: SocialFailure): boolean =>
  code === 'email_missing' || code === 'email_unverified' || code === 'account_exists'

async function decideAndApply(visit: Visit, tx: Tx, facts: SignInFacts): Promise<Opened> {
  const { database, config } = visit.app
  const { identity, asker } = facts
  const db = { prisma: tx }
  const linked = await ownerOf(tx, identity)
  const owner = linked && (await findUserById(db, linked.userId))
  const isByEmail = !asker && !owner && identity.email !== null
  if (isByEmail) await lockUserByEmail(database, tx, identity.email?.address ?? '')
  const account = isByEmail ? await findUserByEmail(db, identity.email?.address ?? '') : null
  const decision = decideLink({
    asker,
    owner: owner && {
      userId: owner.user.id,
      disabled: owner.user.disabled,
      hasPassword: isPassword(owner.password),
    },
    email: identity.email,
    account: account && {
      userId: account.user.id,
      verified: account.user.email_verified_at !== null,
      claimable: !(await isAddressInDoubt(tx, account.user.id, visit.origin.now)),
      disabled: account.user.disabled,
    },
    registrationEnabled: config.current().registration.enabled,
  })
  if (decision.action === 'refuse') {
    const isAboutAddress = isByAddress(decision.code)
    const code = isAboutAddress && !identity.isComplete ? 'provider_error' : decision.code
    throw socialFailure(code, (isAboutAddress && identity.emailProblem) || undefined)
  }
  if (asker) await requireStillSignedIn(tx, visit)
  const userId = decision.action === 'create' ? await create(visit, tx, facts) : decision.userId
  await lockUser(database, tx, userId)
  if (linked) {
    if (!(await noteUse(tx, linked.id, identity, visit.origin.now))) throw new FactsChanged()
  } else {
    await link(visit, tx, facts, { userId, decision })
  }
  await applyGroups(visit, tx, userId, identity)
  await applyProfile(visit, tx, userId, identity)
  const found = await findUserById(db, userId)
  if (!found) throw new FactsChanged()
  return { ...found, isNewAccount: decision.action === 'create' }
}

/** Creates an account for a new user. */
async function create(visit: Visit, tx: Tx, { identity, provider, mayRegister = false }: SignInFacts): Promise<number> {
  const config = visit.app.config.current()
  const { role } = config.registration
  const origin = visit.origin
  const { email, name, given_name, family_name } = newAccount(identity)
  if (!isAllowedDomain(config, email)) throw socialFailure('email_domain_not_allowed')
  if (!mayRegister) throw new RegistrationUndecided()
  const attributes = newAttributes({ given_name, family_name })
  const facts = { name, email, password: null, role, verified: true, now: origin.now }
  const user = await createUser(tx, { ...facts, attributes })
  if (!user) {
    // No account has the address, but the user of another one can still get it back.
    if (!(await findUserByEmail({ prisma: tx }, email))) throw socialFailure('account_exists')
    throw new FactsChanged()
  }
  await recordEvent(tx, origin, { type: 'registered', userId: user.id, data: { provider: provider.id } })
  return user.id
}

async function link(
  visit: Visit,
  tx: Tx,
  { provider, identity }: SignInFacts,
  { userId, decision }: { userId: number; decision: LinkDecision },
): Promise<void> {
  const origin = visit.origin
  const before = await findUserById({ prisma: tx }, userId)
  if (decision.action === 'link' && decision.claim) {
    // The earlier owner had not verified the address, so everything of theirs is removed.
    await visit.app.accounts.claimAccount(tx, userId)
    await clearPassword(tx, userId, origin.now)
    await recordEvent(tx, origin, { type: 'account_claimed', userId })
  }
  if (!(await insertLink(tx, userId, identity, origin.now))) throw new FactsChanged()
  const linked = await findUserById({ prisma: tx }, userId)
  if (!linked) throw new FactsChanged()
  if (decision.action === 'link' && decision.claim) await markVerified(tx, userId, linked.user.email, origin.now)
  await recordEvent(tx, origin, { type: 'social_linked', userId, data: { provider: provider.id } })
  // A new account needs no notice about its first link.
  if (decision.action === 'link') {
    const owner = (await findUserById({ prisma: tx }, userId))?.user ?? linked.user
    await notify(visit.app, tx, origin, owner, 'social_linked', { provider: provider.label })
    const isRemoved = decision.claim && before !== null && before.password !== null
    if (isRemoved) await notify(visit.app, tx, origin, owner, 'password_removed')
  }
}
