import { type Command, CommandError } from '../../commands.ts'
import { pruneExpiredTokens } from '../../tokens/prune.ts'

/** The commands of API tokens. */
export const tokenCommands: readonly Command[] = [
  {
    name: 'svc:prune-expired',
    summary: 'Delete API tokens that expired more than so many hours ago (the server does it daily by itself)',
    options: ['[--hours=24]'],
    run: async ({ config, database, now, options, print }) => {
      const settings = config.current()
      const given = String(options.hours ?? 24)
      // A century is more than any token's age, and still a date.
      if (!/^\d{1,6}$/.test(given)) throw new CommandError('--hours must be a whole number from 0 to 999999.')
      const count = await pruneExpiredTokens(database, settings, Number(given), now)
      if (settings.expiration === null)
        print('No global expiration is set: tokens without a date of their own are kept.')
      print(`${count} expired token${count === 1 ? '' : 's'} deleted.`)
    },
  },
]
