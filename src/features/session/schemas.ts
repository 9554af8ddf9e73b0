import { identifierFields } from '../../auth/sign-in/identifier.ts'
import { apiRequired } from '../../platform/http/description/described-schemas.ts'
import { nullable, rememberFlag } from '../../platform/http/fields.ts'
import { Type } from '../../platform/json-schema.ts'

export const LoginBody = Type.Object(
  {
    ...identifierFields,
    // The handler reports a missing one together with a missing identifier.
    password: Type.Optional(
      nullable({ ...Type.String({ minLength: 1, description: 'The password.', [apiRequired]: true }), type: 'string' }),
    ),
    remember: rememberFlag,
  },
  { title: 'LoginRequest', additionalProperties: false },
)
