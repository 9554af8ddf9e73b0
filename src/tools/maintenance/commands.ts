import { type CommandOptions, terminalCommand } from '../../contract/command.ts'
import { jsonOption } from '../../contract/command-output.ts'

const jsonOptions = { json: jsonOption } as const satisfies CommandOptions

const restoreOptions = {
  check: { description: 'Only check the backup, and change nothing' },
  'end-sessions': {
    description: 'Delete sessions, remembered browsers and grants of the backup',
    excludes: 'check',
  },
  json: jsonOption,
} as const satisfies CommandOptions

/** Loads the implementations, which need the drivers of both databases. */
const load = () => import('./data.ts')

/** Commands for the data as a whole. */
export const dataCommands = [
  terminalCommand({
    name: 'db:copy',
    summary: 'Copy all data to an empty database of either engine',
    details:
      'Copies one state of the source, also while svc runs on it, and compares rows and checksums of each table. Creates and migrates the target, and refuses one that has rows. Prints the tables, and progress on standard error. Put a password into PGPASSWORD or ~/.pgpass, because other users of the machine can read command lines.',
    arguments: [
      { name: 'from', required: true, description: 'The source: file:<path> or postgresql://user@host:port/name' },
      { name: 'to', required: true, description: 'The target, in the same form' },
    ],
    options: jsonOptions,
    run: async (terminal, { arguments: [from = '', to = ''], options: { json } }) =>
      (await load()).copy(terminal, [from, to], json),
  }),
  terminalCommand({
    name: 'db:status',
    summary: 'Show what a start of this version does to the database',
    details:
      'Lists the applied, pending and unknown migrations, and changes nothing. Exits with 0 if the schema is current, with 2 if a start applies migrations, and with 1 if a start fails, for example because a newer version migrated the database.',
    options: jsonOptions,
    run: async (terminal, { options: { json } }) => (await load()).status(terminal, json),
  }),
  terminalCommand({
    name: 'secret:check',
    summary: 'Show which data each secret of app.secret decrypts',
    details:
      'Reads the encrypted rows of the database and counts them by the secret that decrypts them; 1 is the first one. Changes nothing. Exits with 1 if some row needs another secret than the first, so that an old secret must stay.',
    options: jsonOptions,
    run: async (terminal, { options: { json } }) => (await import('./secret-check.ts')).checkSecrets(terminal, json),
  }),
  terminalCommand({
    name: 'passwords:index',
    summary: 'Make an index of leaked passwords for passwords.breached.file',
    details:
      'Reads a list of SHA-1 hashes in their order, one in each line, as the downloader of Have I Been Pwned writes it (haveibeenpwned-downloader). What follows a colon is ignored. Writes eight bytes for each hash, and replaces the index when it is complete, so that a running svc can use it at once.',
    arguments: [
      { name: 'list', required: true, description: 'The file with the list' },
      { name: 'index', required: true, description: 'The index to write' },
    ],
    options: { passwords: { description: 'The list contains passwords, in any order, instead of hashes' } },
    run: async ({ print }, { arguments: [list = '', index = ''], options: { passwords = false } }) => {
      const { indexPasswords } = await import('./breached-passwords.ts')
      print(`Indexed ${await indexPasswords(list, index, passwords)} passwords in ${index}.`)
    },
  }),
  terminalCommand({
    name: 'backup',
    summary: 'Back up the embedded database while svc runs',
    details:
      'Writes one state of the database to a new file that only the current user can read, and checks it. Overwrites nothing. app.secret is not part of it: store it in another place.',
    arguments: [{ name: 'file', required: true, description: 'The new file' }],
    options: jsonOptions,
    run: async (terminal, { arguments: [file = ''], options: { json } }) => (await load()).backup(terminal, file, json),
  }),
  terminalCommand({
    name: 'restore',
    summary: 'Replace the embedded database by a backup',
    details:
      'Checks the backup first: integrity, and that this version knows its schema. Refuses to run while svc uses the database. Keeps the old database beside it. Credentials that were revoked since the backup work again: see docs/backup.md.',
    arguments: [{ name: 'file', required: true, description: 'The backup' }],
    options: restoreOptions,
    run: async (terminal, { arguments: [file = ''], options }) => (await load()).runRestore(terminal, file, options),
  }),
]
