import { setTimeout as sleep } from 'node:timers/promises'
import {
  type CommandContext,
  CommandError,
  type CommandInput,
  type CommandOptions,
  command,
} from '../../contract/command.ts'
import { jsonOption, printRows } from '../../contract/command-output.ts'
import { cursorOf, type EventFilter, type ListedEvent, newEvents, searchEvents } from '../../identity/event-list.ts'
import { eventTypes } from '../../platform/event-types.ts'
import { namedUser, pageOptions } from './command-input.ts'
import { eventRecord } from './events.ts'

const options = {
  type: { value: 'type', choices: eventTypes, description: 'Only events of this type' },
  user: { value: 'email', description: 'Only events of the user with this address' },
  'user-id': {
    value: 'id',
    range: [1, Number.MAX_SAFE_INTEGER],
    description: 'Only events of the user with this id, who may have been deleted',
    excludes: 'user',
  },
  client: { value: 'client_id', description: 'Only events of this client' },
  since: { value: 'time', description: 'Only events from this time on: 2026-11-22T10:00:00Z, or an age such as 2h' },
  until: { value: 'time', description: 'Only events before this time' },
  follow: { description: 'Wait for new events and print them until interrupted', excludes: 'until' },
  ...pageOptions,
  json: jsonOption,
} as const satisfies CommandOptions

const units: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** Reads a time or an age. */
function timeOf(name: string, text: string | undefined, now: number): Date | undefined {
  if (text === undefined) return undefined
  const [, count, unit = ''] = /^(\d{1,6})([smhd])$/.exec(text) ?? []
  const at = count === undefined ? Date.parse(text) : now - Number(count) * (units[unit] ?? 0)
  if (!Number.isNaN(at) && (count !== undefined || /^\d{4}-\d\d-\d\d/.test(text))) return new Date(at)
  throw new CommandError(`--${name} must be a time such as 2026-11-22T10:00:00Z, or an age such as 2h, got "${text}".`)
}

const columns = ['created_at', 'type', 'outcome', 'actor', 'user_id', 'client_id', 'ip_address', 'reason'] as const

async function list(context: CommandContext, { options: given }: CommandInput<typeof options>): Promise<void> {
  const { database, now } = context
  const user = await namedUser(context, given.user === undefined ? {} : { email: given.user })
  const filter: EventFilter = {
    ...(given.type ? { type: given.type } : {}),
    ...(user ? { userId: user.id } : given['user-id'] ? { userId: given['user-id'] } : {}),
    ...(given.client === undefined ? {} : { clientId: given.client }),
    since: timeOf('since', given.since, now),
    until: timeOf('until', given.until, now),
  }
  const before = given.after === undefined ? null : cursorOf(given.after)
  if (given.after !== undefined && !before) throw new CommandError('--after must be the cursor of an event.')
  const fresh = given.follow ? newEvents(database, filter, now) : null
  // Marks all current events as known. This comes before the list, so that --follow misses no event in between.
  await fresh?.()
  const found = await searchEvents(database, filter, { before, take: given.limit + 1 })
  const shown = found.slice(0, given.limit)
  if (fresh) return follow(context, fresh, given.json, shown.reverse())
  printRows(context, shown.map(eventRecord), { json: given.json, columns, empty: 'No events found.' })
  const last = shown.at(-1)
  if (found.length > given.limit && last && context.isTerminal && !given.json) {
    context.print(`Earlier events: --after=${eventRecord(last).cursor}`)
  }
}

/** Interval between two queries for new events, in milliseconds. */
const interval = 1_000

/** Prints events as they are recorded, the oldest first. */
async function follow(
  context: CommandContext,
  fresh: () => Promise<ListedEvent[]>,
  json: true | undefined,
  shown: readonly ListedEvent[],
): Promise<void> {
  const isTable = context.isTerminal && !json
  const print = (event: ListedEvent) => {
    const record = eventRecord(event)
    context.print(isTable ? columns.map((column) => record[column] ?? '-').join('  ') : JSON.stringify(record))
  }
  for (const event of shown) print(event)
  const printed = new Set(shown.map(({ id }) => id))
  for (;;) {
    for (const event of await fresh()) if (!printed.has(event.id)) print(event)
    await sleep(interval)
  }
}

/** Commands for the audit trail. */
export const eventCommands = [
  command({
    name: 'event:list',
    summary: 'List security events, the newest first',
    details: 'The cursor of an event continues the list after it.',
    options,
    run: list,
  }),
]
