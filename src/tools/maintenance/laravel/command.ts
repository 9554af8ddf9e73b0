import { command } from '../../../contract/command.ts'
import { options } from './options.ts'

/** Commands that import data of other applications. */
export const importCommands = [
  command({
    name: 'import:laravel',
    summary: 'Import the users of a Laravel application',
    details:
      'Reads one state of the database of Laravel, also while it runs: users with their password hashes and second factors, API tokens of Sanctum, passkeys and accounts at identity providers. Ids stay the same, and tokens stay valid. Reports what it would do, and writes only with --apply. Can be repeated. Put a password into PGPASSWORD or MYSQL_PWD, because other users of the machine can read command lines. See docs/importing.md.',
    arguments: [
      {
        name: 'from',
        required: true,
        description:
          'The database of Laravel: file:<path>, postgresql://user@host:port/name or mariadb://user@host:port/name',
      },
    ],
    options,
    // Loaded by this command only: other commands and the server need nothing of Laravel.
    run: async (context, input) => (await import('./import.ts')).importCommand(context, input),
  }),
]
