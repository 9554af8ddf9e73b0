import { choice, flag, list, section } from './kinds.ts'
import { userFields } from './user-fields.ts'

/** What users call themselves. */
export const userSections = {
  users: section('What svc stores about users. docs/users.md describes it.', {
    username: section(
      'A short name that applications show and use for files and accounts. Every user has one, and it never changes by itself.',
      {
        enabled: flag({
          default: false,
          description:
            'Whether users choose their username when they register. Otherwise, and for users who choose none, svc derives it once from the name and the id, such as ada-lovelace-42.',
        }),
        editable: flag({
          default: false,
          description:
            'Whether users can change their username. Applications that find their accounts by it then see another user.',
        }),
      },
    ),
    fields: userFields,
    name_parts: flag({
      default: false,
      description: 'Whether users can enter their given name and family name, besides the full name.',
    }),
  }),
}

/** How users name themselves when they sign in. */
export const loginIdentifiers = list(
  choice(['email', 'username'], { description: 'What a user signs in with, besides the password.' }),
  {
    default: ['email'],
    minItems: 1,
    example: ['email', 'username'],
    description:
      'What users can sign in with, besides the password. Programs send the field email or username. The sign-in page has one field for both.',
  },
)
