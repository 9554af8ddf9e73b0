/** Built-in properties of a provider. */
interface Preset {
  label: string
  scopes: readonly string[]
  /** Default: space (RFC 6749 section 3.3). */
  scopeSeparator?: ','
  /** Whether to trust its verified addresses by default. */
  trustEmail: boolean
  /** Additional parameters of authorization requests. */
  authorize?: Readonly<Record<string, string>>
  /** Parameters that force a new sign-in, if the provider supports it. */
  reauthenticate?: Readonly<Record<string, string>>
}

/** A provider of OpenID Connect, whose discovery document names the endpoints. */
export interface OpenIdPreset extends Preset {
  issuer: (given: { tenant?: string | undefined; host?: string | undefined }) => string
  /** Protocol features that the provider does not support. */
  lacks?: readonly ('nonce' | 'pkce')[]
  /** Whether the user info endpoint has nothing that the ID token lacks. */
  skipsUserInfo?: true
  /** The claim with the workspace, without which `sub` is not unique. */
  workspace?: string
  /** Whether the provider returns the time of authentication (`auth_time`), which svc then checks. */
  provesTime?: true
}

/** Fields of a profile; dots select nested fields. */
export interface ProfileMap {
  id: string
  email: string
  email_verified: string
  name: string
  avatar: string
}

/** A provider of plain OAuth 2.0. */
export interface OAuth2Preset extends Preset {
  authorization_url: string
  token_url: string
  userinfo_url: string
  map: Partial<ProfileMap>
  /** Format of the list of verified addresses below `userinfo_url`. */
  emails?: 'github' | 'bitbucket'
  /** Client authentication method. Default: in the body. */
  clientAuthentication?: 'basic'
  /** Whether the provider sends confirmed addresses only, without a claim that says so. */
  confirmsEmails?: true
  /** Whether requests prove the client secret (Facebook's `appsecret_proof`). */
  appSecretProof?: true
}

const openid = ['openid', 'profile', 'email'] as const

/** OpenID providers by configuration key. */
export const openIdPresets: Readonly<Record<string, OpenIdPreset>> = {
  google: {
    label: 'Google',
    issuer: () => 'https://accounts.google.com',
    scopes: openid,
    trustEmail: true,
    reauthenticate: { prompt: 'select_account' },
  },
  microsoft: {
    label: 'Microsoft',
    issuer: ({ tenant }) => `https://login.microsoftonline.com/${tenant}/v2.0`,
    scopes: openid,
    // Administrators of any tenant can set any address.
    trustEmail: false,
    // Its user info has a part of these claims, and rejects some kinds of accounts.
    skipsUserInfo: true,
    reauthenticate: { prompt: 'login' },
  },
  apple: {
    label: 'Apple',
    issuer: () => 'https://appleid.apple.com',
    scopes: ['openid', 'name', 'email'],
    trustEmail: true,
    // Required with these scopes.
    authorize: { response_mode: 'form_post' },
  },
  gitlab: {
    label: 'GitLab',
    issuer: ({ host = 'gitlab.com' }) => `https://${host}`,
    scopes: openid,
    trustEmail: true,
    reauthenticate: { prompt: 'login', max_age: '0' },
    provesTime: true,
  },
  linkedin: {
    label: 'LinkedIn',
    issuer: () => 'https://www.linkedin.com/oauth',
    scopes: openid,
    trustEmail: true,
    // Its tokens have no nonce, and it rejects PKCE for web apps.
    lacks: ['nonce', 'pkce'],
  },
  slack: {
    label: 'Slack',
    issuer: () => 'https://slack.com',
    scopes: openid,
    workspace: 'https://slack.com/team_id',
    trustEmail: true,
  },
}

/** Defaults of a custom OpenID provider. */
export const ownOpenId: Omit<OpenIdPreset, 'label' | 'issuer'> = {
  scopes: openid,
  trustEmail: true,
  reauthenticate: { prompt: 'login', max_age: '0' },
  provesTime: true,
}

/** Plain OAuth 2.0 providers by configuration key. */
export const oauth2Presets: Readonly<Record<string, OAuth2Preset>> = {
  github: {
    label: 'GitHub',
    authorization_url: 'https://github.com/login/oauth/authorize',
    token_url: 'https://github.com/login/oauth/access_token',
    userinfo_url: 'https://api.github.com/user',
    scopes: ['read:user', 'user:email'],
    map: { avatar: 'avatar_url' },
    emails: 'github',
    trustEmail: true,
    reauthenticate: { prompt: 'select_account' },
  },
  bitbucket: {
    label: 'Bitbucket',
    authorization_url: 'https://bitbucket.org/site/oauth2/authorize',
    token_url: 'https://bitbucket.org/site/oauth2/access_token',
    userinfo_url: 'https://api.bitbucket.org/2.0/user',
    scopes: ['account', 'email'],
    map: { id: 'uuid', name: 'display_name', avatar: 'links.avatar.href' },
    emails: 'bitbucket',
    trustEmail: true,
  },
  facebook: {
    label: 'Facebook',
    authorization_url: 'https://www.facebook.com/v23.0/dialog/oauth',
    token_url: 'https://graph.facebook.com/v23.0/oauth/access_token',
    userinfo_url: 'https://graph.facebook.com/v23.0/me?fields=id,name,email,picture',
    scopes: ['public_profile', 'email'],
    scopeSeparator: ',',
    map: { avatar: 'picture.data.url' },
    trustEmail: false,
    appSecretProof: true,
    reauthenticate: { auth_type: 'reauthenticate' },
  },
  x: {
    label: 'X',
    authorization_url: 'https://x.com/i/oauth2/authorize',
    token_url: 'https://api.x.com/2/oauth2/token',
    userinfo_url: 'https://api.x.com/2/users/me?user.fields=profile_image_url,confirmed_email',
    scopes: ['users.read', 'tweet.read', 'users.email'],
    map: { id: 'data.id', email: 'data.confirmed_email', name: 'data.name', avatar: 'data.profile_image_url' },
    clientAuthentication: 'basic',
    confirmsEmails: true,
    trustEmail: false,
  },
  discord: {
    label: 'Discord',
    authorization_url: 'https://discord.com/oauth2/authorize',
    token_url: 'https://discord.com/api/oauth2/token',
    userinfo_url: 'https://discord.com/api/users/@me',
    scopes: ['identify', 'email'],
    map: { email_verified: 'verified', name: 'global_name' },
    trustEmail: false,
    reauthenticate: { prompt: 'consent' },
  },
}

/** Default profile fields of plain OAuth 2.0 providers. */
export const plainMap: ProfileMap = {
  id: 'id',
  email: 'email',
  email_verified: 'email_verified',
  name: 'name',
  avatar: 'avatar_url',
}
