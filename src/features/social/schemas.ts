import { Type } from 'typebox'
import { UserSchema } from '../../users/user-schema.ts'

const date = (description: string) =>
  Type.Unsafe<string | null>({ type: ['string', 'null'], format: 'date-time', description })
const nullable = (description: string) => Type.Unsafe<string | null>({ type: ['string', 'null'], description })
const field = (description: string, maxLength = 4_096) =>
  Type.Optional(Type.Unsafe<string | null>({ type: ['string', 'null'], maxLength, description }))

export const ProviderList = Type.Array(
  Type.Object({ id: Type.String({ description: 'Its name in paths.' }), label: Type.String() }),
  { description: 'The configured providers, in the order of the configuration.' },
)

export const ProviderParams = Type.Object({ provider: Type.String({ maxLength: 100 }) })

export const RedirectQuery = Type.Object({
  return_to: Type.Optional(Type.Unknown({ description: 'A path of the front end to go on to.' })),
  stateless: Type.Optional(Type.Unknown({ description: 'The callback answers an API token; no session begins.' })),
  device_name: Type.Optional(Type.Unknown({ description: 'With `stateless`: becomes the name of the token.' })),
  prompt: Type.Optional(
    Type.Unknown({ description: '`login` asks the provider to ask again who sits there, as far as it knows how.' }),
  ),
  page: Type.Optional(Type.Unknown({ description: "Begun on svc's own sign-in page: goes on to a path of svc." })),
})

export const UrlAnswer = Type.Object({ url: Type.String({ description: 'Where to send the browser.' }) })

export const CallbackQuery = Type.Object({
  code: Type.Optional(Type.Unknown()),
  state: Type.Optional(Type.Unknown()),
  iss: Type.Optional(Type.Unknown({ description: 'The issuer (RFC 9207).' })),
  error: Type.Optional(Type.Unknown()),
})

/** What a provider posts: its parameters, these and others. */
export const CallbackBody = Type.Object(
  {
    ...CallbackQuery.properties,
    user: Type.Optional(Type.Unknown({ description: 'The name, which Apple tells once.' })),
  },
  { additionalProperties: true },
)

export const TokenAnswer = Type.Object({
  token: Type.String({ description: 'Plain text `<id>|<secret>`: shown this once.' }),
  user: UserSchema,
})

export const TokenBody = Type.Object(
  {
    code: field("The provider's authorization code; with `challenge`, the code of the second factor."),
    redirect_uri: field('The one that the code was asked for with: listed in the configuration.'),
    code_verifier: field('The verifier of the PKCE challenge (RFC 7636).', 128),
    nonce: field('Of OpenID providers: the nonce that was sent.'),
    device_name: field('Becomes the name of the token.', 255),
    challenge: field('In place of the others: from the answer that asked for a second factor.'),
    recovery_code: field('With `challenge`: a recovery code, instead of `code`.'),
  },
  { additionalProperties: false },
)

/** What a request that begins a flow for the signed-in user may say. */
export const BeginBody = Type.Object(
  { return_to: Type.Optional(Type.Unknown({ description: 'A path of the front end to go on to.' })) },
  { additionalProperties: false },
)

export const LinkParams = Type.Object({
  id: Type.String({ maxLength: 100, description: 'The name of the provider.' }),
})

export const UnlinkParams = Type.Object({
  id: Type.String({ pattern: '^[0-9]{1,19}$', description: 'The id of the link.' }),
})

export const SocialAccountRecord = Type.Object(
  {
    id: Type.Integer(),
    provider: Type.String(),
    provider_id: Type.String({ description: "The provider's id of the account." }),
    email: nullable('As the provider said at the last use.'),
    name: nullable('As the provider said at the last use.'),
    avatar: nullable('The URL of a picture.'),
    created_at: date('When it was linked.'),
    last_used_at: date('When it last signed its user in.'),
  },
  { title: 'SocialAccount', description: 'An identity at a provider that signs its user in.' },
)

export const UnlinkAnswer = Type.Object({ message: Type.String() })
