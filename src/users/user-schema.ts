import { Type } from 'typebox'

/** The user JSON, the same in every answer. */
export const UserSchema = Type.Object(
  {
    id: Type.Integer(),
    name: Type.String(),
    email: Type.String(),
    // A list of types, not a union: a union is told apart by running a validator on every answer.
    email_verified_at: Type.Unsafe<string | null>({ type: ['string', 'null'], format: 'date-time' }),
    role: Type.String(),
    two_factor_enabled: Type.Boolean(),
    created_at: Type.String({ format: 'date-time' }),
    updated_at: Type.String({ format: 'date-time' }),
  },
  { title: 'User', description: 'The signed-in user.' },
)
