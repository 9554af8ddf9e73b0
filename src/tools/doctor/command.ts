import { type CommandOptions, terminalCommand } from '../../contract/command.ts'

const options = {
  config: {
    value: 'file',
    description:
      'The configuration of the deployment, whose database, Redis, mail server and proxies are checked too. By default that of SVC_CONFIG, unless an address is given',
  },
  json: { description: 'Print JSON' },
} as const satisfies CommandOptions

/** Checks a deployment. */
export const doctorCommands = [
  terminalCommand({
    name: 'doctor',
    summary: 'Check a deployment from the outside',
    details:
      'Checks TLS, headers, discovery, cookies, proxies and the clock, and with a configuration also the database, Redis and mail. Sends no credentials and no mail, and changes nothing. Exits with 1 if a check fails.',
    arguments: [{ name: 'url', description: 'The address of the deployment. By default app.url of the configuration' }],
    options,
    run: async (terminal, { arguments: [address], options: { config: file, json } }) => {
      const { doctor } = await import('./doctor.ts')
      await doctor(terminal, { address, file }, json)
    },
  }),
]
