import { nullableText } from '../../../platform/http/fields.ts'
import { nameField } from '../../../platform/http/validation.ts'
import { Type } from '../../../platform/json-schema.ts'

const date = (description: string) => Type.String({ format: 'date-time', description })
const scopes = Type.Array(Type.String(), { description: 'The granted scopes.' })

export const PersonalTokenBody = Type.Object(
  {
    name: Type.String({ ...nameField, description: 'A name that the user recognizes.' }),
    scopes: Type.Optional(
      Type.Array(Type.String({ minLength: 1, maxLength: 255 }), {
        maxItems: 100,
        description: 'API scopes from `GET /oauth/scopes`. Without scopes, the token grants no access.',
      }),
    ),
  },
  { title: 'CreatePersonalAccessTokenRequest', additionalProperties: false },
)

export const PersonalToken = Type.Object(
  {
    id: Type.String({ description: 'The id of the token: the claim `jti` of the JWT.' }),
    name: Type.String({ description: 'The name that the user chose.' }),
    scopes,
    created_at: date('When the token was created.'),
    expires_at: date('When the token expires.'),
  },
  { title: 'PersonalToken', description: 'A personal access token, without the token itself.' },
)

export const PersonalTokenAnswer = Type.Object(
  { accessToken: Type.String({ description: 'The JWT, shown only once.' }), token: PersonalToken },
  { title: 'CreatedPersonalToken', description: 'A new personal access token.' },
)

/** The `jti` of a personal access token. */
export const PersonalTokenParams = Type.Object({
  id: Type.String({ pattern: '^[\\w-]{43}$', description: 'The id of the token.' }),
})

export const Scope = Type.Object(
  { id: Type.String({ description: 'The scope.' }), description: Type.String({ description: 'What it allows.' }) },
  { title: 'Scope', description: 'A scope of an API.' },
)

export const Authorization = Type.Object(
  {
    id: Type.String({ description: 'The id of this entry, for `DELETE /oauth/tokens/{id}`.' }),
    client: Type.Object(
      {
        id: Type.String({ description: 'The client id.' }),
        name: Type.String({ description: 'The name for people. For an unregistered client, its host.' }),
        claimed_name: Type.Union([Type.String(), Type.Null()], {
          description: 'The name that an unregistered client gives itself. Null for registered clients.',
        }),
      },
      { title: 'AuthorizedClient', description: 'An application.' },
    ),
    scopes,
    created_at: date('When the user first allowed the access.'),
    expires_at: Type.Union([Type.String({ format: 'date-time' }), Type.Null()], {
      description: 'When the refresh token of the application expires; null without one.',
    }),
  },
  { title: 'Authorization', description: 'A connected application, one entry per device.' },
)

export const AuthorizationParams = Type.Object({
  id: Type.String({ pattern: '^[0-9a-f]{64}$', description: 'The id of the authorization.' }),
})

export const FreshTokenBody = Type.Object(
  { resource: nullableText('The `audience` of an API in `apis`.', { maxLength: 2048 }) },
  { title: 'FreshTokenRequest' },
)

export const FreshTokenAnswer = Type.Object(
  {
    access_token: Type.String({ description: 'A JWT that ends with the session.' }),
    token_type: Type.String({ description: '`Bearer`.' }),
    expires_in: Type.Integer({ description: 'Seconds until the token expires.' }),
  },
  { title: 'FreshToken', description: 'An access token of the session.' },
)
