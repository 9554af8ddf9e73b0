import { Type } from 'typebox'
import { emailField, rememberFlag } from '../../http/fields.ts'

export const LoginBody = Type.Object(
  {
    email: emailField(),
    password: Type.String({ minLength: 1, description: 'The password.' }),
    remember: rememberFlag,
  },
  { title: 'LoginRequest', additionalProperties: false },
)
