import { Type } from 'typebox'
import { emailField, idParameter, nullableText } from '../../http/fields.ts'
import { nameField } from '../../http/validation.ts'
import { UserSchema } from '../../users/user-schema.ts'

export const DeviceLoginBody = Type.Object(
  {
    email: emailField(),
    password: Type.String({ minLength: 1, description: 'The password.' }),
    device_name: Type.String({ ...nameField, description: 'Becomes the name of the token.' }),
    code: nullableText('The TOTP code of a user with a second factor.'),
    recovery_code: nullableText('A recovery code, instead of `code`.'),
  },
  { title: 'DeviceLoginRequest', additionalProperties: false },
)

export const DeviceLoginAnswer = Type.Object(
  {
    token: Type.String({ description: 'Plain text `<id>|<secret>`: shown this once.' }),
    user: UserSchema,
  },
  { title: 'DeviceLogin' },
)

export const CreateTokenBody = Type.Object(
  {
    token_name: Type.String({ ...nameField, description: 'A name that the user recognizes.' }),
    abilities: Type.Optional(
      Type.Unsafe<string[] | null>({
        type: ['array', 'null'],
        items: { type: 'string', minLength: 1, maxLength: 255 },
        maxItems: 100,
        description:
          'What the token may do; `["*"]` is everything, `[]` nothing. Default: as configured, or those of the token in use.',
      }),
    ),
    expires_at: Type.Optional(
      Type.Unsafe<string | null>({
        type: ['string', 'null'],
        format: 'date',
        description: 'A future date in ISO 8601. null: only `expiration` limits the token.',
      }),
    ),
  },
  { title: 'CreateTokenRequest', additionalProperties: false },
)

export const CreateTokenAnswer = Type.Object(
  {
    token: Type.String({ description: 'Plain text `<id>|<secret>`: shown this once.' }),
    message: Type.String({ description: 'A sentence for people.' }),
  },
  { title: 'CreatedToken' },
)

export const CurrentCredential = Type.Object(
  {
    kind: Type.Unsafe<'session' | 'token' | 'jwt'>({
      type: 'string',
      enum: ['session', 'token', 'jwt'],
      examples: ['token'],
      description: 'A session, an API token, or an access token of the OAuth server.',
    }),
    id: Type.String({ description: 'The id of the session or the API token, or the `jti` of the access token.' }),
    name: Type.Union([Type.String(), Type.Null()], {
      description: 'The name of an API token or a personal access token. Null for other credentials.',
    }),
    abilities: Type.Array(Type.String(), {
      description: 'The abilities of an API token, or the scopes of an access token. `*` is every ability.',
    }),
    expires_at: Type.Union([Type.String({ format: 'date-time' }), Type.Null()], {
      description: 'When the token expires, including the configured `expiration`. Null for no fixed time.',
    }),
  },
  { title: 'CurrentCredential', description: 'What a credential may do. Never contains its secret.' },
)

export const TokenParams = Type.Object({ id: idParameter('The id of the token.') })
