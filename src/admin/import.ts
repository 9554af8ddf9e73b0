import { isUniqueViolation } from '../database/unique.ts'
import type { FieldErrors } from '../errors.ts'
import { type EventContext, recordEvent } from '../users/events.ts'
import { type ImportedUser, insertUsers } from '../users/import.ts'
import { canonicalEmail } from '../users/user.ts'
import type { Admin } from './admin.ts'

/** What happened to a line. */
export interface LineReport {
  line: number
  status: 'created' | 'exists' | 'invalid'
  id: number | null
  errors?: FieldErrors
}

/** A valid line. */
export interface ImportLine {
  line: number
  user: ImportedUser
}

/** Number of users per transaction. */
const batch = 200

/** How often a batch is tried while other requests create its users. */
const maxTries = 3

/** Creates the users of a batch in one transaction, with an event for each. */
async function importBatch(
  { database }: Admin,
  origin: EventContext,
  users: readonly ImportedUser[],
): Promise<Map<string, number>> {
  for (let tries = 1; ; tries++) {
    try {
      return await database.transaction(async (tx) => {
        const ids = await insertUsers(tx, users, origin.now)
        for (const userId of ids.values())
          await recordEvent(tx, origin, { type: 'user_created', userId, data: { imported: true } })
        return ids
      })
    } catch (error) {
      // Another request created one of them meanwhile.
      if (!isUniqueViolation(error) || tries === maxTries) throw error
    }
  }
}

/** Creates users in batches. Users whose address has an account stay as they are, so that an import can be repeated. */
export async function importUsers(
  admin: Admin,
  origin: EventContext,
  lines: readonly ImportLine[],
): Promise<LineReport[]> {
  const reports: LineReport[] = []
  for (let from = 0; from < lines.length; from += batch) {
    const part = new Map<string, ImportLine>()
    for (const one of lines.slice(from, from + batch)) {
      const address = canonicalEmail(one.user.email)
      if (part.has(address)) reports.push({ line: one.line, status: 'exists', id: null })
      else part.set(address, one)
    }
    const fresh = await importBatch(
      admin,
      origin,
      [...part.values()].map(({ user }) => user),
    )
    for (const [address, { line }] of part) {
      const id = fresh.get(address) ?? null
      reports.push({ line, status: id === null ? 'exists' : 'created', id })
    }
  }
  return reports
}
