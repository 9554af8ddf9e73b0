import {
  type CommandContext,
  CommandError,
  type CommandInput,
  type CommandOptions,
  command,
} from '../../contract/command.ts'
import { changesBetween } from '../../platform/config/changes.ts'
import type { PlaceOf } from '../../platform/config/findings.ts'
import { nextConfig } from '../../platform/config/next.ts'
import { resolveConfig } from '../../platform/config/resolve.ts'
import { toMilliseconds } from '../../platform/config/units.ts'
import { againstOption, baseOf, ofFile } from '../base-configuration.ts'
import { affectedBy, type Effect, maxUsers } from './affected.ts'
import { type Flip, type Replay, replay } from './replay.ts'
import { wordsOf } from './words.ts'

/** Exit codes of a plan that has an effect on someone, and of one that a reload would refuse. */
const [hasEffect, invalid] = [3, 78]

const options = {
  ...againstOption,
  replay: { value: 'time', description: 'Also make the decisions of this time again, such as 24h' },
  json: { description: 'Print the plan as one JSON object' },
} as const satisfies CommandOptions

/** Everything that a plan says. */
interface Plan {
  file: string
  compared_with: string
  /** What changes, in words. */
  changes: string[]
  /** Keys that take effect after a restart. */
  restart: string[]
  /** Why a reload would fail. */
  problems: string[]
  affected: Effect[]
  replay: Replay | null
}

const nowhere: PlaceOf = () => null

async function plan(
  context: CommandContext,
  { options: given, arguments: [file] }: CommandInput<typeof options>,
): Promise<void> {
  const candidate = ofFile(file)
  const base = await baseOf(given.against)
  const since = sinceOf(given.replay, context.now)
  const cwd = process.cwd()
  const before = {
    config: resolveConfig(base.settings, cwd, base.placeOf ?? nowhere),
    placeOf: base.placeOf ?? nowhere,
  }
  const after = { config: resolveConfig(candidate.settings, cwd, candidate.placeOf), placeOf: candidate.placeOf }
  const changes = changesBetween(base.settings, candidate.settings)
  const made: Plan = {
    file: candidate.name,
    compared_with: base.name,
    changes: changes.flatMap(wordsOf),
    restart: changes.filter(({ reload }) => reload === 'restart').map(({ key }) => key),
    problems: nextConfig(base.settings, candidate).problems,
    affected: await affectedBy(context, { before: before.config, after: after.config }),
    replay:
      since === null
        ? null
        : await replay(context.database, context.config.current().app.secret, { before, after, since }),
  }
  if (given.json) context.print(JSON.stringify(made))
  else print(context, made)
  if (made.problems.length > 0) process.exitCode = invalid
  else if (made.affected.length > 0 || (made.replay?.flips.length ?? 0) > 0) process.exitCode = hasEffect
}

/** Returns the beginning of the time to replay, in Unix milliseconds. */
function sinceOf(text: string | undefined, now: number): number | null {
  if (text === undefined) return null
  if (!/^[1-9]\d{0,5}[smhd]$/.test(text)) throw new CommandError('--replay must be a duration, such as 24h.')
  return now - toMilliseconds(text)
}

function print({ print }: Pick<CommandContext, 'print'>, made: Plan): void {
  const { file, compared_with, changes, restart, problems, affected } = made
  if (changes.length === 0) print(`${file} is identical to ${compared_with}.`)
  else print(`${file} compared with ${compared_with}:`)
  for (const words of changes) print(`  ${words}.`)
  if (restart.length > 0) print(`Restart svc for ${restart.join(', ')}. A reload changes the rest.`)
  if (problems.length > 0) {
    print('A reload will fail, because the other changes are invalid without the ones that need a restart:')
    for (const problem of problems) print(`  ${problem}`)
  }
  print(affected.length === 0 ? 'No stored session, token or user is affected.' : 'Affected:')
  for (const { what, count, users } of affected) print(`  ${what}: ${count}${idsText(users)}`)
  if (made.replay) printReplay(print, made.replay)
}

const idsText = (users: readonly number[]): string =>
  users.length === 0 ? '' : ` (users ${users.join(', ')}${users.length >= maxUsers ? ', …' : ''})`

function printReplay(print: (line: string) => void, { decisions, missing, changed_before, flips }: Replay): void {
  if (decisions === 0) print('No decision of this time is recorded. Does audit.decisions.enabled record them?')
  else print(`${decisions} recorded decisions, ${flips.length === 0 ? 'none' : sum(flips)} would be different.`)
  if (missing > 0)
    print(`${missing} decisions are missing: there were too many to record, or the database did not answer.`)
  if (changed_before > 0)
    print(`${changed_before} decisions were made under an earlier configuration, and would already be different now.`)
  for (const { before, after, verdict_before, verdict_after, count, example, users } of flips) {
    const by = before === after ? after : `${before} → ${after}`
    print(`  ${verdict_before} → ${verdict_after}, ${count} times, by ${by}${idsText(users)}`)
    print(`    such as ${example}`)
  }
}

const sum = (flips: readonly Flip[]): number => flips.reduce((total, { count }) => total + count, 0)

/** Commands that plan a change of the configuration. */
export const planCommands = [
  command({
    name: 'config:plan',
    summary: 'Show the effects of a changed file before you use it',
    details:
      'Compares the file with the active configuration. Prints the changes in words, the keys that need a restart, and the sessions, tokens and users that the change affects. With --replay, makes the recorded decisions of the guard and of the OAuth server again (audit.decisions), and lists those that would be different. Changes nothing. Exits with 0 if nothing is affected, with 3 if stored data or a decision is, and with 78 if the file is invalid or a reload would refuse it.',
    arguments: [{ name: 'file', description: 'The changed file. By default the configured one' }],
    options,
    run: plan,
  }),
]
