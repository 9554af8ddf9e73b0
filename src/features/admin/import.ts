import { SecondFactor } from '../../auth/sign-in/second-factor.ts'
import { type EventContext, recordEvent } from '../../identity/events.ts'
import { changeGroups } from '../../identity/groups.ts'
import { heldAddresses, type ImportedUser, insertUsers, takenAddresses } from '../../identity/import.ts'
import { storeConfirmedTwoFactor } from '../../identity/two-factor.ts'
import { canonicalEmail } from '../../identity/user.ts'
import type { Tx } from '../../platform/database/database.ts'
import { isUniqueViolation } from '../../platform/database/unique.ts'
import type { FieldErrors } from '../../platform/errors.ts'
import { findImported, insertImported } from '../social/store.ts'
import { type Admin, lockForAdmin } from './admin.ts'
import { heldText } from './users.ts'

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

/** Adds what belongs to a new user. A link that another user has stays there. */
async function addCredentials(
  admin: Admin,
  tx: Tx,
  origin: EventContext,
  { userId, groups = [], authenticator, links = [] }: ImportedUser & { userId: number },
): Promise<void> {
  const add = { add: groups, source: 'import' } as const
  if (groups.length > 0) await changeGroups(tx, admin.database, origin, admin.config.current(), userId, add)
  if (authenticator !== undefined) {
    const factor = new SecondFactor(admin.config, admin.database).kept(userId, authenticator, [])
    await storeConfirmedTwoFactor(tx, userId, factor, origin.now)
  }
  const profile = { email: null, name: null, avatar: null, createdAt: null, updatedAt: null }
  const wanted = links.map((link) => ({ ...link, ...profile, userId: BigInt(userId) }))
  const found = wanted.length > 0 ? await findImported(tx, wanted) : []
  await insertImported(
    tx,
    wanted.filter((_, at) => found[at] === 'new'),
    origin,
  )
}

/** Creates the users of a batch in one transaction, with an event for each. */
async function importBatch(
  admin: Admin,
  origin: EventContext,
  users: readonly ImportedUser[],
): Promise<Map<string, number>> {
  for (let tries = 1; ; tries++) {
    try {
      return await admin.database.transaction(async (tx) => {
        await lockForAdmin(admin, tx, [])
        const ids = await insertUsers(tx, users, origin.now)
        for (const userId of ids.values())
          await recordEvent(tx, origin, { type: 'user_created', userId, data: { imported: true } })
        for (const user of users) {
          const userId = ids.get(canonicalEmail(user.email))
          if (userId !== undefined) await addCredentials(admin, tx, origin, { ...user, userId })
        }
        return ids
      })
    } catch (error) {
      // Another request created one of them meanwhile.
      if (!isUniqueViolation(error) || tries === maxTries) throw error
    }
  }
}

/** Returns the addresses of users that an import would create, each with null in place of an id. */
async function findFree(
  { database }: Admin,
  origin: EventContext,
  users: readonly ImportedUser[],
): Promise<Map<string, null>> {
  const emails = users.map(({ email }) => canonicalEmail(email))
  const taken = await takenAddresses(database, emails, origin.now)
  return new Map(emails.filter((email) => !taken.has(email)).map((email) => [email, null]))
}

/**
 * Creates users in batches, or only reports what it would do. It does not change accounts that exist, so that an import
 * can be repeated.
 */
export async function importUsers(
  admin: Admin,
  origin: EventContext,
  lines: readonly ImportLine[],
  { isDryRun }: { isDryRun: boolean },
): Promise<LineReport[]> {
  const reports: LineReport[] = []
  const seen = new Set<string>()
  for (let from = 0; from < lines.length; from += batch) {
    const part = new Map<string, ImportLine>()
    for (const one of lines.slice(from, from + batch)) {
      const address = canonicalEmail(one.user.email)
      if (seen.has(address)) reports.push({ line: one.line, status: 'exists', id: null })
      else part.set(address, one)
      seen.add(address)
    }
    const users = [...part.values()].map(({ user }) => user)
    const fresh = await (isDryRun ? findFree : importBatch)(admin, origin, users)
    const held = await heldAddresses(admin.database, [...part.keys()], origin.now)
    for (const [address, { line }] of part) {
      const until = held.get(address)
      if (fresh.has(address)) reports.push({ line, status: 'created', id: fresh.get(address) ?? null })
      else if (until) reports.push({ line, status: 'invalid', id: null, errors: { email: [heldText(until)] } })
      else reports.push({ line, status: 'exists', id: null })
    }
  }
  return reports
}
