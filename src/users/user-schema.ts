import { Type } from 'typebox'

/** The user JSON, the same in every answer. */
export const UserSchema = Type.Object(
  {
    id: Type.Integer(),
    name: Type.String(),
    email: Type.String(),
    email_verified_at: Type.Union([Type.String({ format: 'date-time' }), Type.Null()]),
    role: Type.String(),
    two_factor_enabled: Type.Boolean(),
    created_at: Type.String({ format: 'date-time' }),
    updated_at: Type.String({ format: 'date-time' }),
  },
  { title: 'User', description: 'The signed-in user.' },
)
