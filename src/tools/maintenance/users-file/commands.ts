import { type Command, type CommandOptions, command } from '../../../contract/command.ts'
import { reasonOption } from '../../../contract/command-origin.ts'
import { jsonOption } from '../../../contract/command-output.ts'
import type { ConvertedUser } from './converted.ts'

const options = {
  apply: { description: 'Write to the database of svc. Otherwise the command only reports what it would do' },
  json: jsonOption,
  ...reasonOption,
} as const satisfies CommandOptions

/** What all of them say, after what they read. */
const common =
  'Reports what it would do and what svc cannot take over, and writes only with --apply. Can be repeated: users with an account stay as they are. See docs/importing.md.'

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
    details: `${reads} ${common}`,
    arguments: [{ name: 'file', required: true, description: file }],
    options,
    run: async (context, { options: given, arguments: [path = ''] }) => {
      const [{ importConverted, readWith }, users] = await Promise.all([import('./run.ts'), convert()])
      await importConverted(context, readWith(path, users), given)
    },
  })

/** Commands that import users of another server. */
export const userFileCommands = [
  importFrom({
    name: 'import:auth0',
    summary: 'Import the users of an Auth0 export',
    reads:
      'Reads a user export (one JSON object per line), and the lines with bcrypt hashes that the support of Auth0 sends, in one file.',
    file: 'The exported file, such as users.ndjson',
    convert: async () => (await import('./auth0.ts')).auth0Users,
  }),
  importFrom({
    name: 'import:authelia',
    summary: 'Import the users of an Authelia file',
    reads: 'Reads users_database.yml: names, addresses, password hashes, groups and disabled users.',
    file: 'The file, such as users_database.yml',
    convert: async () => (await import('./authelia.ts')).autheliaUsers,
  }),
  command({
    name: 'import:better-auth',
    summary: 'Import the users of a better-auth application',
    details: `Reads the tables user and account in one state of the database, also while the application runs: names, addresses, password hashes (scrypt) and banned users. Put a password into PGPASSWORD or MYSQL_PWD. ${common}`,
    arguments: [
      {
        name: 'from',
        required: true,
        description: 'The database: file:<path>, postgresql://user@host:port/name or mariadb://user@host:port/name',
      },
    ],
    options,
    run: async (context, { options: given, arguments: [url = ''] }) => {
      const { importBetterAuth } = await import('./run-better-auth.ts')
      await importBetterAuth(context, url, given)
    },
  }),
  command({
    name: 'import:firebase',
    summary: 'Import the users of Firebase Authentication',
    details: `Reads the JSON of "firebase auth:export". Passwords keep working with the parameters of the project. ${common}`,
    arguments: [{ name: 'file', required: true, description: 'The exported file, such as users.json' }],
    options: {
      'hash-config': {
        value: 'file',
        description: 'The file with hash_config of the console (Authentication, Users, Password hash parameters)',
      },
      ...options,
    },
    run: async (context, { options: { 'hash-config': config, ...given }, arguments: [path = ''] }) => {
      const [{ importConverted, readWith }, { firebaseUsers, hashParameters }] = await Promise.all([
        import('./run.ts'),
        import('./firebase.ts'),
      ])
      const parameters = config === undefined ? null : readWith(config, hashParameters)
      await importConverted(
        context,
        readWith(path, (text) => firebaseUsers(text, parameters)),
        given,
      )
    },
  }),
  command({
    name: 'import:keycloak',
    summary: 'Import the users of a realm export of Keycloak, or print its clients',
    details: `Reads the JSON of "kc.sh export": names, addresses, password hashes (argon2, PBKDF2), authenticator apps, groups, links to identity providers and disabled users. With --clients, prints the clients for the configuration instead. ${common}`,
    arguments: [{ name: 'file', required: true, description: 'The exported file, such as realm.json' }],
    options: {
      clients: { description: 'Print the clients as a fragment of the configuration, and import nothing' },
      'roles-as-groups': { description: 'Add users to a group for each of their realm roles' },
      ...options,
    },
    run: async (
      context,
      { options: { clients, 'roles-as-groups': rolesAsGroups = false, ...given }, arguments: words },
    ) => {
      const [path = ''] = words
      const { importConverted, readWith } = await import('./run.ts')
      if (clients) {
        const { keycloakClients } = await import('./keycloak-clients.ts')
        return context.print(readWith(path, keycloakClients))
      }
      const { keycloakUsers } = await import('./keycloak.ts')
      await importConverted(
        context,
        readWith(path, (text) => keycloakUsers(text, { rolesAsGroups })),
        given,
      )
    },
  }),
]
