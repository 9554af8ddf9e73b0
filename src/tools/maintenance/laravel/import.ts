import { SecondFactor } from '../../../auth/sign-in/second-factor.ts'
import { type CommandContext, CommandError } from '../../../contract/command.ts'
import { originOf } from '../../../contract/command-origin.ts'
import { printRows } from '../../../contract/command-output.ts'
import { legacyHashes } from '../../../identity/users.ts'
import { isDatabaseUrl } from '../../../platform/config/formats.ts'
import { importSecrets } from '../../../platform/config/load.ts'
import { connectionUrlProblem } from '../../../platform/config/url-parameters.ts'
import { legacyCostsOf } from '../../../platform/crypto/stored-password.ts'
import { DataError } from '../../../platform/database/copy/values.ts'
import { parseKeys, readKeyFile } from './app-keys.ts'
import { clientsAsYaml, passportColumns } from './clients.ts'
import { laravelLinks } from './links.ts'
import type { ImportInput } from './options.ts'
import { laravelPasskeys } from './passkeys.ts'
import { chooseColumns, importLaravel } from './run.ts'
import { openSource } from './source/open.ts'
import type { ForeignSource } from './source/source.ts'
import { laravelTokens } from './tokens.ts'

const userTypes = ['App\\Models\\User', 'App\\User', 'User', 'user', 'users']

/** Rows of clients per query. */
const clientBatch = 500

/** Refuses a malformed URL. The error never repeats it, because it may contain a password. */
export function requireUrl(url: string): string {
  const isMariadb = /^(mariadb|mysql):$/.test(URL.parse(url)?.protocol ?? '')
  const isAmbiguous = !url.startsWith('file:') && /@/.test(url.replace(/^[^@]*@/, ''))
  if ((isDatabaseUrl(url) || isMariadb) && !isAmbiguous) {
    const problem = connectionUrlProblem(url)
    if (problem !== null) throw new CommandError(`<from> ${problem}.`)
    return url
  }
  throw new CommandError(
    '<from> must be file:<path>, postgresql://user@host:port/name or mariadb://user@host:port/name. Percent-encode special characters of the password.',
  )
}

/** Runs the import, or only reports what it would do. */
export async function importCommand(context: CommandContext, input: ImportInput): Promise<void> {
  const { 'app-key-file': keyFile, apply, clients } = input.options
  const url = requireUrl(input.arguments[0] ?? '')
  const secrets = importSecrets()
  const keys = parseKeys(keyFile === undefined ? (secrets.appKey ?? '') : readKeyFile(keyFile))
  const origin = originOf(context, input.options)
  try {
    const source = await openSource(url, secrets.password)
    try {
      if (clients) return await printClients(context, source)
      const report = await importLaravel({
        source,
        database: context.database,
        origin,
        applies: apply === true,
        parts: partsOf(context, input),
        rules: { ...(await rulesOf(context, source, input)), keys },
      })
      const hasClients = (await source.columnsOf('oauth_clients')).size > 0
      if (hasClients) {
        const reason = 'clients belong to the configuration: see --clients'
        const rows = await source.count('oauth_clients')
        if (rows > 0) report.add({ table: 'oauth_clients', result: 'skipped', reason }, rows)
      }
      const columns = ['table', 'result', 'rows', 'reason', 'ids'] as const
      printRows(context, report.lines, { json: input.options.json, columns, empty: 'The source has no users.' })
    } finally {
      await source.close()
    }
  } catch (error) {
    throw error instanceof DataError ? new CommandError(error.message) : error
  }
  if (!apply) process.stderr.write('Nothing was written. Check the report, and run the command again with --apply.\n')
}

function partsOf({ config, now }: CommandContext, { options: { 'user-type': given } }: ImportInput) {
  const types = new Set(given === undefined ? userTypes : [given])
  const isUser = (type: string) => types.has(type)
  return [laravelTokens(isUser, now), laravelPasskeys(isUser), laravelLinks(config.current())]
}

async function rulesOf(
  { config, database, now }: CommandContext,
  source: ForeignSource,
  { options: given }: ImportInput,
) {
  const { registration, admin } = config.current()
  return {
    secondFactor: new SecondFactor(config, database),
    defaultRole: registration.role,
    adminRoles: admin.roles,
    unconfirmedIsActive: await unconfirmedIsActive(source, given['unconfirmed-two-factor']),
    costs: legacyCostsOf(await legacyHashes(database)),
    now,
  }
}

/** Decides whether second factors without a confirmation date are active. Throws a CommandError if that is unclear. */
async function unconfirmedIsActive(source: ForeignSource, given: 'active' | 'ignore' | undefined): Promise<boolean> {
  if (given !== undefined) return given === 'active'
  const [secret, confirmedAt] = ['two_factor_secret', 'two_factor_confirmed_at']
  const columns = await source.columnsOf('users')
  if (!columns.has(secret)) return false
  // Before Fortify 1.11 every second factor was active.
  if (!columns.has(confirmedAt)) return true
  const all = await source.count('users', { present: [secret] })
  const confirmed = await source.count('users', { present: [secret, confirmedAt] })
  if (all === 0 || confirmed > 0) return false
  throw new CommandError(
    `${all} users have a second factor, and none is confirmed. If Fortify's option confirm is off, they are active: pass --unconfirmed-two-factor=active. Otherwise pass --unconfirmed-two-factor=ignore.`,
  )
}

async function printClients({ print }: CommandContext, source: ForeignSource): Promise<void> {
  const name = 'oauth_clients'
  const columns = chooseColumns(passportColumns, await source.columnsOf(name))
  if (columns.id === undefined) throw new CommandError('The source has no table oauth_clients.')
  const rows = []
  for (let after: string | null = null; ; ) {
    const page = await source.page({ name, columns }, after, clientBatch)
    rows.push(...page)
    after = page.at(-1)?.id ?? null
    if (page.length < clientBatch || after === null) break
  }
  for (const line of clientsAsYaml(rows).split('\n')) print(line)
}
