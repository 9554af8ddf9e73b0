import { identifierFields } from '../../auth/sign-in/identifier.ts'
import type { TokenProof } from '../../auth/tokens/first-factor.ts'
import { UserSchema } from '../../identity/user-schema.ts'
import { idParameter, nullable, nullableText } from '../../platform/http/fields.ts'
import { nameField, requiredFields } from '../../platform/http/validation.ts'
import { type Static, Type } from '../../platform/json-schema.ts'

const password = ['email', 'password', 'device_name']

const LoginFields = Type.Object({
  ...identifierFields,
  password: Type.Optional(nullable(Type.String({ minLength: 1, description: 'The password.' }))),
  device_name: Type.Optional(
    nullable(Type.String({ ...nameField, description: 'Becomes the name of the token. Not needed with `challenge`.' })),
  ),
  code: nullableText('The TOTP code of a user with a second factor.'),
  recovery_code: nullableText('A recovery code, instead of `code`.'),
  terms: nullableText('The version of the terms that the user accepts, after 422 with `terms_not_accepted`.'),
  challenge: nullableText(
    'From the response that required a second factor or the terms. Replaces all fields except `code` and `terms`.',
    {
      maxLength: 4_096,
    },
  ),
})

export type DeviceLogin = Static<typeof LoginFields>

/**
 * Returns the body schema with the fields of all proofs. If the body has the fields of several, the first proof by
 * name applies. Without any, the password does.
 */
export const deviceLoginBody = (proofs: readonly TokenProof[]): typeof LoginFields =>
  Type.Object(Object.assign({}, LoginFields.properties, ...proofs.map(({ fields }) => fields)), {
    title: 'DeviceLoginRequest',
    additionalProperties: false,
    [requiredFields]: [
      { field: 'challenge', required: [] },
      ...proofs.map(({ name, required }) => ({ field: name, required: [...required, 'device_name'] })),
      { field: 'username', required: ['password', 'device_name'] },
      { field: null, required: password },
    ],
  })

export const DeviceLoginAnswer = Type.Object(
  {
    token: Type.String({ description: 'Plain text `<id>|<secret>`: shown only once.' }),
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
    token: Type.String({ description: 'Plain text `<id>|<secret>`: shown only once.' }),
    message: Type.String({ description: 'A message for people. Its wording may change.' }),
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
