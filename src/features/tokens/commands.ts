import { type Command, CommandError } from '../../commands.ts'
import { pruneExpiredTokens } from '../../tokens/prune.ts'

/** Commands for API tokens. */
export const tokenCommands: readonly Command[] = [
  {
    name: 'svc:prune-expired',
    summary: 'Delete API tokens that expired more than the given hours ago (the server does this daily)',
    options: ['[--hours=24]'],
    run: async ({ config, database, now, options, print }) => {
      const settings = config.current()
      const given = String(options.hours ?? 24)
      // A century exceeds the age of any token and is still a valid date.
      if (!/^\d{1,6}$/.test(given)) throw new CommandError('--hours must be an integer from 0 to 999999.')
      const count = await pruneExpiredTokens(database, settings, Number(given), now)
      if (settings.expiration === null)
        print('No global expiration is set. Tokens without an expiration date are kept.')
      print(`${count} expired token${count === 1 ? '' : 's'} deleted.`)
    },
  },
]
