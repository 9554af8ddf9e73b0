import type { CommandInput, CommandOptions } from '../../../contract/command.ts'
import { reasonOption } from '../../../contract/command-origin.ts'
import { jsonOption } from '../../../contract/command-output.ts'

/** Options of the import. */
export const options = {
  apply: { description: 'Write to the database of svc. Otherwise the command only reports what it would do' },
  'app-key-file': {
    value: 'file',
    description:
      "Laravel's .env file, or a file with only APP_KEY, to decrypt second factors. By default the variable LARAVEL_APP_KEY",
  },
  'user-type': {
    value: 'class',
    description: 'The tokenable_type of users. By default App\\Models\\User, App\\User and user',
  },
  'unconfirmed-two-factor': {
    value: 'meaning',
    choices: ['active', 'ignore'],
    description:
      "Whether a second factor without two_factor_confirmed_at protects the account, as with Fortify's option confirm off",
  },
  clients: {
    description: 'Only print the clients of Passport as YAML for the configuration',
    excludes: 'apply',
  },
  json: jsonOption,
  ...reasonOption,
} as const satisfies CommandOptions

/** Input of the import. */
export type ImportInput = CommandInput<typeof options>
