import { readFileSync } from 'node:fs'
import { type CommandContext, CommandError } from '../../../contract/command.ts'
import { originOf } from '../../../contract/command-origin.ts'
import { printRows } from '../../../contract/command-output.ts'
import { createGroup, unknownGroups } from '../../../features/admin/groups/groups.ts'
import { type ImportLine, importUsers } from '../../../features/admin/import.ts'
import { findProvider } from '../../../features/social/providers/provider.ts'
import { newAttributes } from '../../../identity/attributes.ts'
import { maxGroups } from '../../../identity/groups.ts'
import { type ImportedIdentity, takenAddresses } from '../../../identity/import.ts'
import { canonicalEmail } from '../../../identity/user.ts'
import { requireUsername, usedUsernames } from '../../../identity/username.ts'
import { legacyHashes } from '../../../identity/users.ts'
import type { Config } from '../../../platform/config/schema.ts'
import { isGroupName } from '../../../platform/config/sections/groups.ts'
import { importedHash } from '../../../platform/crypto/imported-hash.ts'
import { admitCost, legacyCostsOf, tooManyCosts } from '../../../platform/crypto/stored-password.ts'
import { HttpError } from '../../../platform/errors.ts'
import { isEmail, isName } from '../../../platform/http/formats.ts'
import { ImportReport } from '../laravel/report.ts'
import { type ConvertedUser, FileError } from './converted.ts'

/** Options of the commands. */
export interface Given {
  readonly apply?: true
  readonly json?: true
  readonly reason?: string
}

/** Creates the users with --apply. Otherwise only reports what it would do. */
export async function importConverted(
  context: CommandContext,
  found: readonly ConvertedUser[],
  given: Given,
): Promise<void> {
  const { apply, json } = given
  const report = new ImportReport(apply === true)
  const users = await usable(context, found, report)
  await keepTakenNames(context, users, found)
  const origin = originOf(context, given)
  const names = [...new Set(users.flatMap(({ user }) => user.groups ?? []))]
  const missing = await unknownGroups(context, names)
  for (const name of missing) {
    report.add({ table: 'groups', result: 'import' })
    if (apply) await createGroup(context, origin, { name, description: null })
  }
  const done = await importUsers(context, origin, users, { isDryRun: !apply })
  const keyOf = new Map(found.map(({ key }, at) => [at + 1, key]))
  for (const { line, status, errors } of done) {
    const id = keyOf.get(line)
    if (status === 'created') report.add({ table: 'users', result: 'import' })
    else if (status === 'exists') report.add({ table: 'users', result: 'already there' })
    else report.add({ table: 'users', result: 'skipped', reason: Object.values(errors ?? {}).flat()[0] ?? '', id })
  }
  const created = new Set(done.filter(({ status }) => status === 'created').map(({ line }) => line))
  for (const [at, { left, key }] of found.entries())
    if (created.has(at + 1))
      for (const reason of left) report.add({ table: 'not moved', result: 'skipped', reason, id: key })
  printRows(context, report.lines, {
    json,
    columns: ['table', 'result', 'rows', 'reason', 'ids'],
    empty: 'There are no users.',
  })
  if (!apply && context.isTerminal && !json) context.print('Nothing was written. Repeat the command with --apply.')
}

/** Reads a file. Says what is wrong with it in terms of the command. */
export function readWith<Read>(file: string, convert: (text: string) => Read): Read {
  try {
    return convert(readFileSync(file, 'utf8').replace(/^\u{FEFF}/u, ''))
  } catch (error) {
    if (error instanceof FileError) throw new CommandError(`${file}: ${error.message}`)
    throw new CommandError(
      `${file} cannot be read (${(error as NodeJS.ErrnoException).code ?? (error as Error).message}).`,
    )
  }
}

/** The user for each address: the first one, but rather one whose address is verified. */
function preferred(found: readonly ConvertedUser[]): Map<string, ConvertedUser> {
  const byAddress = new Map<string, ConvertedUser>()
  for (const user of found) {
    if (user.email === null) continue
    const known = byAddress.get(canonicalEmail(user.email))
    if (!known || (user.verified && !known.verified)) byAddress.set(canonicalEmail(user.email), user)
  }
  return byAddress
}

