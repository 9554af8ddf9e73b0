import { type AttributeChanges, type Attributes, attributesOf, withAttributes } from '../../identity/attributes.ts'
import type { EventContext } from '../../identity/events.ts'
import { dropProviderGroups } from '../../identity/groups.ts'
import type { Found, ImportItem } from '../../identity/import-part.ts'
import { wireDate } from '../../identity/wire-date.ts'
import type { Database, Tx } from '../../platform/database/database.ts'
import { maxRowId } from '../../platform/database/ids.ts'
import type { Static } from '../../platform/json-schema.ts'
import type { SocialProfile } from './providers/profile.ts'
import type { SocialAccountRecord } from './schemas.ts'

type Record = Static<typeof SocialAccountRecord>

/** A profile with the provider's tokens, encrypted or null. */
export interface StoredIdentity extends SocialProfile {
  tokens: string | null
}

/** Returns the owner of an identity by the provider's id, or null. */
export async function ownerOf(
  tx: Tx,
  { provider, issuer, providerId }: SocialProfile,
): Promise<{ id: bigint; userId: number } | null> {
  const where = { provider_issuer_providerId: { provider, issuer, providerId } }
  const row = await tx.socialAccount.findUnique({ where, select: { id: true, userId: true } })
  return row && { id: row.id, userId: Number(row.userId) }
}

/** Links the identity to a user; false if it is already linked. */
export async function insertLink(tx: Tx, userId: number, identity: StoredIdentity, now: number): Promise<boolean> {
  const { provider, issuer, providerId, name, avatar, tokens } = identity
  const [owner, date, email] = [BigInt(userId), new Date(now), identity.email?.address ?? null]
  // A single statement: two concurrent links of one identity do not abort a transaction.
  const count = await tx.$executeRaw`
    INSERT INTO social_accounts
      (user_id, provider, issuer, provider_id, email, name, avatar, tokens, created_at, updated_at, last_used_at)
    VALUES (${owner}, ${provider}, ${issuer}, ${providerId}, ${email}, ${name}, ${avatar}, ${tokens}, ${date}, ${date}, ${date})
    ON CONFLICT (provider, issuer, provider_id) DO NOTHING`
  return count > 0
}

/** Records that an identity was used, with its current profile; false if the link was deleted. */
export async function noteUse(tx: Tx, id: bigint, identity: StoredIdentity, now: number): Promise<boolean> {
  const { name, avatar, tokens } = identity
  const date = new Date(now)
  const email = identity.email?.address ?? null
  // Apple sends the name with the first sign-in only.
  const known = { ...(name === null ? {} : { name }), ...(avatar === null ? {} : { avatar }) }
  const { count } = await tx.socialAccount.updateMany({
    where: { id },
    data: { ...known, email, tokens, updatedAt: date, lastUsedAt: date },
  })
  return count > 0
}

/** Tests whether the user has a linked identity at one of the providers. */
export const hasLink = async (tx: Tx, userId: number, providers: readonly string[]): Promise<boolean> =>
  (await tx.socialAccount.count({ where: { userId: BigInt(userId), provider: { in: [...providers] } } })) > 0

/** Tests whether the user has a linked identity at the provider. */
export async function isLinked({ prisma }: Database, userId: number, provider: string): Promise<boolean> {
  return (await prisma.socialAccount.count({ where: { userId: BigInt(userId), provider } })) > 0
}

/** How many identities of a provider are linked, and when one was last used. */
export async function linkUse({ prisma }: Database, provider: string): Promise<{ count: number; usedAt: Date | null }> {
  const { _count, _max } = await prisma.socialAccount.aggregate({
    where: { provider },
    _count: true,
    _max: { lastUsedAt: true },
  })
  return { count: _count, usedAt: _max.lastUsedAt }
}

