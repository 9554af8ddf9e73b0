import { type EventContext, systemOrigin } from '../identity/events.ts'
import { CommandError, type CommandOptions } from './command.ts'

/** Maximum length of a reason. */
const maxReason = 500

/** Option of every command that makes a change. */
export const reasonOption = {
  reason: { value: 'text', description: 'Why, for the audit trail. Without personal data' },
} as const satisfies CommandOptions

/** Origin of a change at the command line: the operator, and the reason that they gave. */
export function originOf(
  { operator, ...parts }: Pick<EventContext, 'now' | 'subscriber'> & { operator: string },
  { reason = '' }: { readonly reason?: string },
): EventContext {
  if (reason.length > maxReason) throw new CommandError(`--reason can have at most ${maxReason} characters.`)
  return { ...systemOrigin(parts), actor: `operator:${operator}`, reason: reason.trim() || null }
}
