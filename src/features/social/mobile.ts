import type { Visit } from '../../auth/access/visit.ts'
import { type FirstFactor, type TokenProof, tokenProof } from '../../auth/tokens/first-factor.ts'
import { validationFailed } from '../../platform/errors.ts'
import { nullableText } from '../../platform/http/fields.ts'
import type { Opened } from './account.ts'
import { type FlowParts, finishMobile } from './flow.ts'
import { requireFields } from './flow-request.ts'
import { reportFailure } from './log-failure.ts'
import { socialMethod } from './method.ts'
import { findProvider, type SocialProvider } from './providers/provider.ts'

/** The authorization code of a mobile app, as its request has it. */
interface CodeFields {
  redirect_uri?: string | null
  code_verifier?: string | null
  nonce?: string | null
}

/** The account of a provider sign-in, as the first factor of an API token. */
export const firstFactor = ({ user, password }: Opened): FirstFactor => ({
  user,
  password,
  method: socialMethod,
  channel: 'social',
})

/** Redeems the code that a mobile app got from the provider. Throws 422 for missing fields, and the failure. */
export async function redeemMobile(
  visit: Visit,
  parts: FlowParts,
  provider: SocialProvider,
  code: string,
  fields: CodeFields,
): Promise<FirstFactor> {
  requireFields(fields, [
    'redirect_uri',
    ...(provider.usesPkce ? (['code_verifier'] as const) : []),
    ...(provider.usesNonce ? (['nonce'] as const) : []),
  ])
  const redirectUri = fields.redirect_uri ?? ''
  if (!provider.config.redirect_uris.includes(redirectUri)) {
    throw validationFailed({ redirect_uri: ['The selected redirect uri is invalid.'] })
  }
  const verifier = provider.usesPkce ? (fields.code_verifier ?? null) : null
  const nonce = provider.usesNonce ? (fields.nonce ?? null) : null
  try {
    return firstFactor(await finishMobile(visit, parts, provider, { code, redirectUri, verifier, nonce }))
  } catch (error) {
    throw await reportFailure(visit, provider, error, { isRecorded: true })
  }
}

const field = (description: string, maxLength = 4_096) => nullableText(description, { maxLength })

/** The proof of an app that signed its user in at a provider. */
export const providerProof: TokenProof = tokenProof({
  name: 'provider',
  fields: {
    provider: field('The name of the provider that the user signed in at.', 100),
    authorization_code: field("With `provider`: the provider's authorization code."),
    redirect_uri: field('With `provider`: the redirect URI of the authorization request, as configured.'),
    code_verifier: field('With `provider`: the verifier of the PKCE challenge (RFC 7636).', 128),
    nonce: field('With `provider`: the nonce of the authorization request, if the provider supports it.'),
  },
  required: ['authorization_code', 'redirect_uri'],
  limit: 'token',
  verify: async (visit, body) => {
    const provider = findProvider(visit.app.config.current(), body.provider ?? '')
    if (!provider) throw validationFailed({ provider: ['The selected provider is invalid.'] })
    return redeemMobile(visit, visit.app.social, provider, body.authorization_code ?? '', body)
  },
})
