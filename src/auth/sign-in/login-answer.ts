import { UserSchema } from '../../identity/user-schema.ts'
import { Type } from '../../platform/json-schema.ts'

export const LoginAnswer = Type.Object(
  {
    two_factor: Type.Boolean({ description: 'Whether a second factor is still asked for.' }),
    user: Type.Optional(UserSchema),
    message: Type.Optional(
      Type.String({ description: 'A message for people. Its wording may change. Only after a complete sign-in.' }),
    ),
  },
  { title: 'Login', description: 'The state of the sign-in. `user` is absent while a second factor is pending.' },
)
