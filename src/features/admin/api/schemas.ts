import { TokenSchema } from '../../../auth/tokens/token-schema.ts'
import { type Fields, seenFields } from '../../../identity/fields.ts'
import { fields, UserSchema } from '../../../identity/user-schema.ts'
import type { Config } from '../../../platform/config/schema.ts'
import { nullable } from '../../../platform/http/fields.ts'
import { type TSchema, Type } from '../../../platform/json-schema.ts'

const date = (description: string) => Type.String({ format: 'date-time', description })
const nullableDate = (description: string) =>
  Type.Unsafe<string | null>({ type: ['string', 'null'], format: 'date-time', description })
const text = (description: string) => Type.String({ description })
const textOrNull = (description: string) => nullable({ ...text(description), type: 'string' })

const groupList = (description: string) =>
  Type.Unsafe<readonly string[]>({ type: 'array', items: { type: 'string' }, description })

const choice = (values: readonly [string, ...string[]], description: string) =>
  Type.Unsafe<string>({ type: 'string', enum: [...values], examples: [values[0]], description })

/** A page of records. */
export const pageOf = <Item extends TSchema>(item: Item, title: string) =>
  Type.Object(
    {
      data: Type.Array(item, { description: 'The records.' }),
      next: textOrNull('The cursor of the next page, for `after`; null on the last page.'),
    },
    { title, description: 'A page of records.' },
  )

export const AdminUser = Type.Object(
  {
    ...UserSchema.properties,
    disabled: Type.Boolean({ description: 'Whether the account is disabled.' }),
    fields: Type.Optional(fields),
  },
  { title: 'AdminUser', description: 'A user, as administrators see it.' },
)

/** A user, or a record with one, as administrators see it. */
export const adminView = <Record extends { fields?: Fields }>(record: Record, config: Config): Record => {
  const { fields: stored, ...seen } = record
  const shown = seenFields(config, stored, 'admin')
  return (Object.keys(shown).length > 0 ? { ...seen, fields: shown } : seen) as Record
}

export const Invitation = Type.Object(
  {
    id: Type.Integer({ format: 'int64', description: 'The id of the invitation.' }),
    email: text('The address that the invitation was mailed to.'),
    name: textOrNull('The name; null if the person chooses it.'),
    role: text('The role of the account.'),
    groups: groupList('The groups of the account.'),
    inviter: textOrNull('Who invited, such as `user:5` or `client:robot`; null for an operator.'),
    expires_at: date('When the link expires.'),
  },
  { title: 'AdminInvitation', description: 'An invitation.' },
)

export const AdminSession = Type.Object(
  {
    kind: choice(['session', 'remembered'], 'A session, or a remembered browser without one.'),
    id: text('The id, for `DELETE /admin/v1/sessions/{id}`. It cannot authenticate.'),
    ip_address: textOrNull('The address that the user signed in from.'),
    user_agent: textOrNull('The browser that the user signed in with.'),
    created_at: nullableDate('When the user signed in; null for a remembered browser.'),
    last_seen_at: date('When it was last used.'),
    impersonated: Type.Boolean({ description: 'Whether an administrator acts as the user in it.' }),
    bound: Type.Boolean({ description: 'Whether it is bound to a key of the browser (`session.bound`).' }),
  },
  { title: 'AdminSession', description: 'A session or a remembered browser.' },
)

export const AdminToken = Type.Object(
  {
    kind: choice(['api_token', 'personal_access_token'], 'An API token, or a personal access token (JWT).'),
    id: text('The id, for `DELETE /admin/v1/tokens/{id}`.'),
    name: text('The name that the user chose.'),
    abilities: Type.Array(Type.String(), {
      description: 'The abilities or scopes. `*` is every ability except `svc:admin`.',
    }),
    created_at: nullableDate('When the token was created.'),
    last_used_at: nullableDate('When an API token was last used.'),
    updated_at: nullableDate('When an API token was last changed.'),
    expires_at: nullableDate('When the token expires.'),
  },
  { title: 'AdminToken', description: 'A token, without its secret.' },
)

export const AdminEvent = Type.Object(
  {
    id: text('The id of the event.'),
    created_at: date('When it happened.'),
    type: text('The type of the event.'),
    outcome: choice(['success', 'failure'], 'The outcome.'),
    actor: textOrNull('Who acted, such as `user:5`, `client:robot` or `operator:ada`.'),
    target: textOrNull('What the event is about, such as `user:5`.'),
    user_id: Type.Unsafe<number | null>({
      type: ['integer', 'null'],
      description: 'The user; the account may be deleted.',
    }),
    client_id: textOrNull('The OAuth client.'),
    credential: textOrNull('The credential of the request, such as `session:<id>` or `token:5`.'),
    reason: textOrNull('Why the administrator acted, or why svc rejected the request.'),
    ip_address: textOrNull('The address of the request.'),
    user_agent: textOrNull('The browser or program of the request.'),
    request_id: textOrNull('The id of the request, as in the log.'),
    data: Type.Unsafe<object>({ type: 'object', additionalProperties: true, description: 'Facts of the event.' }),
    times: Type.Optional(Type.Integer({ description: 'How often it happened. Only for repeated failed sign-ins.' })),
    last_at: Type.Optional(date('When it last happened. Only for repeated failed sign-ins.')),
    cursor: text('Continues a list after this event.'),
  },
  { title: 'AdminEvent', description: 'A security event.' },
)

const Passkey = Type.Unsafe<object>({
  type: 'object',
  additionalProperties: true,
  description: 'A passkey: `id`, `name`, and when it was created and last used.',
})

