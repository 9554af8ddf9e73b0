import type { Config } from '../../../platform/config/schema.ts'
import type { TextLookup } from '../../../platform/http/texts.ts'

/** Days after which a new token may expire. */
const lifetimes = [7, 30, 90, 365] as const

const day = 86_400_000

/** The abilities that the configuration names, first `*`, with their descriptions. */
export function abilityChoices({ scopes, guard, tokens }: Config, text: TextLookup) {
  const ofRules = guard.rules.flatMap(({ abilities, any_ability }) => [...(abilities ?? []), ...(any_ability ?? [])])
  const names = new Set([...Object.keys(scopes), ...ofRules, ...tokens.default_abilities])
  names.delete('*')
  const named = [...names].map((value) => {
    const description = Object.hasOwn(scopes, value) ? scopes[value] : ''
    return { value, label: description || value, hint: description ? value : null }
  })
  return [{ value: '*', label: text('account-token-new.everything'), hint: null }, ...named]
}

/** The lifetimes in days that `expiration` allows. */
export const lifetimeChoices = ({ expiration }: Config): number[] =>
  lifetimes.filter((days) => expiration === null || days * day <= expiration)

/** When a token with this lifetime expires; null for one that only `expiration` limits. */
export const endOf = (days: number | null, now: number): string | null =>
  days === null ? null : new Date(now + days * day).toISOString()
