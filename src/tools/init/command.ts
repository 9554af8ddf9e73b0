import { type CommandOptions, terminalCommand } from '../../contract/command.ts'
import { deployments, proxies } from './answers.ts'

const options = {
  url: { value: 'origin', description: 'The public address of svc' },
  database: {
    value: 'database',
    description: 'The database: sqlite, a PostgreSQL URL, or postgresql (Compose only) to run PostgreSQL beside svc',
  },
  mail: { value: 'url', description: 'The mail server, such as smtp://user:password@host:587, or log to print mails' },
  frontend: { value: 'origin', description: "The address of your own front end, or pages for svc's pages" },
  admin: { value: 'address', description: 'The email address of the first administrator, or none' },
  deploy: { value: 'way', choices: deployments, description: 'How svc will run' },
  proxy: { value: 'proxy', choices: proxies, description: 'The proxy in front of svc' },
  directory: { value: 'directory', description: 'Where to write the files. By default the working directory' },
  yes: { description: 'Take the defaults instead of asking. Never replaces a file' },
} as const satisfies CommandOptions

/** Writes the files of a new deployment. */
export const initCommands = [
  terminalCommand({
    name: 'init',
    summary: 'Write the configuration of a new deployment',
    details:
      'Asks for what no option says, and writes svc.yaml, the secrets, and the files of the chosen deployment: compose.yaml, values.yaml for Helm, or svc.service, and the site of the proxy. Checks the configuration, the database and the mail server, and prints the next commands. Existing files stay, unless you agree to replace them.',
    options,
    run: async (terminal, { options: given }) => {
      const { init } = await import('./init.ts')
      await init(terminal, given)
    },
  }),
]
