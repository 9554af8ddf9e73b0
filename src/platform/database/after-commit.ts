import { AsyncLocalStorage } from 'node:async_hooks'
import { isConnectionLost } from './unavailable.ts'

/** How a transaction ended. `unknown`: the answer to COMMIT was lost, so the changes may exist or not. */
type Ending = 'committed' | 'unknown'

/** What a transaction causes outside of the database, such as a log line. */
type Effect = (ending: Ending) => void

interface Scope {
  effects: Effect[]
  /** False after the end. Timers and promises that the work left behind then have their effects at once. */
  isOpen: boolean
}

const scopes = new AsyncLocalStorage<Scope>()

/** Tests whether the caller runs inside a transaction that has not ended. */
export const isInTransaction = (): boolean => scopes.getStore()?.isOpen === true

/**
 * Runs an effect after the COMMIT of the caller's transaction, and at once outside of one. A transaction that is rolled back
 * or repeated drops the effects of that attempt.
 */
export function afterCommit(effect: Effect): void {
  const scope = scopes.getStore()
  if (scope?.isOpen) scope.effects.push(effect)
  else effect('committed')
}

/** Runs one attempt of a transaction; `within` wraps its work. */
export async function withEffects<T>(
  transact: (within: (work: () => Promise<T>) => Promise<T>) => Promise<T>,
): Promise<T> {
  const scope: Scope = { effects: [], isOpen: true }
  let isWorkDone = false
  try {
    const result = await transact(async (work) => {
      const value = await scopes.run(scope, work)
      isWorkDone = true
      return value
    })
    end(scope, 'committed')
    return result
  } catch (error) {
    // Only COMMIT is missing. An error that the database reported means that it rolled back.
    end(scope, isWorkDone && isConnectionLost(error) ? 'unknown' : null)
    throw error
  }
}

function end(scope: Scope, ending: Ending | null): void {
  scope.isOpen = false
  if (ending) for (const effect of scope.effects) effect(ending)
}
