import { type CommandContext, type CommandInput, type CommandOptions, command } from '../../../contract/command.ts'
import { originOf, reasonOption } from '../../../contract/command-origin.ts'
import { jsonOption, printRows } from '../../../contract/command-output.ts'
import { wireDate } from '../../../identity/wire-date.ts'
import type { CreatedKey } from './create-keys.ts'
import { type Algorithm, algorithms } from './jwk.ts'
import { listedKeys, type RotationMode, rotateKeys } from './manage.ts'

const date = (at: number): string => wireDate(new Date(at))

const meanings: Readonly<Record<RotationMode, string>> = {
  planned: 'Until then, the previous keys sign. They stay published until everything they signed has expired.',
  now:
    'The previous keys stay published until everything they signed has expired. An API that caches the key set may ' +
    'reject new tokens until it fetches the set again.',
  withdraw:
    'All older keys were deleted. Every replica rejects the tokens they signed, ' +
    'and APIs reject them after fetching the key set again. Refresh tokens and sessions still work.',
}

const rotateOptions = {
  algorithm: { value: 'algorithm', choices: algorithms, description: 'Replace only the key of this algorithm' },
  now: { description: 'Sign with the new keys after ten seconds', excludes: 'withdraw' },
  withdraw: {
    description:
      'Sign with the new keys immediately and delete the older ones, which invalidates everything that they signed. Waits until every replica has read the change, which takes six seconds',
  },
  ...reasonOption,
} as const satisfies CommandOptions

async function rotate(context: CommandContext, { options }: CommandInput<typeof rotateOptions>): Promise<void> {
  const { print } = context
  const mode = options.withdraw ? 'withdraw' : options.now ? 'now' : 'planned'
  const names = options.algorithm ? [options.algorithm] : algorithms
  const made = await rotateKeys(context, originOf(context, options), { algorithms: names, mode })
  for (const algorithm of names) print(outcome(algorithm, made))
  if (made.length > 0) print(meanings[mode])
}

function outcome(algorithm: Algorithm, made: readonly CreatedKey[]): string {
  const key = made.find((one) => one.algorithm === algorithm)
  if (!key) return `${algorithm}: the next key is already published. Use --now to sign with a new key immediately.`
  return `${algorithm}: the new key ${key.kid} signs from ${date(key.signsFrom)}.`
}

const listOptions = { json: jsonOption } as const satisfies CommandOptions

async function list(context: CommandContext, { options }: CommandInput<typeof listOptions>): Promise<void> {
  const rows = await listedKeys(context, context.now)
  const columns = ['kid', 'algorithm', 'state', 'readable', 'created_at', 'signs_from', 'retired_at'] as const
  printRows(context, rows, { json: options.json, columns, empty: 'No keys.' })
}

/** Commands for the signing keys. */
export const keyCommands = [
  command({
    name: 'key:list',
    aliases: ['keys:list'],
    summary: 'List the signing keys without their private parts',
    options: listOptions,
    run: list,
  }),
  command({
    name: 'key:rotate',
    aliases: ['keys:rotate'],
    summary: 'Create new signing keys (the server also does this on schedule)',
    details: 'Publishes the keys immediately and signs with them an hour later.',
    options: rotateOptions,
    run: rotate,
  }),
]
