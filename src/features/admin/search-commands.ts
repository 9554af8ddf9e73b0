import {
  type CommandContext,
  CommandError,
  type CommandInput,
  type CommandOptions,
  command,
} from '../../contract/command.ts'
import { jsonOption, printRecord, printRows } from '../../contract/command-output.ts'
import { searchUsers, userStates } from '../../identity/search.ts'
import { pageOptions, requireTarget, userOptions } from './command-input.ts'
import { userDetails } from './user-details.ts'

const findOptions = {
  inside: { description: 'Find the text anywhere in addresses and names. Reads all users, so it is slow for many' },
  email: { value: 'address', description: 'Only the user with this address' },
  provider: { value: 'provider', description: 'Only users with a linked account at this provider' },
  role: { value: 'role', description: 'Only users with this role' },
  group: { value: 'group', description: 'Only users in this group' },
  state: { value: 'state', choices: userStates, description: 'Only users in this state' },
  ...pageOptions,
  json: jsonOption,
} as const satisfies CommandOptions

async function find(
  context: CommandContext,
  { options, arguments: [text] }: CommandInput<typeof findOptions>,
): Promise<void> {
  const { limit, after = '0', json, inside, email, provider, role, group, state } = options
  if (!/^\d{1,15}$/.test(after)) throw new CommandError('--after must be the id of a user.')
  const filter = {
    ...(text?.trim() ? { text: text.trim() } : {}),
    ...(inside ? { isInside: true } : {}),
    ...(email === undefined ? {} : { email }),
    ...(provider === undefined ? {} : { provider }),
    ...(role === undefined ? {} : { role }),
    ...(group === undefined ? {} : { group }),
    ...(state === undefined ? {} : { state }),
  }
  const found = await searchUsers(context.database, filter, { after: Number(after), take: limit + 1 })
  const shown = found.slice(0, limit).map(({ language: _, ...user }) => user)
  const columns = ['id', 'email', 'name', 'role', 'disabled', 'email_verified_at', 'created_at'] as const
  printRows(context, shown, { json, columns, empty: 'No users found.' })
  if (found.length > limit && context.isTerminal && !json) context.print(`More users: --after=${shown.at(-1)?.id}`)
}

const showOptions = { ...userOptions, json: jsonOption } as const satisfies CommandOptions

/** Commands that find and show users. */
export const searchCommands = [
  command({
    name: 'user:find',
    summary: 'Find users',
    details:
      'Finds users whose address or name starts with the text, without regard to case (on SQLite only for ASCII letters in names). The search uses indexes. All options narrow the result. The order is by id, and the last id is the cursor of the next page.',
    arguments: [{ name: 'text', description: 'Start of the address or of the name' }],
    options: findOptions,
    run: find,
  }),
  command({
    name: 'user:show',
    summary: 'Show a user with credentials, sessions, tokens, linked accounts and recent events',
    details: 'Lists at most 20 records of each kind.',
    options: showOptions,
    run: async (context, { options }) => {
      const user = await requireTarget(context, options)
      printRecord(context, await userDetails(context, user, context.now), options.json)
    },
  }),
]
