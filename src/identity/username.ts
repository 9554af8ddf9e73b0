import { randomBytes } from 'node:crypto'
import { sha256Hex } from '../platform/crypto/hash.ts'
import type { Database, Tx } from '../platform/database/database.ts'
import { validationFailed } from '../platform/errors.ts'

const pattern = /^[a-z0-9](?:[a-z0-9._-]{0,61}[a-z0-9])?$/

/** Names that people take for the operator, or that programs use. Only administrators can give them. */
const reserved: ReadonlySet<string> = new Set([
  ...['abuse', 'account', 'admin', 'administrator', 'all', 'anonymous', 'api', 'auth', 'everyone', 'guest', 'help'],
  ...['hostmaster', 'info', 'login', 'logout', 'mail', 'me', 'moderator', 'no-reply', 'nobody', 'noreply', 'null'],
  ...['official', 'owner', 'postmaster', 'register', 'root', 'security', 'service', 'staff', 'superuser'],
  ...['support', 'svc', 'sysadmin', 'system', 'team', 'undefined', 'user', 'users', 'webmaster', 'www'],
])

/** Usernames that svc itself gives: `user-` and an id. */
const ofSvc = /^user-(\d{1,15})$/

/** The id in a username that svc made of it alone; null for another. */
export function idInUsername(username: string): bigint | null {
  const [, id] = ofSvc.exec(username) ?? []
  return id === undefined ? null : BigInt(id)
}

/** The form in which a username is stored and compared. */
export const canonicalUsername = (text: string): string => text.trim().toLowerCase()

/** Tests for a username in its stored form. Without `@`, so that it is never an address; not only digits, as ids are. */
export const isUsername = (text: string): boolean => pattern.test(text) && !/^[\d._-]+$/.test(text)

/** Why a username is refused that a user has or had. */
export const usernameTakenText = 'The username has already been taken.'

const refused = (message: string) => validationFailed({ username: [message] })

export const usernameTaken = () => refused(usernameTakenText)

/** Returns the stored form of a username. Throws 422 if it is invalid, or reserved and not given by an administrator. */
export function requireUsername(text: string, by: 'user' | 'administrator'): string {
  const username = canonicalUsername(text)
  if (!isUsername(username)) {
    throw refused(
      'The username may have up to 63 letters from a to z, digits, periods, hyphens and underscores, with at least one letter. It begins and ends with a letter or digit.',
    )
  }
  if (ofSvc.test(username) || (by === 'user' && reserved.has(username))) throw usernameTaken()
  return username
}

/**
 * Reserves a username for ever: svc gives it to no other user, also after the account is deleted. Only a hash stays then.
 * Returns false if the username was used before.
 */
async function reserveUsername(tx: Tx, username: string): Promise<boolean> {
  const hash = sha256Hex(username)
  return (await tx.$executeRaw`INSERT INTO used_usernames (hash) VALUES (${hash}) ON CONFLICT (hash) DO NOTHING`) > 0
}

/** Returns those of these usernames that a user has or had. */
export async function usedUsernames(
  { prisma }: { prisma: Database['prisma'] | Tx },
  usernames: readonly string[],
): Promise<ReadonlySet<string>> {
  const byHash = new Map(usernames.map((username) => [sha256Hex(username), username]))
  const rows = await prisma.usedUsername.findMany({ where: { hash: { in: [...byHash.keys()] } } })
  return new Set(rows.map(({ hash }) => byHash.get(hash) ?? ''))
}

/** Gives a user this username. Throws 422 if it was used before. */
export async function giveUsername(tx: Tx, userId: number, username: string): Promise<void> {
  if (!(await reserveUsername(tx, username))) throw usernameTaken()
  await tx.user.update({ where: { id: BigInt(userId) }, data: { username } })
}

/** Letters that decompose into no letter from a to z. */
const letters: Readonly<Record<string, string>> = {
  ...{ ß: 'ss', æ: 'ae', œ: 'oe', ø: 'o', ł: 'l', đ: 'd', ð: 'd', þ: 'th', ı: 'i' },
}

/** The beginning of a derived username: the letters from a to z and the digits of a name; `user` without any. */
function baseOf(name: string): string {
  const plain = name
    .normalize('NFKD')
    .toLowerCase()
    .replace(/\p{M}+/gu, '')
    .replace(/[ßæœøłđðþı]/g, (letter) => letters[letter] ?? '')
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, 40)
    .replace(/^-+|-+$/g, '')
  return /[a-z]/.test(plain) ? plain : 'user'
}

/**
 * Gives a user a username that is derived from the name. It ends with the id, so that nobody gets the name of another
 * person in an application by registering with it.
 */
export async function deriveUsername(tx: Tx, { id, name }: { id: number; name: string }): Promise<string> {
  for (let username = `${baseOf(name)}-${id}`; ; username = `${baseOf(name)}-${id}-${randomBytes(4).toString('hex')}`) {
    if (!(await reserveUsername(tx, username))) continue
    await tx.user.update({ where: { id: BigInt(id) }, data: { username } })
    return username
  }
}
