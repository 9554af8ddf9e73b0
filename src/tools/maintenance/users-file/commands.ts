import { type CommandOptions, command } from '../../../contract/command.ts'
import { reasonOption } from '../../../contract/command-origin.ts'
import { jsonOption } from '../../../contract/command-output.ts'

const options = {
  apply: { description: 'Write to the database of svc. Otherwise the command only reports what it would do' },
  json: jsonOption,
  ...reasonOption,
} as const satisfies CommandOptions

const shared =
  'Reports what it would do and what svc cannot take over, and writes only with --apply. Can be repeated: users with an account stay as they are. Creates missing groups. Passwords keep working if the file has argon2, bcrypt, scrypt or PBKDF2 hashes. See docs/importing.md.'

/** Commands that import users from a file of another server. */
export const userFileCommands = [
  command({
    name: 'import:authelia',
    summary: 'Import the users of an Authelia file',
    details: `Reads users_database.yml: names, addresses, password hashes, groups and disabled users. ${shared}`,
    arguments: [{ name: 'file', required: true, description: 'The file, such as users_database.yml' }],
    options,
    run: async (context, { options: { apply, json, reason }, arguments: [file = ''] }) => {
      const [{ importFile }, { autheliaUsers }] = await Promise.all([import('./run.ts'), import('./authelia.ts')])
      await importFile(context, { file, apply, json, ...(reason === undefined ? {} : { reason }) }, autheliaUsers)
    },
  }),
  command({
    name: 'import:keycloak',
    summary: 'Import the users of a realm export of Keycloak',
    details: `Reads the JSON of "kc.sh export": names, addresses, password hashes, groups and disabled users. ${shared}`,
    arguments: [{ name: 'file', required: true, description: 'The exported file, such as realm.json' }],
    options,
    run: async (context, { options: { apply, json, reason }, arguments: [file = ''] }) => {
      const [{ importFile }, { keycloakUsers }] = await Promise.all([import('./run.ts'), import('./keycloak.ts')])
      await importFile(context, { file, apply, json, ...(reason === undefined ? {} : { reason }) }, keycloakUsers)
    },
  }),
]
