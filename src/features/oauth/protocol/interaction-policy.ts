import { errors, interactionPolicy, type KoaContextWithOIDC } from 'oidc-provider'
import type { Config } from '../../../config/schema.ts'
import type { User } from '../../../users/user.ts'
import { acrOf, askedContext, checkAcrClaim, type Factors, isReached, stepUpTo } from '../authentication-context.ts'
import { handedOf } from './browser.ts'
import type { Registry } from './clients.ts'
import { isUnprovenDevice } from './grants.ts'

interface PolicyParts {
  config: Config
  registry: Registry
  /** The second factors of a user. */
  factorsOf: (user: User) => Promise<Factors>
}

const { Check } = interactionPolicy
const { NO_NEED_TO_PROMPT, REQUEST_PROMPT } = Check

/** The errors of requests whose `acr` is not reached: with a way to reach it, and without one (OpenID Connect Core Error Code unmet_authentication_requirements). */
const unreached = { reachable: 'login_required', unreachable: 'unmet_authentication_requirements' } as const

/** When an authorization stops to ask its user for something, besides the library's own reasons. */
export function interactionPolicyOf({ config, registry, factorsOf }: PolicyParts) {
  const policy = interactionPolicy.base()
  const login = policy.get('login')
  const consent = policy.get('consent')
  // Signing in is asked for where svc's own session and the library's disagree about who is there.
  login?.checks.add(
    new Check('other_user', 'the browser is signed in as somebody else, or as nobody', 'login_required', (ctx) => {
      const { signedIn } = handedOf(ctx.req)
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
  // The library takes each class for itself; here a stronger one will do, and some users can step up.
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
  // Where consent is not asked there would be no page to say so.
  consent?.checks.add(
    new Check('email_unverified', 'the address is not verified', 'interaction_required', (ctx) => {
      const isRefused =
        config.registration.require_verified_email && handedOf(ctx.req).signedIn?.user.email_verified_at === null
      return isRefused ? REQUEST_PROMPT : NO_NEED_TO_PROMPT
    }),
  )
  return policy

  /** Whether the requested class is missing, and whether the user can reach it; null where the request can go on. */
  async function missingAcr(ctx: KoaContextWithOIDC): Promise<keyof typeof unreached | null> {
    const { signedIn } = handedOf(ctx.req)
    const { params = {}, prompts } = ctx.oidc
    const asked = askedContext(params)
    if (!asked || !signedIn || isReached(acrOf(signedIn.methods), asked)) return null
    // A wish that cannot be asked for silently, or met at all, changes nothing.
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
