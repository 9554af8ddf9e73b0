import { Type } from 'typebox'
import { UserSchema } from '../../users/user-schema.ts'

export const LoginBody = Type.Object(
  {
    email: Type.String({ format: 'email', maxLength: 255 }),
    password: Type.String({ minLength: 1 }),
    remember: Type.Optional(
      Type.Unknown({
        description: 'Keep the browser signed in. True for `true`, `1`, `"1"`, `"true"`, `"on"`, `"yes"`.',
      }),
    ),
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
