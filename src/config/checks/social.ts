import type { Report as Sink } from '../findings.ts'
import { isLoopback } from '../hosts.ts'
import type { Config } from '../schema.ts'

type Provider = Config['social'][string]
type Report = (key: string | readonly [string, number], message: string) => void
type Rule = (id: string, provider: Provider, report: Report, config: Config) => void

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
  plainHttpIsLocal,
  redirectUrisAreBare,
  openIdHasIssuer,
]

/** Rules for identity providers. */
export const socialChecks: readonly ((config: Config, sink: Sink) => void)[] = [
  (config, sink) => {
    for (const [id, provider] of Object.entries(config.social)) {
      const report: Report = (key, message) => sink(['social', id, ...[key].flat()], message)
      for (const rule of rules) rule(id, provider, report, config)
    }
  },
]

function providerIsKnownOrDescribed(id: string, provider: Provider, report: Report): void {
  const given = ENDPOINTS.filter((key) => provider[key] !== undefined)
  if (provider.issuer !== undefined) {
    for (const key of given) report(key, 'cannot be combined with issuer, whose discovery document contains it')
    return
  }
  if (PRESETS.includes(id) && given.length === 0) return
  if (given.length === 0) {
    report(
      'issuer',
      `is required for providers other than ${PRESETS.join(', ')}, unless it has ${ENDPOINTS.join(', ')}`,
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

function plainHttpIsLocal(_id: string, provider: Provider, report: Report, { app }: Config): void {
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
