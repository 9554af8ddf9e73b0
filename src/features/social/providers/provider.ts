import type { Config } from '../../../platform/config/schema.ts'
import { oauth2Presets, openIdPresets, ownOpenId, type ProfileMap, plainMap } from './presets.ts'

export type ProviderConfig = Config['social'][string]

/** An identity provider: its configuration, completed with the preset. */
export interface SocialProvider {
  id: string
  label: string
  config: ProviderConfig
  /** Issuer of an OpenID provider; for custom OAuth 2.0 the origin, for presets empty. */
  issuer: string
  /** Endpoints of plain OAuth 2.0; OpenID endpoints are discovered. */
  endpoints: { authorization: string; token: string; userinfo: string } | null
  scope: string
  authorize: Readonly<Record<string, string>>
  reauthenticate: Readonly<Record<string, string>>
  provesTime: boolean
  usesNonce: boolean
  usesPkce: boolean
  /** Which addresses count as verified: none, those with a true claim, or also those without the claim. */
  trust: 'none' | 'claim' | 'without_claim'
  confirmsEmails: boolean
  readsUserInfo: boolean
  /** The claim with the workspace, which is part of the user's id; null for most providers. */
  workspace: string | null
  map: ProfileMap
  emails: 'github' | 'bitbucket' | null
  clientAuthentication: 'basic' | 'body'
  appSecretProof: boolean
}

/** Returns the configured provider with this id, or null. */
export function findProvider({ social }: Config, id: string): SocialProvider | null {
  const config = Object.hasOwn(social, id) ? social[id] : undefined
  if (!config) return null
  return isOpenId(id, config) ? openIdProvider(id, config) : oauth2Provider(id, config)
}

/** Returns all configured providers in the order of the file. */
export const listProviders = (config: Config): SocialProvider[] =>
  Object.keys(config.social).flatMap((id) => findProvider(config, id) ?? [])

const isOpenId = (id: string, { issuer, authorization_url }: ProviderConfig): boolean =>
  issuer !== undefined || (authorization_url === undefined && Object.hasOwn(openIdPresets, id))

/** Default label of a button. */
const titled = (id: string): string => id.charAt(0).toUpperCase() + id.slice(1)

function openIdProvider(id: string, config: ProviderConfig): SocialProvider {
  const preset = openIdPresets[id]
  const known = preset ?? ownOpenId
  // A custom issuer under a preset name uses generic behaviour, except for trust in addresses.
  const kind = config.issuer === undefined ? known : { ...ownOpenId, trustEmail: known.trustEmail }
  const { authorize = {}, reauthenticate = {}, lacks = [], provesTime = false } = kind
  return {
    id,
    label: config.label ?? preset?.label ?? titled(id),
    config,
    issuer: config.issuer ?? preset?.issuer({ tenant: config.tenant, host: config.host }) ?? '',
    endpoints: null,
    scope: [...new Set(['openid', ...(config.scopes ?? kind.scopes)])].join(' '),
    authorize,
    reauthenticate,
    provesTime,
    usesNonce: !lacks.includes('nonce'),
    usesPkce: !lacks.includes('pkce'),
    trust: trustOf(config, kind.trustEmail),
    confirmsEmails: false,
    readsUserInfo: !kind.skipsUserInfo,
    workspace: kind.workspace ?? null,
    map: {
      ...plainMap,
      id: 'sub',
      avatar: 'picture',
      ...mapped(config),
    },
    emails: null,
    // All servers must support Basic (RFC 6749 section 2.3.1); presets use the body.
    clientAuthentication: config.issuer === undefined ? 'body' : 'basic',
    appSecretProof: false,
  }
}

function oauth2Provider(id: string, config: ProviderConfig): SocialProvider {
  const preset = oauth2Presets[id]
  return {
    id,
    label: config.label ?? preset?.label ?? titled(id),
    config,
    // Another server under the same name has different users with the same ids.
    issuer: config.userinfo_url === undefined ? '' : new URL(config.userinfo_url).origin,
    endpoints: {
      authorization: config.authorization_url ?? preset?.authorization_url ?? '',
      token: config.token_url ?? preset?.token_url ?? '',
      userinfo: config.userinfo_url ?? preset?.userinfo_url ?? '',
    },
    scope: (config.scopes ?? preset?.scopes ?? []).join(preset?.scopeSeparator ?? ' '),
    authorize: preset?.authorize ?? {},
    reauthenticate: preset?.reauthenticate ?? {},
    provesTime: false,
    usesNonce: false,
    usesPkce: true,
    trust: trustOf(config, preset?.trustEmail ?? false),
    confirmsEmails: preset?.confirmsEmails ?? false,
    readsUserInfo: true,
    workspace: null,
    map: { ...plainMap, ...preset?.map, ...mapped(config) },
    emails: preset?.emails ?? null,
    clientAuthentication: preset?.clientAuthentication ?? 'body',
    appSecretProof: preset?.appSecretProof ?? false,
  }
}

function trustOf({ trust_email }: ProviderConfig, isDefault: boolean): SocialProvider['trust'] {
  if (trust_email === 'without_claim') return trust_email
  return (trust_email ?? isDefault) ? 'claim' : 'none'
}

/** Configured field names. */
const mapped = ({ map = {} }: ProviderConfig): Partial<ProfileMap> =>
  Object.fromEntries(Object.entries(map).filter(([, field]) => field !== undefined))
