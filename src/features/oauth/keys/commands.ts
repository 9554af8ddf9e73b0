import { type Command, type CommandContext, CommandError } from '../../../commands.ts'
import { commandOrigin } from '../../../users/events.ts'
import { wireDate } from '../../../users/wire-date.ts'
import { type Algorithm, algorithms } from './jwk.ts'
import { type KeyTimes, lineOf, rotationOf, settled, stateOf, type WantedKey } from './rotation.ts'
import { KeySeal } from './seal.ts'
import { listKeys } from './store.ts'
import { type MadeKey, makeKeys } from './succession.ts'

/** How a key is replaced: in its time, at once, or with everything that its algorithm signed. */
type Haste = 'planned' | 'now' | 'withdraw'

const date = (at: number): string => wireDate(new Date(at))

function algorithmsOf({ options }: CommandContext): readonly Algorithm[] {
  if (options.algorithm === undefined) return algorithms
  const found = algorithms.find((algorithm) => algorithm === options.algorithm)
  if (!found) throw new CommandError(`--algorithm must be one of ${algorithms.join(', ')}.`)
  return [found]
}

/** The successors to make: in its time, none for an algorithm whose next key waits already. */
function successors(keys: readonly KeyTimes[], names: readonly Algorithm[], haste: Haste, now: number, lead: number) {
  return names.flatMap((algorithm): WantedKey[] => {
    const line = lineOf(keys, algorithm)
    if (haste === 'withdraw' || line.length === 0) return [{ algorithm, signsFrom: now, withdraws: true }]
    if (haste === 'now') return [{ algorithm, signsFrom: now + settled, withdraws: false }]
    const hasNext = line.some((key) => key.signsFrom > now)
    return hasNext ? [] : [{ algorithm, signsFrom: now + lead, withdraws: false }]
  })
}

const meanings: Readonly<Record<Haste, string>> = {
  planned: 'The keys before them sign until then, and stay published until everything they signed has ended.',
  now:
    'The keys before them stay published until everything they signed has ended. An API that caches the key set may ' +
    'refuse new tokens until it fetches the set again.',
  withdraw:
    'Every older key was deleted: the tokens they signed are refused from now on, within 15 seconds by every replica, ' +
    'and by APIs as soon as they fetch the key set again. Refresh tokens and sessions still work.',
}

async function rotate(context: CommandContext): Promise<void> {
  const { config, database, now, options, print } = context
  if (options.now && options.withdraw) throw new CommandError('--now and --withdraw exclude each other.')
  const haste = options.withdraw ? 'withdraw' : options.now ? 'now' : 'planned'
  const names = algorithmsOf(context)
  const settings = config.current()
  const { lead } = rotationOf(settings)
  const parts = { database, seal: new KeySeal(settings.app.secret), origin: commandOrigin(now) }
  const made = await makeKeys(parts, (keys) => successors(keys, names, haste, now, lead))
  for (const algorithm of names) print(outcome(algorithm, made))
  if (made.length > 0) print(meanings[haste])
}

function outcome(algorithm: Algorithm, made: readonly MadeKey[]): string {
  const key = made.find((one) => one.algorithm === algorithm)
  if (!key) return `${algorithm}: its next key is published already. Use --now to have another one sign at once.`
  return `${algorithm}: the new key ${key.kid} signs from ${date(key.signsFrom)}.`
}

async function list({ config, database, now, print }: CommandContext): Promise<void> {
  const seal = new KeySeal(config.current().app.secret)
  const keys = await listKeys(database)
  for (const key of algorithms.flatMap((algorithm) => lineOf(keys, algorithm))) {
    const { kid, algorithm, createdAt, signsFrom, retiredAt } = key
    const facts = {
      kid,
      algorithm,
      state: stateOf(key, keys, now),
      readable: seal.open(key) !== null,
      created_at: date(createdAt),
      signs_from: date(signsFrom),
      retired_at: retiredAt === null ? null : date(retiredAt),
    }
    print(JSON.stringify(facts))
  }
}

/** The commands of the keys that sign tokens. */
export const keyCommands: readonly Command[] = [
  {
    name: 'svc:keys:list',
    summary: 'Print every signing key, one line of JSON each, without its private part',
    options: [],
    run: list,
  },
  {
    name: 'svc:keys:rotate',
    summary:
      'Make new signing keys, published at once and signing an hour later (the server does it by itself); --now: ' +
      'signing in 30 seconds; --withdraw: at once and with the older keys deleted, which ends all that they signed',
    options: ['[--algorithm=ES256]', '[--now', '| --withdraw]'],
    run: rotate,
  },
]
