import { ScureBase32Plugin } from 'otplib'
import { isMapping } from '../../../platform/config/walk.ts'
import { type ConvertedUser, FileError, jsonOf, textOf, textsOf } from './converted.ts'
import { linksIn } from './links.ts'

/** Reads the users of a realm export of Keycloak, also of its files with users only. Throws `FileError` for another file. */
export function keycloakUsers(text: string, { rolesAsGroups = false } = {}): ConvertedUser[] {
  const content = jsonOf(text)
  const users = isMapping(content) ? content.users : undefined
  if (!Array.isArray(users))
    throw new FileError(
      'The file has no users. Export the realm with "kc.sh export --users same_file --realm <realm> --file <file>".',
    )
  const providers = isMapping(content) ? publicProviders(content.identityProviders) : new Set<string>()
  return users.filter(isMapping).map((user, at) => {
    const credentials = (Array.isArray(user.credentials) ? user.credentials : []).filter(isMapping)
    const password = credentials.find(({ type }) => type === 'password')
    const [givenName, familyName] = [textOf(user.firstName), textOf(user.lastName)]
    const key = textOf(user.username) ?? `users[${at}]`
    const apps = credentials.filter(({ type }) => type === 'otp').map(authenticatorOf)
    const authenticator = apps.length === 1 ? (apps[0] ?? null) : null
    const roles = textsOf(user.realmRoles).filter((role) => !standardRole.test(role))
    const links = linksIn(user.federatedIdentities, { provider: 'identityProvider', id: 'userId' })
    const own = (type: string) => credentials.some((one) => one.type === type)
    return {
      ...{ key, email: textOf(user.email), username: textOf(user.username), givenName, familyName },
      name: [givenName, familyName].filter((part) => part !== null).join(' ') || key,
      passwordHash: password ? hashOf(password) : null,
      groups: [
        ...textsOf(user.groups).map((path) => path.replace(/^\/+/, '').replaceAll('/', '.')),
        ...(rolesAsGroups ? roles : []),
      ],
      authenticator,
      links: links.filter(({ given }) => providers.has(given)),
      ...{ verified: user.emailVerified === true, disabled: user.enabled === false },
      left: [
        ...(own('otp') && authenticator === null
          ? ['authenticator apps: svc has one, with SHA-1, six digits and 30 seconds; the user must set it up again']
          : []),
        ...(textsOf(user.requiredActions).includes('UPDATE_PASSWORD')
          ? ['that the password is temporary; send a reset link']
          : []),
        ...(own('webauthn') || own('webauthn-passwordless') ? ['passkeys, which the user must add again'] : []),
        ...(roles.length > 0 && !rolesAsGroups
          ? ['realm roles; svc has one role for each user (user:update --role), or see --roles-as-groups']
          : []),
        ...(links.some(({ given }) => !providers.has(given))
          ? ['links to identity providers of the realm with addresses of their own, which the user must link again']
          : []),
        ...(isMapping(user.clientRoles) ? ['client roles'] : []),
      ],
    }
  })
}

/**
 * The identity providers of the realm whose name says what they are. An administrator can give any name to a provider, and
 * another address to GitHub or GitLab, so that their users have other ids.
 */
function publicProviders(given: unknown): Set<string> {
  const found = (Array.isArray(given) ? given : []).filter(isMapping).flatMap(({ alias, providerId, config }) => {
    const addresses = isMapping(config) ? [config.baseUrl, config.apiUrl, config.authorizationUrl] : []
    const name = textOf(alias)
    return name !== null && alias === providerId && addresses.every((address) => textOf(address) === null) ? name : []
  })
  return new Set(found)
}

/** Realm roles that every user has. */
const standardRole = /^(default-roles-|offline_access$|uma_authorization$)/

/**
 * Returns the secret of an authenticator app in base32; null if svc does not support its parameters. Without `secretEncoding`,
 * Keycloak uses the bytes of the text as the key.
 */
function authenticatorOf({ secretData, credentialData }: Record<string, unknown>): string | null {
  const [{ value }, { subType, digits, period, algorithm, secretEncoding }] = [
    parsed(secretData),
    parsed(credentialData),
  ]
  const isUsual = subType === 'totp' && digits === 6 && period === 30 && algorithm === 'HmacSHA1'
  const text = textOf(value)
  if (!isUsual || text === null) return null
  return secretEncoding === 'BASE32' ? text : new ScureBase32Plugin().encode(Buffer.from(text), { padding: false })
}

const unpadded = (base64: string): string => base64.replace(/=+$/, '')

/** The password hash in PHC format; `unknown` for an algorithm that svc does not know. */
function hashOf({ secretData, credentialData }: Record<string, unknown>): string {
  const [secret, data] = [parsed(secretData), parsed(credentialData)]
  const [value, salt] = [textOf(secret.value), textOf(secret.salt)]
  const [, size] = /^pbkdf2(?:-sha(256|512))$/.exec(textOf(data.algorithm) ?? '') ?? []
  if (value === null || salt === null) return 'unknown'
  if (size) {
    // Earlier versions derived 64 bytes also with SHA-256. Each block of PBKDF2 stands alone, so the first one is enough.
    const derived = Buffer.from(value, 'base64').subarray(0, Number(size) / 8)
    return `$pbkdf2-sha${size}$i=${data.hashIterations}$${unpadded(salt)}$${unpadded(derived.toString('base64'))}`
  }
  if (data.algorithm !== 'argon2' || !isMapping(data.additionalParameters)) return 'unknown'
  const given = data.additionalParameters
  const [memory, lanes, type, version] = [given.memory, given.parallelism, given.type, given.version].map(
    (one) => textsOf([one].flat())[0],
  )
  if (version !== '1.3') return 'unknown'
  return `$argon2${type}$v=19$m=${memory},t=${data.hashIterations},p=${lanes}$${unpadded(salt)}$${unpadded(value)}`
}

function parsed(text: unknown): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(String(text))
    return isMapping(value) ? value : {}
  } catch {
    return {}
  }
}