/** The users that svc can create. Reports the others, and what it leaves out. */
async function usable(
  { config, database }: CommandContext,
  found: readonly ConvertedUser[],
  report: ImportReport,
): Promise<ImportLine[]> {
  const { role } = config.current().registration
  const costs = legacyCostsOf(await legacyHashes(database))
  const lines: ImportLine[] = []
  const first = preferred(found)
  for (const [at, given] of found.entries()) {
    const { key, email, name, groups } = given
    const skip = (reason: string) => report.add({ table: 'users', result: 'skipped', reason, id: key })
    if (email === null || !isEmail(email)) {
      skip('svc needs an email address')
      continue
    }
    if (first.get(canonicalEmail(email)) !== given) {
      skip('another user of the file has this address')
      continue
    }
    const hash = given.passwordHash === null ? null : importedHash(given.passwordHash)
    if (given.passwordHash !== null && !hash)
      given.left.push('a password hash that svc cannot check; send a reset link')
    if (hash && !admitCost(costs, hash.cost)) {
      skip(tooManyCosts)
      continue
    }
    const fitting = [...new Set(groups)].filter(isGroupName).slice(0, maxGroups)
    if (fitting.length < new Set(groups).size)
      given.left.push('groups whose name has other characters, or that are too many')
    const username = usernameOf(given)
    const { authenticator } = given
    const isUsable = authenticator !== null && /^[A-Z2-7]{16,104}$/.test(authenticator)
    if (authenticator !== null && !isUsable) given.left.push('an authenticator app whose secret is not base32')
    lines.push({
      line: at + 1,
      user: {
        ...{ email, name: isName(name) ? name.slice(0, 255) : email, password: hash?.hash ?? null, role },
        ...{ groups: fitting, verified: given.verified, disabled: given.disabled },
        ...(username === undefined ? {} : { username }),
        ...(isUsable ? { authenticator } : {}),
        links: linksOf(config.current(), given),
        attributes: newAttributes({ given_name: given.givenName, family_name: given.familyName }),
      },
    })
  }
  return lines
}

/** The links to providers of the configuration. Notes the others. */
function linksOf(config: Config, { links, left }: ConvertedUser): ImportedIdentity[] {
  return links.flatMap(({ provider, given, id }) => {
    const found = provider === null ? null : findProvider(config, provider)
    if (provider !== null && found && id.length <= 255 && isName(id)) {
      return { provider, issuer: found.issuer, providerId: id }
    }
    const name = /^[\w.-]{1,40}$/.test(given) ? given : 'another provider'
    left.push(
      provider === null
        ? `a link to ${name}, which gives svc another id of the user`
        : `a link to ${name}, because the configuration has no provider social.${/^[\w-]{1,40}$/.test(provider) ? provider : '…'}`,
    )
    return []
  })
}

/** Removes usernames that other users have or had from the lines. A user who already exists keeps their username. */
async function keepTakenNames(
  { database, now }: CommandContext,
  lines: ImportLine[],
  found: readonly ConvertedUser[],
): Promise<void> {
  const taken = new Set(
    await usedUsernames(
      database,
      lines.flatMap(({ user }) => user.username ?? []),
    ),
  )
  const emails = lines.map(({ user }) => canonicalEmail(user.email))
  const known = await takenAddresses(database, emails, now)
  for (const { line, user } of lines) {
    const { username } = user
    if (username === undefined) continue
    if (taken.has(username) && !known.has(canonicalEmail(user.email))) {
      delete user.username
      found[line - 1]?.left.push('a username that another user has or had; svc derives one')
    }
    taken.add(username)
  }
}

function usernameOf(user: ConvertedUser): string | undefined {
  if (user.username === null) return undefined
  try {
    return requireUsername(user.username, 'administrator')
  } catch (error) {
    if (!(error instanceof HttpError)) throw error
    // An address, for example.
    user.left.push('a username in another format than svc allows; svc derives one')
    return undefined
  }
}
