import { errors, interactionPolicy, type KoaContextWithOIDC } from 'oidc-provider'
import { mustAcceptTerms } from '../../../auth/access/accepted-terms.ts'
import { mustVerifyAddress } from '../../../auth/access/verified-address.ts'
import type { User } from '../../../identity/user.ts'
import type { Config } from '../../../platform/config/schema.ts'
import { acrOf, askedContext, checkAcrClaim, type Factors, isReached, stepUpTo } from '../authentication-context.ts'
import type { Registry } from '../clients/clients.ts'
import { requestFactsOf } from './browser.ts'
import { isUnprovenDevice } from './grants.ts'

interface PolicyParts {
  config: Config
  registry: Registry
  /** Second factors of a user. */
  factorsOf: (user: User) => Promise<Factors>
}

const { Check, Prompt } = interactionPolicy
const { NO_NEED_TO_PROMPT, REQUEST_PROMPT } = Check

/**
 * Errors of requests whose `acr` is not reached: if the user can reach it, and if not (OpenID Connect Core Error Code
 * unmet_authentication_requirements).
 */
const unreached = { reachable: 'login_required', unreachable: 'unmet_authentication_requirements' } as const

/** Reasons to show an interaction, besides the library's own. */
export function interactionPolicyOf({ config, registry, factorsOf }: PolicyParts) {
  const policy = interactionPolicy.base()
  const login = policy.get('login')
  const consent = policy.get('consent')
  // Initiating User Registration via OpenID Connect section 4.
  if (config.registration.enabled) policy.add(new Prompt({ name: 'create', requestable: true }), 0)
  // OpenID Connect Core section 3.1.2.1.
  policy.add(new Prompt({ name: 'select_account', requestable: true }), config.registration.enabled ? 1 : 0)
  // The user signs in if svc's session and the library's belong to different users.
  login?.checks.add(
    new Check('other_user', 'the browser is signed in as another user, or not at all', 'login_required', (ctx) => {
      const { signedIn } = requestFactsOf(ctx.req)
      const { session } = ctx.oidc
      if (session?.accountId === undefined) return NO_NEED_TO_PROMPT
      const isSame = signedIn !== null && String(signedIn.user.id) === session.accountId
      return isSame ? NO_NEED_TO_PROMPT : REQUEST_PROMPT
    }),
  )
  // The library compares whole seconds: with `max_age=0`, it accepts a sign-in in the same second.
  const maxAgeAt = login?.checks.findIndex(({ reason }) => reason === 'max_age')
  login?.checks.remove('max_age')
  login?.checks.add(
    new Check('max_age', 'End-User authentication could not be obtained', 'login_required', ({ oidc }) => {
      const maxAge = oidc.params?.max_age
      if (maxAge === undefined) return NO_NEED_TO_PROMPT
      if (oidc.session?.accountId === undefined) return REQUEST_PROMPT
      const isPast = Number(maxAge) === 0 || oidc.session.past(Number(maxAge))
      return isPast && !oidc.result?.login ? REQUEST_PROMPT : NO_NEED_TO_PROMPT
    }),
    maxAgeAt,
  )
  // The library compares classes for equality. svc also accepts a stronger class, and some users can step up.
  login?.checks.remove('essential_acr')
  login?.checks.remove('essential_acrs')
  for (const way of ['unreachable', 'reachable'] as const) {
    const description = 'the authentication does not meet the requested acr'
    login?.checks.add(
      new Check(`acr_${way}`, description, unreached[way], async (ctx) =>
        (await missingAcr(ctx)) === way ? REQUEST_PROMPT : NO_NEED_TO_PROMPT,
      ),
    )
  }
  consent?.checks.add(
    new Check('public_device', 'a public client asks through a device', 'consent_required', (ctx) => {
      const { client, result } = ctx.oidc
      const isAsked = isUnprovenDevice(ctx, registry.client(client?.clientId)) && !result?.consent
      return isAsked ? REQUEST_PROMPT : NO_NEED_TO_PROMPT
    }),
  )
  consent?.checks.add(
    new Check('unregistered', 'nobody registered the client', 'consent_required', ({ oidc: { client, result } }) =>
      registry.isDocument(client?.clientId) && !result?.consent ? REQUEST_PROMPT : NO_NEED_TO_PROMPT,
    ),
  )
  // Shows the consent page to clients without consent too, because that page explains the error.
  consent?.checks.add(
    new Check('email_unverified', 'the address is not verified', 'interaction_required', (ctx) => {
      const isRefused = mustVerifyAddress(config, requestFactsOf(ctx.req).signedIn?.user)
      return isRefused ? REQUEST_PROMPT : NO_NEED_TO_PROMPT
    }),
  )
  consent?.checks.add(
    new Check('terms', 'the terms are not accepted', 'interaction_required', (ctx) =>
      mustAcceptTerms(config, requestFactsOf(ctx.req).signedIn?.user) ? REQUEST_PROMPT : NO_NEED_TO_PROMPT,
    ),
  )
  return policy

  /** Whether the requested class is missing, and whether the user can reach it; null if the request can continue. */
  async function missingAcr(ctx: KoaContextWithOIDC): Promise<keyof typeof unreached | null> {
    const { signedIn } = requestFactsOf(ctx.req)
    const { params = {}, prompts } = ctx.oidc
    const asked = askedContext(params)
    if (!asked || !signedIn || isReached(acrOf(signedIn.methods), asked)) return null
    // `acr_values` that cannot be reached, or not with `prompt=none`, are ignored.
    if (!asked.essential && prompts.has('none')) return null
    const way = stepUpTo(asked, signedIn.methods, await factorsOf(signedIn.user))
    if (way !== null) return 'reachable'
    return asked.essential ? 'unreachable' : null
  }
}

/** Rejects a `claims` parameter whose `acr` is malformed. */
export async function assertClaims(_ctx: KoaContextWithOIDC, claims: object): Promise<void> {
  try {
    checkAcrClaim(claims)
  } catch (error) {
    if (error instanceof TypeError) throw new errors.InvalidRequest(error.message)
    throw error
  }
}
