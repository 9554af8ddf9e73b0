import type { ForeignSource, SourceRow } from '../laravel/source/source.ts'
import { type ConvertedUser, FileError, textOf } from './converted.ts'
import { linksIn } from './links.ts'

const perPage = 500

/** A name as tables of better-auth have it: `emailVerified`, or `email_verified` with some adapters. */
const spellings = (name: string): string[] => [
  name,
  name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
  name.toLowerCase(),
]

/** The columns of a table, by their usual names. Leaves out those that it does not have. */
async function columnsIn(
  source: ForeignSource,
  table: string,
  names: readonly string[],
): Promise<Record<string, string>> {
  const known = await source.columnsOf(table)
  return Object.fromEntries(
    names.flatMap((name) => {
      const own = spellings(name).find((spelling) => known.has(spelling))
      return own === undefined ? [] : [[name, own]]
    }),
  )
}

/** Engines print booleans as `1`, `t` and `true`. */
const isTrue = (value: string | null | undefined): boolean => /^(1|t|true)$/i.test(value ?? '')

/** scrypt of better-auth, `<salt>:<hash>` in hexadecimal digits. The digits of the salt are the salt. */
function hashOf(stored: string): string {
  const [, salt = '', hash = ''] = /^([0-9a-f]{16,64}):([0-9a-f]{128})$/.exec(stored) ?? []
  if (salt === '') return stored
  const base64 = (bytes: Buffer) => bytes.toString('base64').replace(/=+$/, '')
  return `$scrypt$ln=14,r=16,p=1$${base64(Buffer.from(salt))}$${base64(Buffer.from(hash, 'hex'))}`
}

/** Reads the users of a better-auth application from its tables. Throws `FileError` for another database. */
export async function betterAuthUsers(source: ForeignSource): Promise<ConvertedUser[]> {
  const names = ['id', 'name', 'email', 'emailVerified', 'username', 'role', 'banned', 'banExpires', 'twoFactorEnabled']
  const columns = await columnsIn(source, 'user', names)
  const accounts = await columnsIn(source, 'account', ['id', 'userId', 'providerId', 'accountId', 'password'])
  if (!columns.id || !columns.email || !accounts.userId || !accounts.providerId) {
    throw new FileError('The database has no tables "user" and "account" of better-auth.')
  }
  const found: ConvertedUser[] = []
  for (let after: string | null = null; ; ) {
    const rows: SourceRow[] = await source.page({ name: 'user', columns }, after, perPage)
    const ids = rows.flatMap(({ id }) => id ?? [])
    const own = await source.matching({ name: 'account', columns: accounts }, accounts.userId, ids)
    for (const row of rows)
      found.push(
        converted(
          row,
          own.filter(({ userId }) => userId === row.id),
        ),
      )
    after = rows.at(-1)?.id ?? null
    if (rows.length < perPage || after === null) return found
  }
}

/** Tests for a ban without an end: svc cannot enable an account by itself. */
const isBanned = ({ banned, banExpires }: SourceRow): boolean => isTrue(banned) && textOf(banExpires) === null

function converted(row: SourceRow, accounts: readonly SourceRow[]): ConvertedUser {
  const key = row.id ?? ''
  const password = textOf(accounts.find(({ providerId }) => providerId === 'credential')?.password)
  return {
    ...{ key, email: textOf(row.email), name: textOf(row.name) ?? key, username: textOf(row.username) },
    ...{ givenName: null, familyName: null, groups: [] },
    passwordHash: password === null ? null : hashOf(password),
    ...{ verified: isTrue(row.emailVerified), disabled: isBanned(row), authenticator: null },
    links: linksIn(accounts, { provider: 'providerId', id: 'accountId' }).filter(({ given }) => given !== 'credential'),
    left: [
      ...(isTrue(row.banned) && !isBanned(row) ? ['a ban with an end; the account is enabled'] : []),
      ...(isTrue(row.twoFactorEnabled) ? ['the second factor, which the user must set up again'] : []),
      ...(textOf(row.role) === null || row.role === 'user'
        ? []
        : ['roles; svc has one role for each user (user:update --role)']),
    ],
  }
}
