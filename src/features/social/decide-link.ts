import type { SocialFailure } from './failure.ts'

/** Facts that decide what an identity at a provider gives access to. */
export interface LinkFacts {
  /** The signed-in user who links or confirms; null for a sign-in. */
  asker: { intent: 'link' | 'confirm'; userId: number } | null
  /** Owner of the identity by the provider's id. */
  owner: { userId: number; disabled: boolean; hasPassword: boolean } | null
  /** The provider's address; null if it has none. */
  email: { verified: boolean } | null
  /** Account with that address. */
  account: { userId: number; verified: boolean; claimable: boolean; disabled: boolean } | null
  registrationEnabled: boolean
}

export type LinkDecision =
  | { action: 'sign_in'; userId: number }
  /** `claim`: removes all earlier sign-in methods, because the address was never verified. */
  | { action: 'link'; userId: number; claim: boolean }
  | { action: 'confirm'; userId: number }
  | { action: 'create' }
  | { action: 'refuse'; code: SocialFailure }

const refuse = (code: SocialFailure): LinkDecision => ({ action: 'refuse', code })

/** Decides what an identity gives access to: by the provider's id, and by address only if both sides verified it. */
export function decideLink(facts: LinkFacts): LinkDecision {
  const { asker, owner } = facts
  if (asker) return decideForUser(asker, owner)
  if (owner) return owner.disabled ? refuse('access_denied') : { action: 'sign_in', userId: owner.userId }
  return decideByEmail(facts)
}

function decideForUser(asker: NonNullable<LinkFacts['asker']>, owner: LinkFacts['owner']): LinkDecision {
  const { intent, userId } = asker
  if (owner && owner.userId !== userId) return refuse(intent === 'link' ? 'account_exists' : 'access_denied')
  if (intent === 'link') return { action: 'link', userId, claim: false }
  // Users with a password confirm with the password.
  return owner && !owner.hasPassword ? { action: 'confirm', userId } : refuse('access_denied')
}

function decideByEmail({ email, account, registrationEnabled }: LinkFacts): LinkDecision {
  if (!email) return refuse('email_missing')
  if (account) {
    // `account_exists` reveals no more than registration does.
    if (!email.verified) return refuse(registrationEnabled ? 'account_exists' : 'email_unverified')
    if (account.disabled) return refuse('access_denied')
    // Someone may have changed the address of another person's account.
    if (!account.verified && !account.claimable) return refuse('account_exists')
    return { action: 'link', userId: account.userId, claim: !account.verified }
  }
  if (!email.verified) return refuse('email_unverified')
  return registrationEnabled ? { action: 'create' } : refuse('registration_disabled')
}
