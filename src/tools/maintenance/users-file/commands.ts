import { type Command, type CommandOptions, command } from '../../../contract/command.ts'
import { reasonOption } from '../../../contract/command-origin.ts'
import { jsonOption } from '../../../contract/command-output.ts'
import type { ConvertedUser } from './converted.ts'

const options = {
  apply: { description: 'Write to the database of svc. Otherwise the command only reports what it would do' },
  json: jsonOption,
  ...reasonOption,
} as const satisfies CommandOptions

interface Source {
  name: string
  summary: string
  /** What the command reads, as the beginning of its details. */
  reads: string
  /** Description of the argument. */
  file: string
  convert(): Promise<(text: string) => ConvertedUser[]>
}

const importFrom = ({ name, summary, reads, file, convert }: Source): Command =>
  command({
    name,
    summary,
    details: `${reads}: names, addresses, password hashes, groups and disabled users. Reports what it would do and what svc cannot take over, and writes only with --apply. Can be repeated: users with an account stay as they are. Creates missing groups. Passwords keep working if the file has argon2, bcrypt, scrypt or PBKDF2 hashes. See docs/importing.md.`,
    arguments: [{ name: 'file', required: true, description: file }],
    options,
    run: async (context, { options: given, arguments: [path = ''] }) => {
      const [{ importFile }, users] = await Promise.all([import('./run.ts'), convert()])
      await importFile(context, path, given, users)
    },
  })

/** Commands that import users from a file of another server. */
export const userFileCommands = [
  importFrom({
    name: 'import:authelia',
    summary: 'Import the users of an Authelia file',
    reads: 'Reads users_database.yml',
    file: 'The file, such as users_database.yml',
    convert: async () => (await import('./authelia.ts')).autheliaUsers,
  }),
  importFrom({
    name: 'import:keycloak',
    summary: 'Import the users of a realm export of Keycloak',
    reads: 'Reads the JSON of "kc.sh export"',
    file: 'The exported file, such as realm.json',
    convert: async () => (await import('./keycloak.ts')).keycloakUsers,
  }),
]
