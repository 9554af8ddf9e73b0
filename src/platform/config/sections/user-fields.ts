import { languages } from '../../languages/languages.ts'
import { choice, entry, integer, list, named, nullable, text } from './kinds.ts'

const count = (description: string, example: number) =>
  nullable(integer({ minimum: 0, maximum: 1_000_000, example, description }))

const bound = (description: string) =>
  nullable(integer({ minimum: -1_000_000_000, maximum: 1_000_000_000, example: 1, description }))

const writer = choice(['user', 'admin', 'provider'], { description: 'Who may write the field.' })
const reader = choice(['user', 'admin'], { description: 'Who may read the field.' })

const schema = entry(
  'Which values are valid, in terms of JSON Schema.',
  {
    type: choice(['string', 'integer', 'number', 'boolean', 'array'], {
      example: 'string',
      description: 'The type. An array has texts.',
    }),
    enum: nullable(
      list(text({ maxLength: 255, description: 'A text.' }), {
        minItems: 1,
        maxItems: 200,
        example: ['sales', 'support'],
        description: 'The texts to choose from, for a string, or for the items of an array.',
      }),
    ),
    minLength: count('The minimum length of a string, or of the items of an array.', 1),
    maxLength: count('The maximum length of a string, or of the items of an array. At most, and by default, 1000.', 40),
    pattern: nullable(
      text({
        example: '^[A-Z]{2}[0-9]+$',
        description: 'A regular expression that a string, or each item, must match.',
      }),
    ),
    minimum: bound('The least number.'),
    maximum: bound('The greatest number.'),
    maxItems: count('The maximum number of items of an array. At most, and by default, 100.', 10),
  },
  {
    ...{ type: 'string', enum: ['sales', 'support'], minLength: 1, maxLength: 40, pattern: '^[a-z]+$' },
    ...{ minimum: null, maximum: null, maxItems: null },
  },
)

/** The languages of a text of the operator. */
const byLanguage = {
  pattern: `^(?:${languages.join('|')})$`,
  expected: `a language: ${languages.join(', ')}`,
}

/** Names of fields: they are part of error keys and of names in forms. */
const fieldNames = {
  pattern: '^[a-z][a-z0-9_]{0,49}$',
  expected: 'up to 50 lowercase letters, digits and _, beginning with a letter',
}

/** Fields of users that the operator declares. */
export const userFields = named(
  fieldNames,
  entry(
    'One field.',
    {
      schema,
      read: list(reader, {
        default: ['user', 'admin'],
        description:
          'Who may read the field: the user, at GET /api/user and on the account page, and administrators. Data exports of the user contain every field.',
      }),
      write: list(writer, {
        default: ['admin'],
        description:
          'Who may write the field: the user, administrators, and providers, as social.<provider>.fields says. Imports count as administrators.',
      }),
      registration: nullable(
        choice(['optional', 'required'], {
          example: 'optional',
          description: 'Whether registration asks for the field. By default not. Requires write: [user].',
        }),
      ),
      label: named(byLanguage, text({ maxLength: 100, description: 'The label.' }), {
        entries: [{ value: { en: 'Team', de: 'Team' } }],
        description: 'The label on pages, by language. By default that of i18n.default, or the name of the field.',
      }),
      claim: nullable(
        text({
          pattern: '^[\\x21\\x23-\\x5B\\x5D-\\x7E]{1,100}$',
          expected: 'up to 100 printable ASCII characters without spaces, quotes and backslashes',
          example: 'team',
          description: 'The claim in ID tokens and at UserInfo. By default none.',
        }),
      ),
      scope: choice(['profile', 'email', 'roles', 'groups'], {
        default: 'profile',
        description: 'The scope with which a client gets the claim.',
      }),
    },
    { schema: { type: 'string', maxLength: 40 }, write: ['user', 'admin'], claim: 'team' },
  ),
  {
    description: 'Fields of users, by name, besides those that every user has.',
    entries: [
      {
        value: {
          team: {
            schema: { type: 'string', maxLength: 40 },
            write: ['user', 'admin'],
            registration: 'optional',
            label: { en: 'Team' },
            claim: 'team',
          },
        },
      },
    ],
  },
)
