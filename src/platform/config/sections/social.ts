import { type Static, Type } from '../../json-schema.ts'
import type { Report as Sink } from '../findings.ts'
import { isLoopback } from '../hosts.ts'
import { nearest } from '../nearest.ts'
import { type AppFacts, type DeepReadonly, featureSection } from './feature-section.ts'
import { choice, type ExampleEntry, entry, flag, list, named, secret, text } from './kinds.ts'

const url = (example: string, description: string) => Type.Optional(text({ format: 'web-url', example, description }))
const claim = (description: string) => Type.Optional(text({ description }))

const provider = entry('An identity provider. docs/social-login.md lists the keys of each.', {
  client_id: text({ example: '…', description: 'The client_id that the provider issued.' }),
  client_secret: Type.Optional(
    secret({ example: { file: '/run/secrets/acme' }, description: 'The secret that the provider issued.' }),
  ),
  label: Type.Optional(
    text({
      maxLength: 100,
      example: 'Acme',
      description: "The name on the sign-in button. By default the provider's name.",
    }),
  ),
  tenant: Type.Optional(
    text({
      pattern: '^[\\w.-]+$',
      expected: 'a tenant id or domain',
      example: 'organizations',
      description: 'microsoft: the tenant.',
    }),
  ),
  host: Type.Optional(
    text({
      pattern: '^[\\w.-]+(:\\d+)?$',
      expected: 'a host with an optional port',
      example: 'gitlab.example.com',
      description: 'gitlab: the host. By default gitlab.com.',
    }),
  ),
  team_id: Type.Optional(text({ example: 'TEAM123456', description: 'apple: the id of the team.' })),
  key_id: Type.Optional(text({ example: 'KEY1234567', description: 'apple: the id of the key.' })),
  private_key: Type.Optional(
    secret({ example: { file: '/run/secrets/apple.p8' }, description: 'apple: the private key in PEM.' }),
  ),
  issuer: url('https://login.acme.example', 'The issuer of any OpenID provider.'),
  authorization_url: url('https://forge.example/authorize', 'Any OAuth 2.0 provider: the authorization endpoint.'),
  token_url: url('https://forge.example/token', 'Any OAuth 2.0 provider: the token endpoint.'),
  userinfo_url: url('https://forge.example/user', 'Any OAuth 2.0 provider: the profile endpoint.'),
  scopes: Type.Optional(
    list(text({ description: 'A scope.' }), {
      example: ['user'],
      description: 'The scopes to request. By default what sign-in needs, for known providers.',
    }),
  ),
  map: Type.Optional(
    entry(
      "The fields of a provider's profile, or the claims of its ID token. New users need a verified address, which requires both trust_email and a true email_verified.",
      {
        id: claim('The field with the account id.'),
        email: claim('The field with the email address.'),
        email_verified: claim('The field that is true for verified addresses.'),
        name: claim('The field with the name.'),
        avatar: claim('The field with the URL of a picture.'),
      },
      { id: 'uid', email: 'mail', email_verified: 'mail_ok', name: 'full_name', avatar: 'picture' },
    ),
  ),
  groups: Type.Optional(
    entry(
      'The groups that the provider gives its users. svc sets them at each sign-in, and changes no membership that came from elsewhere.',
      {
        claim: text({
          example: 'groups',
          description: 'The claim, or the field of the profile, with a list of texts. Dots select nested fields.',
        }),
        map: named({ pattern: '^', expected: 'a value of the claim' }, text({ description: 'A group.' }), {
          entries: [{ value: { '5f0c1a4e-7c2b-4f6d-9a51-0c7e2b1d8f30': 'staff' } }],
          description:
            'The group of groups.names for each value of the claim. By default each value that is the name of a group. svc ignores other values.',
        }),
      },
      { claim: 'groups', map: { '5f0c1a4e-7c2b-4f6d-9a51-0c7e2b1d8f30': 'staff' } },
    ),
  ),
  fields: named(
    { pattern: '^', expected: 'a field of users.fields' },
    text({ example: 'department', description: 'The claim, or the field of the profile. Dots select nested fields.' }),
    {
      description:
        'The claims with the fields of users.fields that the provider may write, by field. svc stores them at each sign-in, if they are valid.',
      entries: [{ value: { team: 'department' } }],
    },
  ),
  trust_email: Type.Optional(
    choice([true, false, 'without_claim'], {
      example: true,
      description:
        'Whether to trust the provider when it reports an address as verified. New users can then create an account, and users can sign in to an existing account with that address. Without it, only users who linked the provider can sign in with it. without_claim also trusts addresses without the claim email_verified, for a directory that only your organisation can change and that does not send the claim, such as your own tenant of microsoft. By default true for providers where that is known to be safe, false for others: docs/social-login.md.',
    }),
  ),
  link: flag({ default: true, description: 'Whether signed-in users can link an account of this provider.' }),
  store_tokens: flag({
    default: false,
    description:
      "Whether to store the provider's tokens, encrypted. Off by default, because unstored tokens cannot leak.",
  }),
  redirect_uris: list(text({ format: 'absolute-uri', description: 'An absolute URI.' }), {
    default: [],
    description: 'Redirect URIs of mobile apps that exchange their own authorization codes.',
  }),
  allow_private_addresses: flag({
    default: false,
    description: 'Whether the provider may be on private addresses, and in development on loopback with plain http.',
  }),
})