const Link = Type.Object(
  {
    id: Type.Integer({ format: 'int64', description: 'The id of the link.' }),
    provider: text('The name of the provider.'),
    provider_id: text('The id of the user at the provider.'),
    email: textOrNull('The address at the provider.'),
    name: textOrNull('The name at the provider.'),
    created_at: nullableDate('When the account was linked.'),
    last_used_at: nullableDate('When the user last signed in with it.'),
  },
  { description: 'A linked account.' },
)

const { tokenable_type: _, tokenable_id: __, ...tokenFields } = TokenSchema.properties
const { kind: ___, ...sessionFields } = AdminSession.properties

export const UserDetails = Type.Object(
  {
    ...AdminUser.properties,
    memberships: Type.Array(
      Type.Object({
        group: text('The name of the group.'),
        source: text('Why the user is in it: `admin`, `invitation`, `import`, `scim`, or `provider:<name>`.'),
        created_at: date('Since when.'),
      }),
      { description: 'Why the user is in each group.' },
    ),
    has_password: Type.Boolean({ description: 'Whether the user can sign in with a password.' }),
    passkeys: Type.Array(Passkey, { description: 'At most 20 passkeys.' }),
    linked_accounts: Type.Array(Link, { description: 'At most 20 linked accounts.' }),
    sessions: Type.Array(Type.Object(sessionFields), { description: 'The latest 20 sessions.' }),
    tokens: Type.Array(Type.Object(tokenFields), { description: 'The first 20 API tokens.' }),
    personal_access_tokens: Type.Array(
      Type.Object({
        id: text('The id of the token.'),
        name: text('The name that the user chose.'),
        scopes: Type.Array(Type.String(), { description: 'The scopes.' }),
        created_at: date('When the token was created.'),
        expires_at: date('When the token expires.'),
      }),
      { description: 'The first 20 personal access tokens.' },
    ),
    events: Type.Array(AdminEvent, { description: 'The latest 20 events.' }),
  },
  { title: 'AdminUserDetails', description: 'A user with credentials, sessions, tokens, linked accounts and events.' },
)

const client = {
  client_id: text('The client_id.'),
  name: text('The name.'),
  type: text('`confidential` or `public`.'),
  application_type: text('`web` or `native`.'),
  authentication: text('The authentication method at the token endpoint.'),
  grants: Type.Array(Type.String(), { description: 'The grants.' }),
  scopes: Type.Array(Type.String(), { description: 'The scopes.' }),
  redirect_uris: Type.Array(Type.String(), { description: 'The redirect URIs.' }),
  first_party: Type.Boolean({ description: 'Whether svc skips the consent page.' }),
  registered: Type.Boolean({
    description:
      'Whether the configuration has the client. Others identify themselves by the URL of a metadata document.',
  }),
  claimed_name: Type.Union([Type.String(), Type.Null()], {
    description: 'What an unregistered client calls itself. Null for registered clients.',
  }),
  last_used_at: nullableDate('When an unregistered client last got a token. Null for registered clients.'),
}

export const AdminGroup = Type.Object(
  {
    name: text('The name.'),
    description: textOrNull('What the group is for.'),
    declared_in: Type.Unsafe<'configuration' | 'database'>({
      type: 'string',
      enum: ['configuration', 'database'],
      examples: ['database'],
      description: 'Where the group is declared.',
    }),
    members: Type.Integer({ description: 'The number of users in the group.' }),
  },
  { title: 'AdminGroup', description: 'A group of users.' },
)

export const AdminMember = Type.Object(
  {
    id: Type.Integer({ format: 'int64', description: 'The id of the user.' }),
    email: text('The email address.'),
    name: text('The full name.'),
    sources: Type.Array(Type.String(), {
      description: 'Why the user is in the group: `admin`, `invitation`, `import`, `scim`, or `provider:<name>`.',
    }),
  },
  { title: 'AdminGroupMember', description: 'A user of a group.' },
)

export const AdminClient = Type.Object(client, { title: 'AdminClient', description: 'An OAuth client.' })

export const BlockedHost = Type.Object(
  { host: text('The host. Its subdomains are blocked too.'), blocked_at: date('When it was blocked.') },
  { title: 'AdminBlockedHost', description: 'A host whose unregistered clients svc refuses.' },
)

export const ClientDetails = Type.Object(
  {
    ...client,
    has_secret: Type.Boolean({ description: 'Whether a secret or its hash is configured.' }),
    secrets: Type.Array(
      Type.Object({
        place: Type.Integer({ description: 'The place in the configuration. 1 is the newest secret.' }),
        last_used_at: nullableDate('When the client last used the secret, accurate to ten minutes. Null for never.'),
      }),
      { description: 'The secrets of a client that has several. Empty for others.' },
    ),
  },
  {
    title: 'AdminClientDetails',
    additionalProperties: true,
    description: 'All settings of an OAuth client, without its secret.',
  },
)

export const AdminKey = Type.Object(
  {
    kid: text('The key id.'),
    algorithm: text('The algorithm.'),
    state: choice(['next', 'signing', 'retired'], 'Whether the key signs, will sign, or no longer signs.'),
    readable: Type.Boolean({ description: 'Whether a secret of `app.secret` decrypts it.' }),
    created_at: date('When the key was created.'),
    signs_from: date('From when the key signs.'),
    retired_at: nullableDate('From when its successor signs.'),
  },
  { title: 'AdminKey', description: 'A signing key, without its private part.' },
)
