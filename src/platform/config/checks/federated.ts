import type { Path } from '../findings.ts'
import type { Config } from '../schema.ts'
import { type PlatformName, platformNameOf, platformOf } from '../sections/federated.ts'
import { certificateProblem } from '../url-parameters.ts'

type Client = Config['clients'][number]
type Federated = Client['federated'][number]
type Report = (key: string | Path, message: string) => void

/** Claims that name the customer of a shared platform, if the subject does not. */
const ownerClaims: Readonly<Partial<Record<PlatformName, readonly string[]>>> = {
  github: ['repository_owner', 'repository_owner_id', 'repository', 'repository_id'],
  gitlab: ['namespace_path', 'namespace_id', 'project_path', 'project_id'],
}

const isLiteral = (value: unknown): boolean => value !== undefined && value !== '' && !String(value).includes('*')

/** Tests for a pattern without a letter or digit, which matches every text with as many parts. */
const isEverything = (pattern: string): boolean => !/[\p{L}\p{N}]/u.test(pattern)

/** Rules for the tokens of platforms by which a client authenticates. */
export function federatedIsSafe(client: Client, report: Report): void {
  const { federated, type, fapi, jwks, jwks_uri } = client
  if (federated.length === 0) return
  if (type === 'public') report('federated', 'is not allowed for a public client, which anyone can impersonate')
  if (fapi) report('federated', 'is not allowed for a FAPI 2.0 client, which authenticates by its keys')
  else if (jwks !== undefined || jwks_uri !== undefined) report('federated', 'cannot be combined with jwks or jwks_uri')
  for (const [index, one] of federated.entries()) {
    const own: Report = (key, message) => report(['federated', index, ...[key].flat()], message)
    issuerIsKnown(one, own)
    subjectIsNarrow(one, own)
    claimsAreNarrow(one, own)
    const problem = one.ca_file === null ? null : certificateProblem(one.ca_file)
    if (problem) own('ca_file', `${problem} (found "${one.ca_file}")`)
  }
}

function issuerIsKnown({ platform, issuer, jwks_uri }: Federated, report: Report): void {
  if (platform === 'spiffe') {
    if (jwks_uri === null) report('jwks_uri', 'is required for spiffe: the URL of the bundle of the trust domain')
  } else if (issuer === null && platformOf(platform).issuer === undefined) {
    const example = platform === 'azure' ? ', such as https://login.microsoftonline.com/<tenant>/v2.0' : ''
    report('issuer', `is required${platform === null ? ' without a platform' : ` for ${platform}`}${example}`)
  }
}

function subjectIsNarrow(one: Federated, report: Report): void {
  const { subject, claims } = one
  const platform = platformNameOf(one)
  const found = `(found "${subject}")`
  const { owner } = platformOf(platform)
  if (isEverything(subject)) report('subject', `must not match every workload ${found}`)
  else if (platform !== null && owner !== undefined) ownerIsNamed({ platform, subject, claims, owner }, report)
}

interface Owned extends Pick<Federated, 'subject' | 'claims'> {
  platform: PlatformName
  owner: number | 'all'
}

function ownerIsNamed({ platform, subject, claims, owner }: Owned, report: Report): void {
  const found = `(found "${subject}")`
  if (owner === 'all') {
    if (!isLiteral(subject)) report('subject', `must not contain *, because ${platform} uses plain ids ${found}`)
    return
  }
  const names = ownerClaims[platform] ?? []
  const parts = subject.split(/[:/]/)
  // GitHub and GitLab let customers choose other subjects.
  const isUsual = platform === 'github' ? parts[0] === 'repo' : platform !== 'gitlab' || parts[0] === 'project_path'
  if ((isUsual && isLiteral(parts[owner])) || names.some((name) => isLiteral(claims[name]))) return
  const others = names.length > 0 ? `, or claims must have one of ${names.join(', ')},` : ''
  const what = { github: 'the owner', gitlab: 'the group', kubernetes: 'the namespace', spiffe: 'the trust domain' }
  report(
    'subject',
    `must name ${what[platform as keyof typeof what]} without *${others} because others use ${platform} too ${found}`,
  )
}

function claimsAreNarrow({ claims }: Federated, report: Report): void {
  for (const [name, value] of Object.entries(claims)) {
    if (typeof value === 'string' && isEverything(value)) {
      report(['claims', name], `must not match every text (found "${value}")`)
    }
  }
}
