import { type Static, Type } from '../../platform/json-schema.ts'

const nullableDate = (description: string) =>
  Type.Union([Type.String({ format: 'date-time' }), Type.Null()], { description })

/** An API token in responses, without its secret. */
export const TokenSchema = Type.Object(
  {
    id: Type.Integer({ format: 'int64', description: 'The id of the token: its first part, before `|`.' }),
    tokenable_type: Type.String({ description: '`user`, as clients of Laravel Sanctum expect.' }),
    tokenable_id: Type.Integer({ format: 'int64', description: 'The id of the user.' }),
    name: Type.String({ description: 'The name that the user chose.' }),
    abilities: Type.Array(Type.String(), { description: 'What the token may do. `*` allows everything.' }),
    last_used_at: nullableDate('Updated at most once a minute.'),
    expires_at: nullableDate('Null if only the configured `expiration` limits the token.'),
    created_at: nullableDate('When the token was issued.'),
    updated_at: nullableDate('When the token was last changed.'),
  },
  { title: 'Token', description: 'An API token, without its secret.' },
)

export type ApiToken = Static<typeof TokenSchema>