// `providers` is reserved: /auth/providers lists them.
const PROVIDER_NAMES = {
  pattern: '^(?!providers$)[a-z][a-z0-9_-]*$',
  expected: 'lowercase letters, digits, _ and -, beginning with a letter, except providers',
}

type Provider = DeepReadonly<Static<typeof provider>>
type Report = (key: string | readonly [string, number], message: string) => void
type Rule = (id: string, provider: Provider, report: Report, app: AppFacts) => void

/** Providers with built-in endpoints. */
const PRESETS = [
  'google',
  'microsoft',
  'apple',
  'gitlab',
  'github',
  'bitbucket',
  'linkedin',
  'slack',
  'facebook',
  'x',
  'discord',
]

const ENDPOINTS = ['authorization_url', 'token_url', 'userinfo_url'] as const

/** Keys that apply to one preset only. */
const KEYS_OF = {
  microsoft: { required: ['tenant'], allowed: ['tenant'] },
  gitlab: { required: [], allowed: ['host'] },
  apple: { required: ['team_id', 'key_id', 'private_key'], allowed: ['team_id', 'key_id', 'private_key'] },
} as const

const rules: readonly Rule[] = [
  providerIsKnownOrDescribed,
  secretIsGiven,
  presetKeysFit,
  trustIsPossible,
  plainHttpIsLocal,
  redirectUrisAreBare,
  openIdHasIssuer,
]

const credentials = { client_id: '…', client_secret: '…' }

const PROVIDERS: readonly ExampleEntry[] = [
  {
    about: 'known providers.',
    value: {
      google: credentials,
      microsoft: { ...credentials, tenant: 'organizations' },
      apple: { client_id: '…', team_id: '…', key_id: '…', private_key: { file: '/run/secrets/apple.p8' } },
      gitlab: { ...credentials, host: 'gitlab.example.com' },
    },
  },
  {
    about: 'any OpenID provider.',
    value: { acme: { issuer: 'https://login.acme.example', ...credentials, label: 'Acme' } },
  },
  {
    about: 'any OAuth 2.0 provider.',
    value: {
      forge: {
        authorization_url: 'https://forge.example/authorize',
        token_url: 'https://forge.example/token',
        userinfo_url: 'https://forge.example/user',
        ...credentials,
        trust_email: true,
        scopes: ['user'],
        map: { id: 'uid', email: 'mail', email_verified: 'mail_ok', name: 'full_name' },
      },
    },
  },
]

/** Sign-in through other identity providers. */
export const social = featureSection({
  schema: named(PROVIDER_NAMES, provider, {
    description:
      'Identity providers for social login, by a name of your choice. google, microsoft, apple, gitlab, github, bitbucket, linkedin, slack, facebook, x and discord have built-in endpoints. Register <app.url>/auth/<name>/callback as the redirect URI at the provider. Never reuse a name for another provider: svc finds accounts by it.',
    entries: PROVIDERS,
  }),
  resolve: (given) => given,
  check: (providers, app, sink: Sink) => {
    for (const [id, provider] of Object.entries(providers)) {
      const report: Report = (key, message) => sink([id, ...[key].flat()], message)
      for (const rule of rules) rule(id, provider, report, app)
    }
  },
  cookies: 'svc_social_',
})

