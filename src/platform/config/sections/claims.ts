import { entry, flag, list, named, nullable, text } from './kinds.ts'

const names = (description: string, example: string[]) =>
  list(text({ maxLength: 255, description: 'A name.' }), { default: [], example, description })

const rule = entry('One claim.', {
  claim: text({
    pattern: '^[\\x21\\x23-\\x5B\\x5D-\\x7E]{1,100}$',
    expected: 'up to 100 printable ASCII characters without spaces, quotes and backslashes',
    example: 'grafana_role',
    description: 'The name of the claim. Claims that a standard or svc defines, such as sub or email, are refused.',
  }),
  clients: names('The client_ids of the clients that get it, in ID tokens and at UserInfo.', ['grafana']),
  apis: names('The names in apis of the APIs that get it, in access tokens of users and their introspection.', [
    'orders',
  ]),
  from: nullable(
    text({
      pattern: '^(?:groups|role|username|client|api|fields\\.[a-z][a-z0-9_]{0,49})$',
      expected: 'groups, role, username, client, api, or fields. and the name of a field',
      example: 'groups',
      description:
        'Where the value comes from: the user, the client_id of the client, or the name of the API. Either this or value.',
    }),
  ),
  value: nullable(text({ maxLength: 1_000, example: 'example.com', description: 'A fixed value.' })),
  map: named(
    { pattern: '^', expected: 'a value' },
    text({ maxLength: 1_000, description: 'The value of the claim.' }),
    {
      description:
        'The value of the claim for each value of from. Without it, the claim has the value itself. Other values are left out.',
      entries: [{ value: { 'grafana-admins': 'Admin', editors: 'Editor' } }],
    },
  ),
  first: flag({
    default: false,
    description:
      'Whether the claim is one text: the first entry of map that matches, in its order. Otherwise groups yield a list.',
  }),
  default: nullable(
    text({
      maxLength: 1_000,
      example: 'Viewer',
      description: 'The value without a match. By default the claim is then missing.',
    }),
  ),
})

/** Claims that the configuration composes for clients and APIs. */
export const claimSections = {
  claims: list(rule, {
    default: [],
    example: [
      {
        claim: 'grafana_role',
        clients: ['grafana'],
        from: 'groups',
        map: { 'grafana-admins': 'Admin', editors: 'Editor' },
        first: true,
        default: 'Viewer',
      },
    ],
    description: 'Claims for single clients and APIs, from groups, roles and fields of the user, or with fixed values.',
  }),
}
