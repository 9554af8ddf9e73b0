import type { Config } from '../platform/config/schema.ts'
import { nullableText } from '../platform/http/fields.ts'
import { Type } from '../platform/json-schema.ts'
import { type AttributeChanges, type Attributes, newAttributes } from './attributes.ts'
import type { Fields } from './fields.ts'
import { requireUsername } from './username.ts'

const namePart = (description: string) => nullableText(description, { maxLength: 255, format: 'name' })

/** The fields with which users name themselves, besides the full name. */
export const nameFields = {
  username: nullableText('The username, where `users.username` allows it. By default derived from the name.', {
    maxLength: 255,
  }),
  given_name: namePart('The given name, where `users.name_parts` allows it.'),
  family_name: namePart('The family name, where `users.name_parts` allows it.'),
}

/** Values for the fields in `users.fields`. */
export const fieldsField = Type.Optional(
  Type.Unsafe<Fields | null>({
    type: ['object', 'null'],
    additionalProperties: true,
    maxProperties: 100,
    description: 'Values of the fields in `users.fields`, by name. null removes a value, and others stay.',
  }),
)

type GivenNames = { readonly [Name in keyof typeof nameFields]?: string | null | undefined }

/** The given name and the family name of a body: null removes one, and undefined keeps it. */
export const chosenParts = (
  { users }: Pick<Config, 'users'>,
  { given_name, family_name }: GivenNames,
): AttributeChanges =>
  users.name_parts
    ? { given_name: given_name?.trim() || given_name, family_name: family_name?.trim() || family_name }
    : {}

/** The names that an administrator gives a user. Throws 422 for an invalid username. */
export function givenNames({ username, given_name, family_name }: GivenNames): {
  username?: string
  parts: AttributeChanges
} {
  return {
    ...(username ? { username: requireUsername(username, 'administrator') } : {}),
    parts: { given_name, family_name },
  }
}

/** The names that a new user chose. Throws 422 for an invalid username. */
export function chosenNames(
  config: Pick<Config, 'users'>,
  body: GivenNames,
): { username?: string | undefined; attributes: Attributes } {
  const { username } = body
  return {
    username: username && config.users.username.enabled ? requireUsername(username, 'user') : undefined,
    attributes: newAttributes(chosenParts(config, body)),
  }
}
