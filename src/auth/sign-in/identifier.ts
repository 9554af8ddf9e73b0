import { canonicalUsername, isUsername } from '../../identity/username.ts'
import type { Config } from '../../platform/config/schema.ts'
import { validationFailed } from '../../platform/errors.ts'
import { emailField, nullable, nullableText } from '../../platform/http/fields.ts'
import { isEmail } from '../../platform/http/formats.ts'
import { Type } from '../../platform/json-schema.ts'

/** What a person signs in with, besides the password. */
export type Identifier = { email: string } | { username: string }

type LoginConfig = Pick<Config, 'login'>

/** The fields of a sign-in by password. */
export const identifierFields = {
  email: Type.Optional(nullable(emailField())),
  username: nullableText('The username, in place of `email`, where `login.identifiers` lists it.', { maxLength: 255 }),
}

/** Returns what a body names. Throws 422 for an invalid username, for nothing that `login.identifiers` lists, or without a password. */
export function identifierOf(
  { login: { identifiers } }: LoginConfig,
  { email, username, password }: { readonly [Name in 'email' | 'username' | 'password']?: string | null | undefined },
): Identifier & { password: string } {
  const named: Identifier | null =
    email && identifiers.includes('email')
      ? { email }
      : username && identifiers.includes('username')
        ? { username: canonicalUsername(username) }
        : null
  if (named && 'username' in named && !isUsername(named.username)) {
    throw validationFailed({ username: ['The username field is invalid.'] })
  }
  if (named && password) return { ...named, password }
  const missing = [...(named ? [] : [identifiers[0] ?? 'email']), ...(password ? [] : ['password'])]
  throw validationFailed(Object.fromEntries(missing.map((field) => [field, [`The ${field} field is required.`]])))
}

/** Returns what a text names: an address or a username. Null if it is neither, or `login.identifiers` does not list it. */
export function typedIdentifier({ login: { identifiers } }: LoginConfig, typed: string): Identifier | null {
  const text = typed.trim()
  if (text.includes('@')) return identifiers.includes('email') && isEmail(text) ? { email: text } : null
  const username = canonicalUsername(text)
  return identifiers.includes('username') && isUsername(username) ? { username } : null
}
