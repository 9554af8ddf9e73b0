import { Type } from 'typebox'
import { rememberFlag } from '../../http/fields.ts'
import { UserSchema } from '../../users/user-schema.ts'

export const LoginBody = Type.Object(
  {
    email: Type.String({ format: 'email', maxLength: 255 }),
    password: Type.String({ minLength: 1 }),
    remember: rememberFlag,
  },
  { title: 'LoginRequest', additionalProperties: false },
)

export const LoginAnswer = Type.Object(
  {
    two_factor: Type.Boolean({ description: 'Whether a second factor is still asked for.' }),
    user: Type.Optional(UserSchema),
    message: Type.Optional(Type.String()),
  },
  { title: 'Login' },
)
