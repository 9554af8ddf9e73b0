import { type CommandOptions, terminalCommand } from '../../contract/command.ts'

const options = {
  port: { value: 'port', range: [0, 65_535], default: 8000, description: 'The port on loopback. 0 chooses a free one' },
  config: {
    value: 'file',
    description: 'The configuration file. svc replaces its address, secret, database and services',
  },
} as const satisfies CommandOptions

/** A server for end-to-end tests. */
export const testServerCommands = [
  terminalCommand({
    name: 'test-server',
    summary: 'Start svc for end-to-end tests, with a temporary database and fixed users',
    details:
      'Listens on loopback only and refuses app.environment: production. Prints its address and users as one JSON line, and logs to standard error. Adds GET /__test/mails and POST /__test/clock. SIGTERM stops it and deletes its data.',
    options,
    run: async (terminal, { options: given }) => {
      // Only this command needs the whole server, which would slow down every other command.
      const { serve } = await import('./server.ts')
      await serve(terminal, given)
    },
  }),
]