/** The user's linked identities, oldest first. */
export async function listLinks({ prisma }: Database, userId: number): Promise<Record[]> {
  const rows = await prisma.socialAccount.findMany({ where: { userId: BigInt(userId) }, orderBy: { id: 'asc' } })
  return rows.map((row) => ({
    id: Number(row.id),
    provider: row.provider,
    provider_id: row.providerId,
    email: row.email,
    name: row.name,
    avatar: row.avatar,
    created_at: wireDate(row.createdAt),
    last_used_at: wireDate(row.lastUsedAt),
  }))
}

/** Deletes the user's link of this id; returns it, or null when the user has no such link. */
export async function deleteLink(tx: Tx, { id, userId }: { id: bigint; userId: number }): Promise<DeletedLink | null> {
  if (id > maxRowId) return null
  const where = { id, userId: BigInt(userId) }
  const row = await tx.socialAccount.findFirst({ where, select: { provider: true, avatar: true } })
  await tx.socialAccount.deleteMany({ where })
  return row
}

/** A link that was deleted. */
type DeletedLink = Pick<SocialProfile, 'provider' | 'avatar'>

/** Removes what a deleted link provided: its picture, and the provider's groups after its last link. The user is locked. */
export async function endProvided(
  tx: Tx,
  origin: EventContext | null,
  userId: number,
  { provider, avatar }: DeletedLink,
): Promise<void> {
  if (!(await hasLink(tx, userId, [provider]))) await dropProviderGroups(tx, origin, userId, provider)
  const before = await storedAttributes(tx, userId)
  if (avatar !== null && before.picture === avatar) await storeAttributes(tx, userId, before, { picture: null })
}

/** The attributes of a locked user. */
export const storedAttributes = async (tx: Tx, userId: number): Promise<Attributes> =>
  attributesOf((await tx.user.findUniqueOrThrow({ where: { id: BigInt(userId) } })).attributes)

/** Changes the attributes of a locked user. */
export async function storeAttributes(
  tx: Tx,
  userId: number,
  before: Attributes,
  changes: AttributeChanges,
): Promise<void> {
  const attributes = withAttributes(before, changes)
  if (attributes === withAttributes(before, {})) return
  await tx.user.update({ where: { id: BigInt(userId) }, data: { attributes } })
}

/** Deletes every link of the user, with the groups of its provider. The user is locked. */
export async function deleteLinksOf(tx: Tx, userId: number, since?: Date): Promise<void> {
  const where = { userId: BigInt(userId), ...(since ? { createdAt: { gte: since } } : {}) }
  const rows = await tx.socialAccount.findMany({ where, select: { provider: true, avatar: true } })
  await tx.socialAccount.deleteMany({ where })
  for (const row of rows) await endProvided(tx, null, userId, row)
}

/** A link to an identity that is imported from another application. */
export interface ImportedLink extends ImportItem {
  provider: string
  issuer: string
  providerId: string
  email: string | null
  name: string | null
  avatar: string | null
  updatedAt: Date | null
}

const keyOf = ({ provider, issuer, providerId }: Pick<ImportedLink, 'provider' | 'issuer' | 'providerId'>): string =>
  JSON.stringify([provider, issuer, providerId])

/** Looks up imported links, in their order. */
export async function findImported(tx: Tx, links: readonly ImportedLink[]): Promise<Found[]> {
  const rows = await tx.socialAccount.findMany({
    where: { providerId: { in: links.map(({ providerId }) => providerId) } },
    select: { provider: true, issuer: true, providerId: true, userId: true },
  })
  const owners = new Map(rows.map((row) => [keyOf(row), row.userId]))
  return links.map((link) => {
    const owner = owners.get(keyOf(link))
    owners.set(keyOf(link), owner ?? link.userId)
    if (owner === undefined) return 'new'
    return owner === link.userId ? 'present' : { conflict: 'another user of svc has linked this account' }
  })
}

/** Stores links. */
export async function insertImported(tx: Tx, links: readonly ImportedLink[], { now }: { now: number }): Promise<void> {
  const date = new Date(now)
  await tx.socialAccount.createMany({
    data: links.map((link) => ({ ...link, createdAt: link.createdAt ?? date, updatedAt: link.updatedAt ?? date })),
  })
}
