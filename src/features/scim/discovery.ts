import { groupSchema } from './groups.ts'
import { userSchema } from './user-resource.ts'

/** Maximum and default number of resources in a page. */
export const [maxResults, defaultResults] = [1_000, 100]

const core = 'urn:ietf:params:scim:schemas:core:2.0'

/** What the server can do (RFC 7643 section 5). */
export const serviceProviderConfig = (base: string) => ({
  schemas: [`${core}:ServiceProviderConfig`],
  patch: { supported: true },
  bulk: { supported: false, maxOperations: 0, maxPayloadSize: 0 },
  filter: { supported: true, maxResults },
  changePassword: { supported: false },
  sort: { supported: false },
  etag: { supported: true },
  authenticationSchemes: [
    {
      type: 'oauthbearertoken',
      name: 'Bearer token',
      description: 'An access token of a client with the scope svc:scim, or an API token with this ability.',
      specUri: 'https://www.rfc-editor.org/rfc/rfc6750',
      primary: true,
    },
  ],
  meta: { resourceType: 'ServiceProviderConfig', location: `${base}/ServiceProviderConfig` },
})

/** The types of resources (RFC 7643 section 6). */
export const resourceTypes = (base: string) =>
  (['User', 'Group'] as const).map((name) => ({
    schemas: [`${core}:ResourceType`],
    ...{ id: name, name, endpoint: `/${name}s`, description: name === 'User' ? 'A user account' : 'A group of users' },
    schema: name === 'User' ? userSchema : groupSchema,
    meta: { resourceType: 'ResourceType', location: `${base}/ResourceTypes/${name}` },
  }))

interface Attribute {
  name: string
  type?: 'string' | 'boolean' | 'complex' | 'reference'
  description: string
  multiValued?: boolean
  required?: boolean
  caseExact?: boolean
  mutability?: 'readOnly' | 'readWrite' | 'immutable'
  uniqueness?: 'none' | 'server'
  subAttributes?: Attribute[]
  referenceTypes?: string[]
  canonicalValues?: string[]
}

/** An attribute with all its characteristics (RFC 7643 section 7). */
const described = ({ subAttributes, ...given }: Attribute): object => ({
  ...{ type: 'string', multiValued: false, required: false, caseExact: false, mutability: 'readWrite' },
  ...{ returned: 'default', uniqueness: 'none' },
  ...given,
  ...(subAttributes ? { subAttributes: subAttributes.map(described) } : {}),
})

const readOnly = { mutability: 'readOnly' } as const

const userAttributes: Attribute[] = [
  {
    name: 'userName',
    description: 'The name at the client, such as an address.',
    required: true,
    uniqueness: 'server',
  },
  {
    name: 'name',
    type: 'complex',
    description: 'The parts of the name.',
    subAttributes: [
      { name: 'formatted', description: 'The full name.' },
      { name: 'givenName', description: 'The given name.' },
      { name: 'familyName', description: 'The family name.' },
    ],
  },
  { name: 'displayName', description: 'The full name.' },
  { name: 'active', type: 'boolean', description: 'Whether the user can sign in.' },
  {
    name: 'emails',
    type: 'complex',
    description: 'The email address. svc stores the primary one. userName takes its place if it is an address.',
    multiValued: true,
    required: true,
    subAttributes: [
      { name: 'value', description: 'The address.', required: true },
      { name: 'type', description: 'Always work.', canonicalValues: ['work'] },
      { name: 'primary', type: 'boolean', description: 'Always true.' },
    ],
  },
  {
    name: 'groups',
    type: 'complex',
    description: 'The groups of the user.',
    multiValued: true,
    ...readOnly,
    subAttributes: [
      { name: 'value', description: 'The id of the group.', ...readOnly },
      { name: '$ref', type: 'reference', referenceTypes: ['Group'], description: 'Its address.', ...readOnly },
      { name: 'display', description: 'Its displayName.', ...readOnly },
      { name: 'type', description: 'Always direct.', canonicalValues: ['direct'], ...readOnly },
    ],
  },
]

const groupAttributes: Attribute[] = [
  { name: 'displayName', description: 'The name at the client.', required: true, uniqueness: 'server' },
  {
    name: 'members',
    type: 'complex',
    description: 'The members whom SCIM clients manage.',
    multiValued: true,
    subAttributes: [
      { name: 'value', description: 'The id of the user.', mutability: 'immutable' },
      {
        name: '$ref',
        type: 'reference',
        referenceTypes: ['User'],
        description: 'Its address.',
        mutability: 'immutable',
      },
      { name: 'type', description: 'Always User.', canonicalValues: ['User'], mutability: 'immutable' },
    ],
  },
]

/** The schemas of the resources (RFC 7643 section 7). */
export const schemas = (base: string) =>
  [
    { id: userSchema, name: 'User', description: 'A user account', attributes: userAttributes },
    { id: groupSchema, name: 'Group', description: 'A group of users', attributes: groupAttributes },
  ].map(({ attributes, ...schema }) => ({
    schemas: [`${core}:Schema`],
    ...schema,
    attributes: attributes.map(described),
    meta: { resourceType: 'Schema', location: `${base}/Schemas/${schema.id}` },
  }))
