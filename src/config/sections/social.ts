import { Type } from 'typebox'
import { entry, flag, list, named, secret, text } from './kinds.ts'

const url = (description: string) => Type.Optional(text({ format: 'web-url', description }))
const claim = (description: string) => Type.Optional(text({ description }))

const provider = entry('One identity provider; the presets need only its credentials.', {
  client_id: text({ description: 'The client_id that the provider issued.' }),
  client_secret: Type.Optional(secret({ description: 'The secret that the provider issued.' })),
  label: Type.Optional(text({ maxLength: 100, description: 'The name on buttons.' })),
  tenant: Type.Optional(
    text({ pattern: '^[\\w.-]+$', expected: 'a tenant id or domain', description: 'microsoft: the tenant.' }),
  ),
  host: Type.Optional(
    text({
      pattern: '^[\\w.-]+(:\\d+)?$',
      expected: 'a host, perhaps with a port',
      description: 'gitlab: the host. By default gitlab.com.',
    }),
  ),
  team_id: Type.Optional(text({ description: 'apple: the team.' })),
  key_id: Type.Optional(text({ description: 'apple: the key.' })),
  private_key: Type.Optional(secret({ description: 'apple: the private key in PEM.' })),
  issuer: url('The issuer of any OpenID provider.'),
  authorization_url: url('Any OAuth 2.0 provider: where people sign in.'),
  token_url: url('Any OAuth 2.0 provider: where codes are exchanged.'),
  userinfo_url: url('Any OAuth 2.0 provider: where the profile is read.'),
  scopes: Type.Optional(list(text({ description: 'A scope.' }), { description: 'The scopes to ask for.' })),
  map: Type.Optional(
    entry('Where the profile of an OAuth 2.0 provider keeps what.', {
      id: claim('The field of the account id.'),
      email: claim('The field of the e-mail address.'),
      email_verified: claim('The field that says whether the address is verified.'),
      name: claim('The field of the name.'),
      avatar: claim('The field of the URL of a picture.'),
    }),
  ),
  trust_email: Type.Optional(
    flag({
      description: "Whether the provider's word that an address is verified counts. By default as known of each.",
    }),
  ),
  link: flag({ default: true, description: 'Whether signed-in users may link an account of this provider.' }),
  store_tokens: flag({ default: false, description: "Whether the provider's tokens are kept, encrypted." }),
  redirect_uris: list(text({ format: 'absolute-uri', description: 'An absolute URI.' }), {
    default: [],
    description: 'Redirect URIs of mobile apps that exchange a code of their own.',
  }),
  allow_private_addresses: flag({ default: false, description: 'Whether the provider may lie on private addresses.' }),
})

// /auth/providers is the list of them.
const PROVIDER_NAMES = {
  pattern: '^(?!providers$)[a-z][a-z0-9_-]*$',
  expected: 'small letters, digits, _ and -, beginning with a letter, and not providers',
}

/** Sign-in through other identity providers. */
export const socialSections = {
  social: named(PROVIDER_NAMES, provider, {
    description: 'Identity providers by name.',
  }),
}
