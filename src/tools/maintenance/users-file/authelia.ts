import { parse } from 'yaml'
import { isMapping } from '../../../platform/config/walk.ts'
import { type ConvertedUser, FileError, textOf, textsOf } from './converted.ts'

/** Reads the users of Authelia's file backend (`users_database.yml`). Throws `FileError` for another file. */
export function autheliaUsers(text: string): ConvertedUser[] {
  let content: unknown
  try {
    content = parse(text)
  } catch (error) {
    throw new FileError(`The file is not YAML: ${(error as Error).message.split('\n')[0]}`)
  }
  const users = isMapping(content) ? content.users : undefined
  if (!isMapping(users)) throw new FileError('The file has no users. Expected the users_database.yml of Authelia.')
  return Object.entries(users).map(([key, given]) => {
    const user = isMapping(given) ? given : {}
    const [first] = textsOf(user.emails)
    const hash = textOf(user.password)
    return {
      ...{ key, email: textOf(user.email) ?? first ?? null, name: textOf(user.displayname) ?? key, username: key },
      ...{ givenName: textOf(user.given_name), familyName: textOf(user.family_name) },
      passwordHash: hash?.replace(/^\{(?:CRYPT|ARGON2)\}/i, '') ?? null,
      groups: textsOf(user.groups),
      // Authelia trusts the addresses of its file.
      ...{ verified: true, disabled: user.disabled === true, authenticator: null, links: [] },
      left: [],
    }
  })
}
