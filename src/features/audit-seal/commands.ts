import { readFileSync } from 'node:fs'
import { type CommandContext, CommandError, command } from '../../contract/command.ts'
import { jsonOption, printRecord } from '../../contract/command-output.ts'
import { type Head, headOf } from '../../identity/event-heads.ts'
import { beginning, bodyOf } from './chain.ts'
import { HeadKeys } from './signing-key.ts'
import { countUnsealed, lastSeal } from './store.ts'
import { verifyChain } from './verify.ts'

/** Reads a head from a file: its own JSON, or the last one of exported events. */
function readHead(file: string): Head {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    throw new CommandError(`--head: ${file} cannot be read (${(error as NodeJS.ErrnoException).code}).`)
  }
  const found = text.split('\n').flatMap((line) => headIn(line) ?? [])
  const head = found.at(-1)
  if (!head) throw new CommandError(`--head: ${file} has no head. "svc audit:head" prints one as JSON.`)
  return head
}

function headIn(line: string): Head | null {
  try {
    // Syslog messages and lines of the log have it after other text, or within an object.
    const value = JSON.parse(line.slice(Math.max(0, line.indexOf('{'))))
    const head = value.audit ?? value
    const isHead = ['hash', 'sealed_at', 'signature'].every((name) => typeof head[name] === 'string')
    return isHead && Number.isSafeInteger(head.seal) && head.seal > 0 ? head : null
  } catch {
    return null
  }
}

const keysIn = ({ config }: CommandContext): HeadKeys => new HeadKeys(config.current().app.secret)

/** Commands for the sealed audit trail. */
export const sealCommands = [
  command({
    name: 'audit:verify',
    summary: 'Test whether events were changed, deleted or inserted',
    details:
      'Compares all sealed events with the chain of seals, and names the first difference. svc seals an event one to two minutes after it happened, and an event that counts repetitions after two hours. Only --head detects that the end of the chain was cut. Exits with 1 at a difference.',
    options: {
      head: {
        value: 'file',
        description: 'File with a head that was kept elsewhere: the output of audit:head, or exported events',
      },
      json: jsonOption,
    },
    run: async (context, { options: { head, json } }) => {
      const keys = keysIn(context)
      const given = head === undefined ? null : readHead(head)
      const first = await verifyChain(context.database, keys, given)
      // A change that a server made meanwhile looks like a manipulation, once.
      const { problem, seals, events, last } = first.problem ? await verifyChain(context.database, keys, given) : first
      const { plain, repeats } = last ? bodyOf(last) : beginning
      const unsealed = await countUnsealed(context.database, { plain: plain[1], repeats: repeats[1] }, context.now)
      const record = { problem, seals, events, unsealed, last_seal: last ? headOf(last) : null }
      if (json) printRecord(context, record, json)
      else if (problem) context.print(problem)
      else
        context.print(
          last
            ? `Unchanged: ${events} events, ${seals} seals. The last seal is number ${last.id}, ${last.hash}.`
            : 'No event is sealed yet.',
        )
      if (!json && unsealed > 0)
        context.print(
          `${unsealed} events are older than four hours and not sealed. Check that the server runs, and its log.`,
        )
      if (problem) process.exitCode = 1
    },
  }),
  command({
    name: 'audit:head',
    summary: 'Print the head of the sealed audit trail, to keep elsewhere',
    options: {},
    run: async (context) => {
      const last = await lastSeal(context.database)
      if (!last) throw new CommandError('No event is sealed yet.')
      context.print(JSON.stringify(headOf(last)))
    },
  }),
]
