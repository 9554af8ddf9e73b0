import { type Static, Type } from 'typebox'
import type { User } from './user.ts'

/** The user JSON, the same in every answer. */
export const UserSchema = Type.Object(
  {
    id: Type.Integer(),
    name: Type.String(),
    email: Type.String(),
    // A list of types, not a union: a union is told apart by running a validator on every answer.
    email_verified_at: Type.Unsafe<string | null>({ type: ['string', 'null'], format: 'date-time' }),
    pending_email: Type.Optional(
      Type.String({ description: 'A new address that takes effect once it is verified; only while there is one.' }),
    ),
    role: Type.String(),
    two_factor_enabled: Type.Boolean(),
    created_at: Type.String({ format: 'date-time' }),
    updated_at: Type.String({ format: 'date-time' }),
  },
  { title: 'User', description: 'The signed-in user.' },
)

/** The user JSON as a caller sees it: a third-party client reads only the fields of its scopes. */
export const SeenUserSchema = Type.Object(
  { id: UserSchema.properties.id, ...Type.Partial(Type.Omit(UserSchema, ['id'])).properties },
  { title: 'SeenUser', description: 'The signed-in user. Only `id` is always present.' },
)

type Field = keyof typeof UserSchema.properties

/** Which fields a scope opens; no scope opens the others. */
const fieldsOfScope: Readonly<Record<string, readonly Field[]>> = {
  profile: ['name', 'created_at', 'updated_at'],
  email: ['email', 'email_verified_at'],
  roles: ['role'],
}

/** What a caller with these OpenID scopes sees of its user; everything with null. */
export function seenUser(user: User, scopes: readonly string[] | null): Static<typeof SeenUserSchema> {
  if (scopes === null) return user
  const fields = scopes.flatMap((scope) => fieldsOfScope[scope] ?? [])
  return { id: user.id, ...Object.fromEntries(fields.map((field) => [field, user[field]])) }
}
