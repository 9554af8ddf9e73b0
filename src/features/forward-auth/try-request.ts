import type { Config } from '../../platform/config/schema.ts'
import { HttpError } from '../../platform/errors.ts'
import { type Authenticated, admit, apiOf } from './decision.ts'
import { originalRequest } from './original-request.ts'
import { type Rule, ruleFor } from './rules.ts'

/** A request to try. */
interface Trial {
  method: string
  /** An absolute URL. */
  url: string
  /** The address of the client. */
  address: string
  /** The name of a rule to apply instead of the first that matches. */
  ruleName?: string | undefined
}

/** What the guard would answer. */
interface TrialResult {
  status: number
  /** Why the guard denies the request; null if it allows it. */
  denied: string | null
  /** Null: `guard.default` applies. */
  rule: Rule | null
}

/** Returns what the guard would answer to a described request. `credential` returns its caller for an audience, or throws. */
export async function tryRequest(
  config: Config,
  { method, url, address, ruleName }: Trial,
  credential: (audience: string | undefined) => Promise<Authenticated>,
  now: number,
): Promise<TrialResult> {
  let rule: Rule | null = null
  try {
    const original = originalRequest({ headers: { 'x-original-method': method, 'x-original-url': url }, method }, null)
    rule = ruleFor(original, () => address, config.guard.rules, ruleName)
    const access = rule?.access ?? config.guard.default
    const audience = apiOf(rule, config)?.audience
    await admit({ rule, access, config }, () => credential(audience), now)
    return { status: 200, denied: null, rule }
  } catch (error) {
    if (!(error instanceof HttpError)) throw error
    return { status: error.statusCode, denied: error.message, rule }
  }
}

/** The sign-in of a user who has just signed in with all factors, for a request to try. */
export const justSignedIn = ({ two_factor_enabled }: { two_factor_enabled: boolean }, now: number) => ({
  authentication: { at: now, methods: two_factor_enabled ? ['pwd', 'otp', 'mfa'] : ['pwd'] },
  confirmationAge: 0,
})
