import { isMapping } from '../../../platform/config/walk.ts'
import { type ConvertedUser, FileError, jsonOf, textOf, textsOf } from './converted.ts'

/** Reads the users of a realm export of Keycloak, also of its files with users only. Throws `FileError` for another file. */
export function keycloakUsers(text: string): ConvertedUser[] {
  const content = jsonOf(text)
  const users = isMapping(content) ? content.users : undefined
  if (!Array.isArray(users))
    throw new FileError(
      'The file has no users. Export the realm with "kc.sh export --users realm_file --realm <realm> --file <file>".',
    )
  return users.filter(isMapping).map((user, at) => {
    const credentials = (Array.isArray(user.credentials) ? user.credentials : []).filter(isMapping)
    const password = credentials.find(({ type }) => type === 'password')
    const [givenName, familyName] = [textOf(user.firstName), textOf(user.lastName)]
    const key = textOf(user.username) ?? `users[${at}]`
    const own = (type: string) => credentials.some((one) => one.type === type)
    return {
      ...{ key, email: textOf(user.email), username: textOf(user.username), givenName, familyName },
      name: [givenName, familyName].filter((part) => part !== null).join(' ') || key,
      passwordHash: password ? hashOf(password) : null,
      groups: textsOf(user.groups).map((path) => path.replace(/^\/+/, '').replaceAll('/', '.')),
      ...{ verified: user.emailVerified === true, disabled: user.enabled === false },
      left: [
        ...(own('otp') ? ['the authenticator app, which the user must set up again'] : []),
        ...(own('webauthn') || own('webauthn-passwordless') ? ['passkeys, which the user must add again'] : []),
        ...(textsOf(user.realmRoles).some((role) => !/^(default-roles-|offline_access$|uma_authorization$)/.test(role))
          ? ['realm roles; svc has one role for each user (user:update --role)']
          : []),
        ...(isMapping(user.clientRoles) ? ['client roles'] : []),
        ...(Array.isArray(user.federatedIdentities) && user.federatedIdentities.length > 0
          ? ['links to identity providers, which the user must link again']
          : []),
      ],
    }
  })
}

const unpadded = (base64: string): string => base64.replace(/=+$/, '')

/** The password hash in PHC format; `unknown` for an algorithm that svc does not know. */
function hashOf({ secretData, credentialData }: Record<string, unknown>): string {
  const [secret, data] = [parsed(secretData), parsed(credentialData)]
  const [value, salt] = [textOf(secret.value), textOf(secret.salt)]
  const [, size] = /^pbkdf2(?:-sha(256|512))$/.exec(textOf(data.algorithm) ?? '') ?? []
  if (value === null || salt === null) return 'unknown'
  if (size) return `$pbkdf2-sha${size}$i=${data.hashIterations}$${unpadded(salt)}$${unpadded(value)}`
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
