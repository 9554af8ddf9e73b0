import { isMapping } from '../../../platform/config/walk.ts'
import { type ConvertedUser, FileError, jsonOf, textOf } from './converted.ts'
import { linksIn } from './links.ts'

/** Parameters of the hashes of a project, in base64 without padding. */
interface HashParameters {
  signerKey: string
  saltSeparator: string
  rounds: string
  memCost: string
}

/** Base64 of both alphabets as PHC strings have it. */
const phc = (base64: string): string => base64.replaceAll('-', '+').replaceAll('_', '/').replace(/=+$/, '')

/** Reads `hash_config { … }` as the console of Firebase shows it. Throws `FileError` for another text. */
export function hashParameters(text: string): HashParameters {
  const value = (name: string): string => {
    const [, found] = new RegExp(`${name}"?\\s*[:=]\\s*"?([\\w+/=-]+)`).exec(text) ?? []
    if (found === undefined) {
      throw new FileError(
        `The file has no ${name}. Copy hash_config of the console of Firebase (Authentication, Users, Password hash parameters).`,
      )
    }
    return found
  }
  if (!/SCRYPT/i.test(value('algorithm'))) throw new FileError('The algorithm of hash_config must be SCRYPT.')
  return {
    signerKey: phc(value('base64_signer_key')),
    saltSeparator: phc(value('base64_salt_separator')),
    rounds: value('rounds'),
    memCost: value('mem_cost'),
  }
}

/** Reads the file of `firebase auth:export --format=JSON`. Throws `FileError` for another file. */
export function firebaseUsers(text: string, parameters: HashParameters | null): ConvertedUser[] {
  const content = jsonOf(text)
  const users = isMapping(content) ? content.users : undefined
  if (!Array.isArray(users)) {
    throw new FileError('The file has no users. Export them with "firebase auth:export users.json --format=JSON".')
  }
  return users.filter(isMapping).map((user, at) => {
    const key = textOf(user.localId) ?? `users[${at}]`
    const [hash, salt] = [textOf(user.passwordHash), textOf(user.salt)]
    return {
      ...{ key, email: textOf(user.email), username: null, givenName: null, familyName: null },
      name: textOf(user.displayName) ?? textOf(user.email) ?? key,
      passwordHash: hash === null || salt === null ? null : hashOf(hash, salt, parameters),
      groups: [],
      ...{ verified: user.emailVerified === true, disabled: user.disabled === true, authenticator: null },
      links: linksIn(user.providerUserInfo, { provider: 'providerId', id: 'rawId' }).filter(
        ({ given }) => !['password', 'phone'].includes(given),
      ),
      left: [
        ...(textOf(user.phoneNumber) === null ? [] : ['the telephone number']),
        ...(user.mfaInfo === undefined ? [] : ['second factors, which the user must set up again']),
        ...(textOf(user.customAttributes) === null ? [] : ['custom claims']),
      ],
    }
  })
}

/** The hash with the parameters of its project; `unknown` without them. */
function hashOf(hash: string, salt: string, parameters: HashParameters | null): string {
  if (!parameters) return 'unknown'
  const { signerKey, saltSeparator, rounds, memCost } = parameters
  return `$fbscrypt$v=1,n=${memCost},r=${rounds},p=1,ss=${saltSeparator},sk=${signerKey}$${phc(salt)}$${phc(hash)}`
}
