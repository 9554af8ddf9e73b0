import { pruneExpiredTokens } from '../../auth/tokens/prune.ts'
import { command } from '../../contract/command.ts'

/** Commands for API tokens. */
export const tokenCommands = [
  command({
    name: 'prune-expired',
    summary: 'Delete expired API tokens (the server also does this daily)',
    options: {
      hours: {
        value: 'hours',
        // A century exceeds the age of any token and is still a valid date.
        range: [0, 999_999],
        default: 24,
        description: 'Delete tokens that expired at least this many hours ago',
      },
    },
    run: async ({ config, database, now, print }, { options }) => {
      const settings = config.current()
      const count = await pruneExpiredTokens(database, settings, options.hours * 3_600_000, now)
      if (settings.expiration === null)
        print('No global expiration is set. Tokens without an expiration date are kept.')
      print(`${count} expired token${count === 1 ? '' : 's'} deleted.`)
    },
  }),
]
