import { Type } from 'typebox'
import { entry, flag, list, named, secret, text } from './kinds.ts'

const url = (description: string) => Type.Optional(text({ format: 'web-url', description }))
const claim = (description: string) => Type.Optional(text({ description }))

const provider = entry('An identity provider. Known providers need only credentials.', {
  client_id: text({ description: 'The client_id that the provider issued.' }),
  client_secret: Type.Optional(secret({ description: 'The secret that the provider issued.' })),
  label: Type.Optional(text({ maxLength: 100, description: 'The name on the sign-in button.' })),
  tenant: Type.Optional(
    text({ pattern: '^[\\w.-]+$', expected: 'a tenant id or domain', description: 'microsoft: the tenant.' }),
  ),
  host: Type.Optional(
    text({
      pattern: '^[\\w.-]+(:\\d+)?$',
      expected: 'a host with an optional port',
      description: 'gitlab: the host. By default gitlab.com.',
    }),
  ),
  team_id: Type.Optional(text({ description: 'apple: the team.' })),
  key_id: Type.Optional(text({ description: 'apple: the key.' })),
  private_key: Type.Optional(secret({ description: 'apple: the private key in PEM.' })),
  issuer: url('The issuer of any OpenID provider.'),
  authorization_url: url('Any OAuth 2.0 provider: the authorization endpoint.'),
  token_url: url('Any OAuth 2.0 provider: the token endpoint.'),
  userinfo_url: url('Any OAuth 2.0 provider: the profile endpoint.'),
  scopes: Type.Optional(list(text({ description: 'A scope.' }), { description: 'The scopes to request.' })),
  map: Type.Optional(
    entry("The fields of an OAuth 2.0 provider's profile.", {
      id: claim('The field with the account id.'),
      email: claim('The field with the email address.'),
      email_verified: claim('The field that is true for verified addresses.'),
      name: claim('The field with the name.'),
      avatar: claim('The field with the URL of a picture.'),
    }),
  ),
  trust_email: Type.Optional(
    flag({
      description:
        'Whether to trust the provider when it reports an address as verified. The default depends on the provider.',
    }),
  ),
  link: flag({ default: true, description: 'Whether signed-in users can link an account of this provider.' }),
  store_tokens: flag({ default: false, description: "Whether to store the provider's tokens, encrypted." }),
  redirect_uris: list(text({ format: 'absolute-uri', description: 'An absolute URI.' }), {
    default: [],
    description: 'Redirect URIs of mobile apps that exchange their own authorization codes.',
  }),
  allow_private_addresses: flag({ default: false, description: 'Whether the provider may be on private addresses.' }),
})

// `providers` is reserved: /auth/providers lists them.
const PROVIDER_NAMES = {
  pattern: '^(?!providers$)[a-z][a-z0-9_-]*$',
  expected: 'lowercase letters, digits, _ and -, beginning with a letter, except providers',
}

/** Sign-in through other identity providers. */
export const socialSections = {
  social: named(PROVIDER_NAMES, provider, {
    description: 'Identity providers by name.',
  }),
}
