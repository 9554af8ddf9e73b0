import type { Config } from '../platform/config/schema.ts'
import { type Static, Type } from '../platform/json-schema.ts'
import { type Fields, seenFields } from './fields.ts'
import type { User } from './user.ts'

/** User JSON, the same in all responses. */
export const UserSchema = Type.Object(
  {
    id: Type.Integer({ format: 'int64', description: 'The id of the user. It never changes.' }),
    name: Type.String({ description: 'The full name.' }),
    username: Type.String({
      description: 'A short name that is unique. It changes only if the user or an administrator changes it.',
    }),
    given_name: Type.Optional(Type.String({ description: 'The given name, if svc knows it.' })),
    family_name: Type.Optional(Type.String({ description: 'The family name, if svc knows it.' })),
    picture: Type.Optional(Type.String({ description: 'The URL of a picture, from a linked provider.' })),
    email: Type.String({ description: 'The email address.' }),
    // A type list instead of a union, because the serialiser would validate a union on every response.
    email_verified_at: Type.Unsafe<string | null>({
      type: ['string', 'null'],
      format: 'date-time',
      description: 'When the user verified the address; null if not verified.',
    }),
    pending_email: Type.Optional(
      Type.String({
        description: 'The new address, which takes effect once it is verified. Present only while a change is pending.',
      }),
    ),
    role: Type.String({ description: 'The role, which the configuration defines.' }),
    groups: Type.Unsafe<readonly string[]>({
      type: 'array',
      items: { type: 'string' },
      description: 'The names of the groups, sorted.',
    }),
    two_factor_enabled: Type.Boolean({ description: 'Whether a second factor is confirmed.' }),
    created_at: Type.String({ format: 'date-time', description: 'When the account was created.' }),
    updated_at: Type.String({ format: 'date-time', description: 'When the account was last changed.' }),
  },
  { title: 'User', description: 'The signed-in user.' },
)

const {
  id,
  name,
  username,
  given_name,
  family_name,
  picture,
  email,
  email_verified_at,
  pending_email,
  role,
  groups,
  two_factor_enabled,
  created_at,
  updated_at,
} = UserSchema.properties

/** Fields of the user that the operator declares. */
export const fields = Type.Unsafe<Fields>({
  type: 'object',
  additionalProperties: true,
  description: 'The fields in `users.fields` that the reader may see, by name; null for one without a value.',
})

/** User JSON for a caller. A third-party client sees only the fields of its scopes. */
export const SeenUserSchema = Type.Object(
  {
    id,
    name: Type.Optional(name),
    username: Type.Optional(username),
    given_name,
    family_name,
    picture,
    email: Type.Optional(email),
    email_verified_at: Type.Optional(email_verified_at),
    pending_email,
    role: Type.Optional(role),
    groups: Type.Optional(groups),
    fields: Type.Optional(fields),
    two_factor_enabled: Type.Optional(two_factor_enabled),
    created_at: Type.Optional(created_at),
    updated_at: Type.Optional(updated_at),
  },
  { title: 'CurrentUser', description: 'The signed-in user. Only `id` is always present.' },
)

type Field = keyof typeof UserSchema.properties

const hasFields = ({ users }: Pick<Config, 'users'>): boolean => Object.keys(users.fields).length > 0

/** User fields by scope. */
const fieldsOfScope: Readonly<Record<string, readonly Field[]>> = {
  profile: ['name', 'username', 'given_name', 'family_name', 'picture', 'created_at', 'updated_at'],
  email: ['email', 'email_verified_at'],
  roles: ['role'],
  groups: ['groups'],
}

/** Returns the user as these OpenID scopes allow; for null, with everything that the user may see. */
export function seenUser(
  user: User,
  scopes: readonly string[] | null,
  config: Pick<Config, 'users'>,
): Static<typeof SeenUserSchema> {
  if (scopes === null) {
    const { fields: stored, ...seen } = user
    return hasFields(config) ? { ...seen, fields: seenFields(config, stored, 'user') } : seen
  }
  const names = scopes.flatMap((scope) => fieldsOfScope[scope] ?? [])
  return { id: user.id, ...Object.fromEntries(names.map((field) => [field, user[field]])) }
}
