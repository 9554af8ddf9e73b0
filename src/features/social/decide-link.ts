import type { SocialFailure } from './failure.ts'

/** What somebody wants with an identity that a provider vouched for, and what is known here. */
export interface LinkFacts {
  /** The signed-in user who wants to link or to confirm with it; null for a sign-in. */
  asker: { intent: 'link' | 'confirm'; userId: number } | null
  /** Whose identity it is by the provider's id of it. */
  owner: { userId: number; disabled: boolean; hasPassword: boolean } | null
  /** What the provider says of the address; null where it gives none. */
  email: { verified: boolean } | null
  /** The account of that address. */
  account: { userId: number; verified: boolean; disabled: boolean } | null
  registrationEnabled: boolean
}

export type LinkDecision =
  | { action: 'sign_in'; userId: number }
  /** `claim`: everything that opened the account before is taken away, since nobody had proved whose address it is. */
  | { action: 'link'; userId: number; claim: boolean }
  | { action: 'confirm'; userId: number }
  | { action: 'create' }
  | { action: 'refuse'; code: SocialFailure }

const refuse = (code: SocialFailure): LinkDecision => ({ action: 'refuse', code })

/** Decides what an identity opens: by the provider's id of it, and by the address only where both sides verified that. */
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
  // A user who has a password confirms with the password.
  return owner && !owner.hasPassword ? { action: 'confirm', userId } : refuse('access_denied')
}

function decideByEmail({ email, account, registrationEnabled }: LinkFacts): LinkDecision {
  if (!email) return refuse('email_missing')
  if (account) {
    // No more than a registration tells of whose address it is.
    if (!email.verified) return refuse(registrationEnabled ? 'account_exists' : 'email_unverified')
    if (account.disabled) return refuse('access_denied')
    return { action: 'link', userId: account.userId, claim: !account.verified }
  }
  if (!email.verified) return refuse('email_unverified')
  return registrationEnabled ? { action: 'create' } : refuse('registration_disabled')
}
