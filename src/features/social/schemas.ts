import { UserSchema } from '../../identity/user-schema.ts'
import { idParameter, nullableText, uncheckedText } from '../../platform/http/fields.ts'
import { Type } from '../../platform/json-schema.ts'

const date = (description: string) =>
  Type.Unsafe<string | null>({ type: ['string', 'null'], format: 'date-time', description })
const nullable = (description: string) => Type.Unsafe<string | null>({ type: ['string', 'null'], description })
const field = (description: string, maxLength = 4_096) => nullableText(description, { maxLength })

export const ProviderList = Type.Array(
  Type.Object(
    {
      id: Type.String({ description: 'The name in paths.' }),
      label: Type.String({ description: 'The name for people.' }),
    },
    { title: 'Provider', description: 'An identity provider.' },
  ),
  { description: 'The configured providers, in the order of the configuration.' },
)

export const ProviderParams = Type.Object({
  provider: Type.String({ maxLength: 100, description: 'The name of the provider.' }),
})

export const RedirectQuery = Type.Object({
  return_to: uncheckedText('A path of the front end to continue to.'),
  stateless: uncheckedText('`1`: the callback returns an API token instead of starting a session.'),
  device_name: uncheckedText('With `stateless`: the name of the token.'),
  prompt: uncheckedText('`login` forces a new sign-in at the provider, if it supports that.'),
  page: uncheckedText("`1`: started on svc's own sign-in page. Continues to a path of svc."),
})

export const UrlAnswer = Type.Object(
  { url: Type.String({ description: 'Where to redirect the browser.' }) },
  { title: 'ProviderRedirect', description: 'The start of a flow at the provider.' },
)

export const CallbackQuery = Type.Object({
  code: uncheckedText('The authorization code.'),
  state: uncheckedText('The state of the authorization request.'),
  iss: uncheckedText('The issuer (RFC 9207).'),
  error: uncheckedText('The error of the provider, for example `access_denied`.'),
})

/** Parameters that a provider posts. */
export const CallbackBody = Type.Object(
  {
    ...CallbackQuery.properties,
    user: uncheckedText('The name of the user as JSON, which Apple sends once.'),
  },
  { title: 'ProviderCallbackForm', additionalProperties: true },
)

export const TokenAnswer = Type.Object(
  {
    token: Type.String({ description: 'Plain text `<id>|<secret>`, shown only once.' }),
    user: UserSchema,
  },
  { title: 'ProviderLogin', description: 'A new API token and its user.' },
)

export const TokenBody = Type.Object(
  {
    code: field("The provider's authorization code; with `challenge`, the code of the second factor."),
    redirect_uri: field('The redirect URI of the authorization request, as configured.'),
    code_verifier: field('The verifier of the PKCE challenge (RFC 7636).', 128),
    nonce: field('For OpenID providers: the nonce of the authorization request.'),
    device_name: field('The name of the token.', 255),
    challenge: field('From the response that required a second factor or the terms; replaces the other fields.'),
    terms: field('The version of the terms that the user accepts (`GET /terms`).', 50),
    recovery_code: field('With `challenge`: a recovery code, instead of `code`.'),
  },
  { title: 'ProviderTokenRequest', additionalProperties: false },
)

/** Body of a request that starts a flow for the signed-in user. */
export const BeginBody = Type.Object(
  { return_to: uncheckedText('A path of the front end to continue to.') },
  { title: 'BeginProviderFlowRequest', additionalProperties: false },
)

export const LinkParams = Type.Object({
  id: Type.String({ maxLength: 100, description: 'The name of the provider.' }),
})

export const UnlinkParams = Type.Object({
  id: idParameter('The id of the linked account.'),
})

export const SocialAccountRecord = Type.Object(
  {
    id: Type.Integer({ format: 'int64', description: 'The id of the link, for `DELETE /user/social-accounts/{id}`.' }),
    provider: Type.String({ description: 'The name of the provider in paths.' }),
    provider_id: Type.String({ description: "The provider's id of the account." }),
    email: nullable('As of the last use.'),
    name: nullable('As of the last use.'),
    avatar: nullable('The URL of a picture.'),
    created_at: date('When the account was linked.'),
    last_used_at: date('When the account was last used to sign in.'),
  },
  { title: 'SocialAccount', description: 'A linked provider account.' },
)
