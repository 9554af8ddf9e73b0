import { Type } from '../../json-schema.ts'
import { choice, duration, type ExampleEntry, entry, list, nullable, text } from './kinds.ts'

/** What svc knows about a platform whose tokens identify workloads. */
interface Platform {
  /** Issuer of its tokens, if all customers share one. */
  issuer?: string
  /** Where its keys are, without discovery. */
  jwksUri?: string
  /** Files of the cluster in which svc runs: its authority, and the token with which svc reads the keys. */
  caFile?: string
  tokenFile?: string
  /** Whether the keys may be on a private address. */
  isPrivate?: true
  /** Whether it makes a new token for each request, so that svc accepts each one once. */
  isFresh?: true
  /** How old its tokens may be, in milliseconds. */
  maxAge?: number
  /**
   * Place of the part that names the customer in a subject split at `:` and `/`. It must be literal, because everyone can run
   * workloads on a shared platform. `all`: every part must be.
   */
  owner: number | 'all'
}

const account = '/var/run/secrets/kubernetes.io/serviceaccount'

const platforms = {
  github: { issuer: 'https://token.actions.githubusercontent.com', isFresh: true, owner: 1 },
  gitlab: { issuer: 'https://gitlab.com', owner: 1 },
  kubernetes: {
    issuer: 'https://kubernetes.default.svc.cluster.local',
    jwksUri: 'https://kubernetes.default.svc/openid/v1/jwks',
    caFile: `${account}/ca.crt`,
    tokenFile: `${account}/token`,
    isPrivate: true,
    owner: 2,
  },
  google: { issuer: 'https://accounts.google.com', owner: 'all' },
  // Azure returns the same token for up to a day.
  azure: { owner: 'all', maxAge: 86_400_000 },
  spiffe: { owner: 3 },
} as const satisfies Record<string, Platform>

export type PlatformName = keyof typeof platforms

/** Returns the platform of an entry: the one that it names, or the one whose issuer it has. */
export const platformNameOf = ({ platform, issuer }: { platform: PlatformName | null; issuer: string | null }) =>
  platform ?? names.find((name) => issuer !== null && platformOf(name).issuer === issuer) ?? null

/** Returns what svc knows about a platform. */
export const platformOf = (name: PlatformName | null): Partial<Platform> => (name === null ? {} : platforms[name])

const names = ['github', 'gitlab', 'kubernetes', 'google', 'azure', 'spiffe'] as const satisfies PlatformName[]

const examples: readonly ExampleEntry[] = [
  { about: 'GitHub Actions.', value: { platform: 'github', subject: 'repo:acme/*:ref:refs/heads/main' } },
  { about: 'Kubernetes.', value: { platform: 'kubernetes', subject: 'system:serviceaccount:prod:deployer' } },
]

/** Tokens of platforms by which a client authenticates, in place of a secret. */
export const federated = list(
  entry('Tokens of a platform.', {
    platform: nullable(
      choice(names, {
        example: 'github',
        description: 'A platform whose issuer and habits svc knows. docs/workloads.md describes each.',
      }),
    ),
    issuer: nullable(
      text({
        format: 'web-url',
        example: 'https://token.actions.githubusercontent.com',
        description: 'The issuer of the tokens (iss). By default that of the platform.',
      }),
    ),
    audience: nullable(
      text({
        example: 'https://auth.example.com',
        description: 'The audience of the tokens (aud), and their only one. By default app.url.',
      }),
    ),
    subject: text({
      maxLength: 1_000,
      example: 'repo:acme/*:ref:refs/heads/main',
      description: 'The workload (sub). * matches any text without : and /.',
    }),
    claims: Type.Record(
      Type.String({ pattern: '^[\\w.:/-]+$' }),
      Type.Union([Type.String({ minLength: 1 }), Type.Boolean(), Type.Integer()], {
        description: 'The value of a claim.',
      }),
      {
        default: {},
        examples: [{ repository_owner: 'acme' }],
        description: 'Other claims that the tokens must have. In a text, * matches any text without : and /.',
        'x-svc-names': 'names of claims',
        'x-svc-expected': 'claims with texts, true, false or integers',
        'x-svc-reload': 'live',
      },
    ),
    jwks_uri: nullable(
      text({
        format: 'web-url',
        example: 'https://issuer.example/keys.json',
        description: "The issuer's keys. By default those that its discovery document names.",
      }),
    ),
    ca_file: nullable(
      text({
        example: '/run/secrets/cluster-ca.pem',
        description: 'The authority of the issuer, for example of a cluster, in PEM. By default those of the system.',
      }),
    ),
    token_file: nullable(
      text({
        example: '/run/secrets/cluster-token',
        description: 'A bearer token with which svc reads the keys. svc reads the file each time.',
      }),
    ),
    max_age: nullable(
      duration({
        max: '1d',
        example: '1h',
        description: 'How old a token may be. By default 1h; for azure, which reuses its tokens, 1d.',
      }),
    ),
  }),
  {
    default: [],
    entries: examples,
    description:
      'Lets the client authenticate with the token of its platform, such as GitHub Actions or Kubernetes, instead of a secret (RFC 7523). docs/workloads.md explains it, and config/reference.yaml has all keys.',
  },
)