function providerIsKnownOrDescribed(id: string, provider: Provider, report: Report): void {
  const given = ENDPOINTS.filter((key) => provider[key] !== undefined)
  if (provider.issuer !== undefined) {
    for (const key of given) report(key, 'cannot be combined with issuer, whose discovery document contains it')
    return
  }
  if (PRESETS.includes(id) && given.length === 0) return
  if (given.length === 0) {
    const known = nearest(id, PRESETS)
    const hint = known === undefined ? '' : `; did you mean ${known}?`
    report(
      'issuer',
      `is required for providers other than ${PRESETS.join(', ')}, unless it has ${ENDPOINTS.join(', ')}${hint}`,
    )
    return
  }
  for (const key of ENDPOINTS) {
    if (provider[key] === undefined) report(key, `is required together with ${given.join(' and ')}`)
  }
}

function secretIsGiven(id: string, { client_secret }: Provider, report: Report): void {
  if (id === 'apple') {
    if (client_secret !== undefined) report('client_secret', 'is not allowed; svc creates it from private_key')
  } else if (client_secret === undefined) {
    report('client_secret', 'is required; expected text or { file: <path> }')
  }
}

function presetKeysFit(id: string, provider: Provider, report: Report): void {
  for (const [preset, { required, allowed }] of Object.entries(KEYS_OF)) {
    if (preset === id) {
      for (const key of required) if (provider[key] === undefined) report(key, `is required for ${id}`)
    } else {
      for (const key of allowed) if (provider[key] !== undefined) report(key, `applies to ${preset} only`)
    }
  }
}

/** Providers that anyone can join must say themselves which addresses they verified. */
function trustIsPossible(
  id: string,
  { trust_email, issuer, authorization_url, tenant = '' }: Provider,
  report: Report,
) {
  const isPreset = PRESETS.includes(id) && issuer === undefined && authorization_url === undefined
  if (!isPreset) return
  if (id === 'facebook' && trust_email) {
    report('trust_email', 'must not be set for facebook, which does not say whether an address is verified')
  } else if (trust_email === 'without_claim') {
    const isOwn = id === 'gitlab' || (id === 'microsoft' && !/^(common|organizations|consumers)$/.test(tenant))
    if (!isOwn)
      report(
        'trust_email',
        'must not be without_claim for a provider that anyone can join; for microsoft, name your own tenant',
      )
  }
}

function plainHttpIsLocal(_id: string, provider: Provider, report: Report, app: AppFacts): void {
  for (const key of ['issuer', ...ENDPOINTS] as const) {
    const url = provider[key]
    if (url === undefined || !URL.canParse(url) || new URL(url).protocol !== 'http:') continue
    const isLocal = isLoopback(new URL(url).hostname) && app.environment === 'development'
    if (isLocal && provider.allow_private_addresses) continue
    report(key, `must use https, except on loopback in development with allow_private_addresses: true (found "${url}")`)
  }
}

/** The token request repeats the URI exactly, so it needs one spelling and no parameters of its own. */
function redirectUrisAreBare(_id: string, { redirect_uris }: Provider, report: Report): void {
  for (const [index, uri] of redirect_uris.entries()) {
    if (!URL.canParse(uri)) continue
    const bare = new URL(uri)
    bare.search = ''
    bare.hash = ''
    if (bare.href === uri) continue
    report(['redirect_uris', index], `must be written as ${bare.href}, without query and fragment (found "${uri}")`)
  }
}

function openIdHasIssuer(_id: string, { authorization_url, scopes = [] }: Provider, report: Report): void {
  const index = scopes.indexOf('openid')
  if (authorization_url === undefined || index === -1) return
  report(['scopes', index], 'must not be openid together with authorization_url; set issuer for an OpenID provider')
}
