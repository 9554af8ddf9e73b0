import { CommandError, command } from '../../contract/command.ts'
import { originOf, reasonOption } from '../../contract/command-origin.ts'
import { jsonOption, printRows } from '../../contract/command-output.ts'
import { attempt, pageOptions, requireTarget, userOptions } from './command-input.ts'
import { revokeSession, revokeToken, revokeTokensOf, sessionsOf, tokensOf } from './credentials.ts'

const tokenColumns = ['id', 'kind', 'name', 'abilities', 'created_at', 'last_used_at', 'expires_at'] as const
const sessionColumns = ['id', 'kind', 'ip_address', 'user_agent', 'created_at', 'last_seen_at'] as const

/** Commands for tokens and sessions of any user. */
export const credentialCommands = [
  command({
    name: 'token:list',
    summary: 'List the API tokens and personal access tokens of a user',
    details:
      'The id of the last API token is the cursor of the next page. The last page has the personal access tokens.',
    options: { ...userOptions, ...pageOptions, json: jsonOption },
    run: async (context, { options }) => {
      const { limit, after = '0', json } = options
      if (!/^\d{1,18}$/.test(after)) throw new CommandError('--after must be the id of an API token.')
      const user = await requireTarget(context, options)
      const { tokens, isLast } = await tokensOf(context, user.id, { after: BigInt(after), limit, now: context.now })
      printRows(context, tokens, { json, columns: tokenColumns, empty: 'No tokens.' })
      if (!isLast && context.isTerminal && !json) context.print(`More tokens: --after=${tokens.at(-1)?.id}`)
    },
  }),
  command({
    name: 'token:revoke',
    summary: 'Revoke a token, or all tokens of a user',
    arguments: [{ name: 'id', description: 'The id of an API token or of a personal access token' }],
    options: {
      ...userOptions,
      all: { description: 'Revoke all API tokens and personal access tokens of the user' },
      ...reasonOption,
    },
    run: async (context, { options, arguments: [id] }) => {
      const origin = originOf(context, options)
      if ((id === undefined) !== (options.all === true))
        throw new CommandError('Pass either <id> or --all with a user.')
      if (id !== undefined) await attempt(revokeToken(context, origin, id))
      else await attempt(revokeTokensOf(context, origin, (await requireTarget(context, options)).id))
      context.print(id === undefined ? 'All tokens revoked.' : 'Token revoked.')
    },
  }),
  command({
    name: 'session:list',
    summary: 'List the sessions and remembered browsers of a user',
    options: { ...userOptions, json: jsonOption },
    run: async (context, { options }) => {
      const user = await requireTarget(context, options)
      const rows = await sessionsOf(context, user.id, context.now)
      printRows(context, rows, { json: options.json, columns: sessionColumns, empty: 'No sessions.' })
    },
  }),
  command({
    name: 'session:revoke',
    summary: 'End a session, or forget a remembered browser',
    details: 'user:logout ends all sessions of a user.',
    arguments: [{ name: 'id', description: 'The id from session:list', required: true }],
    options: reasonOption,
    run: async (context, { options, arguments: [id = ''] }) => {
      await attempt(revokeSession(context, originOf(context, options), id))
      context.print('Session ended.')
    },
  }),
]
