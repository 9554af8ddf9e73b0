import { emailField, rememberFlag } from '../../platform/http/fields.ts'
import { Type } from '../../platform/json-schema.ts'

export const LoginBody = Type.Object(
  {
    email: emailField(),
    password: Type.String({ minLength: 1, description: 'The password.' }),
    remember: rememberFlag,
  },
  { title: 'LoginRequest', additionalProperties: false },
)
