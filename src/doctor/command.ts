import { type CommandOptions, terminalCommand } from '../commands.ts'

const options = {
  config: {
    value: 'file',
    description: 'The configuration of the deployment: also checks its database, Redis, mail server and proxies',
  },
  json: { description: 'Print JSON' },
} as const satisfies CommandOptions

/** Checks a deployment. */
export const doctorCommands = [
  terminalCommand({
    name: 'doctor',
    summary: 'Check a deployment from the outside',
    details:
      'Checks TLS, headers, discovery, cookies, proxies and the clock, and with --config also the database, Redis and mail. Sends no credentials and no mail, and changes nothing. Exits with 1 if a check fails.',
    arguments: [{ name: 'url', description: 'The address of the deployment. By default app.url of --config' }],
    options,
    run: async (terminal, { arguments: [address], options: { config: file, json } }) => {
      const { doctor } = await import('./doctor.ts')
      await doctor(terminal, { address, file }, json)
    },
  }),
]
