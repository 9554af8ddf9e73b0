import type { FastifyInstance } from 'fastify'
import { failedAddresses } from '../../identity/event-list.ts'
import type { User } from '../../identity/user.ts'
import {
  allSecondFactorsOf,
  mailedCodesFrom,
  mailedCodesOf,
  passwordsFrom,
  passwordsOf,
  secondFactorsOf,
} from './limit-names.ts'

/** Longest block after failures, in milliseconds: later failures do not count any more. */
const maxBlock = 24 * 3_600_000

/**
 * Clears all failures of an account: passwords, mailed codes and second factors. The names of counters are hashed, so
 * the addresses come from the recorded failures.
 */
export async function unlockAccount(
  { counters, database }: Pick<FastifyInstance, 'counters' | 'database'>,
  { id, email }: User,
  now: number,
): Promise<void> {
  const addresses = await failedAddresses(database, id, new Date(now - maxBlock))
  const names = [passwordsOf(email), mailedCodesOf(email), secondFactorsOf(id), allSecondFactorsOf(id)]
  for (const address of addresses) names.push(passwordsFrom(email, address), mailedCodesFrom(email, address))
  for (const name of names) await counters.reset(name)
}
