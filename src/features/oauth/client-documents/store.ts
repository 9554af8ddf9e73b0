import { deleteOutdated } from '../../../platform/database/batches.ts'
import type { Database, Tx } from '../../../platform/database/database.ts'
import type { ClientDocument } from './document.ts'
import { hostOf } from './policy.ts'

/** A stored document. Times are in Unix milliseconds. */
export interface StoredDocument {
  document: ClientDocument
  fetchedAt: number
  /** When svc fetches it again. */
  freshUntil: number
}

/** A client that got a token. */
export interface UsedClient {
  document: ClientDocument
  usedAt: Date
}

/** How long svc keeps a document that no token was issued for, and one that was used last, in milliseconds. */
const keptFor = { unused: 86_400_000, used: 90 * 86_400_000 }

/** What a full table keeps, in milliseconds since the fetch or the last token. */
const spared = { unused: 900_000, used: 7 * 86_400_000 }

const documentOf = (text: string): ClientDocument => JSON.parse(text)

/** Returns the stored document of a client; null without one. */
export async function findDocument({ prisma }: Database, id: string): Promise<StoredDocument | null> {
  const row = await prisma.oauthClientDocument.findUnique({ where: { id } })
  return (
    row && {
      document: documentOf(row.document),
      fetchedAt: Number(row.fetchedAt),
      freshUntil: Number(row.freshUntil),
    }
  )
}

/** Returns the documents of these clients. */
export async function findDocuments({ prisma }: Database, ids: readonly string[]): Promise<ClientDocument[]> {
  if (ids.length === 0) return []
  const rows = await prisma.oauthClientDocument.findMany({ where: { id: { in: [...ids] } } })
  return rows.map(({ document }) => documentOf(document))
}

/** Inserts a document, or replaces it. */
export async function saveDocument(
  { prisma }: Database,
  document: ClientDocument,
  { fetchedAt, freshUntil }: Omit<StoredDocument, 'document'>,
): Promise<void> {
  const [text, fetched, fresh] = [JSON.stringify(document), BigInt(fetchedAt), BigInt(freshUntil)]
  await prisma.$executeRaw`
    INSERT INTO oauth_client_documents (id, document, fetched_at, fresh_until, expires_at)
    VALUES (${document.client_id}, ${text}, ${fetched}, ${fresh}, ${fetched + BigInt(keptFor.unused)})
    ON CONFLICT (id) DO UPDATE SET document = ${text}, fetched_at = ${fetched}, fresh_until = ${fresh}
    WHERE oauth_client_documents.fetched_at <= ${fetched}`
}

/** Sets when svc fetches a document again, while its host is down. */
export async function postpone({ prisma }: Database, id: string, freshUntil: number): Promise<void> {
  await prisma.oauthClientDocument.updateMany({ where: { id }, data: { freshUntil: BigInt(freshUntil) } })
}

/** Notes that a client got a token, which works for at most this time in milliseconds. */
export async function noteUse({ prisma }: Database, id: string, now: number, lifetime: number): Promise<void> {
  const data = { usedAt: BigInt(now), expiresAt: BigInt(now + Math.max(keptFor.used, lifetime)) }
  await prisma.oauthClientDocument.updateMany({ where: { id }, data })
}

/** Deletes a document that its host no longer serves. */
export async function deleteDocument({ prisma }: Database, id: string): Promise<void> {
  await prisma.oauthClientDocument.deleteMany({ where: { id } })
}

/** Number of documents, including those that nobody used. */
export const countDocuments = ({ prisma }: Database): Promise<number> => prisma.oauthClientDocument.count()

/**
 * Deletes the oldest documents that no token was issued for, and otherwise those not used for a week; returns the count. Keeps
 * new ones, which a user may be about to allow.
 */
export async function dropUnused({ prisma }: Database, count: number, now: number): Promise<number> {
  const where = {
    OR: [
      { usedAt: null, fetchedAt: { lt: BigInt(now - spared.unused) } },
      { usedAt: { lt: BigInt(now - spared.used) } },
    ],
  }
  const rows = await prisma.oauthClientDocument.findMany({
    where,
    orderBy: [{ usedAt: { sort: 'asc', nulls: 'first' } }, { expiresAt: 'asc' }],
    take: count,
    select: { id: true },
  })
  const ids = rows.map(({ id }) => id)
  return (await prisma.oauthClientDocument.deleteMany({ where: { ...where, id: { in: ids } } })).count
}

/** Deletes documents that nobody used for a day, or for 90 days after a token was issued. */
export const pruneDocuments = (database: Database, now: number): Promise<number> =>
  deleteOutdated(database, { table: 'oauth_client_documents', date: 'expires_at', before: now })

/** Returns the clients that got tokens, those used last first. */
export async function listUsedClients({ prisma }: Database, take: number): Promise<UsedClient[]> {
  const rows = await prisma.oauthClientDocument.findMany({
    where: { usedAt: { not: null } },
    orderBy: [{ usedAt: 'desc' }, { id: 'asc' }],
    take,
  })
  return rows.map(({ document, usedAt }) => ({ document: documentOf(document), usedAt: new Date(Number(usedAt)) }))
}

/** Returns a client that got tokens; null for any other. */
export async function findUsedClient({ prisma }: Database, id: string): Promise<UsedClient | null> {
  // Every client has a normalized URL. Other texts may have characters that PostgreSQL rejects.
  if (URL.parse(id)?.href !== id) return null
  const row = await prisma.oauthClientDocument.findUnique({ where: { id, usedAt: { not: null } } })
  return row && { document: documentOf(row.document), usedAt: new Date(Number(row.usedAt)) }
}

/** The host itself without its port, and every domain above it. */
function domainsOf(id: string): string[] {
  const host = hostOf(id).replace(/:\d+$/, '')
  const labels = /[a-z]/.test(host.split('.').at(-1) ?? '') ? host.split('.') : [host]
  return labels.map((_, from) => labels.slice(from).join('.'))
}

/** Tests whether an administrator blocked the host of a client, or a domain above it. */
export async function isBlocked({ prisma }: Database, id: string): Promise<boolean> {
  return (await prisma.oauthBlockedHost.count({ where: { id: { in: domainsOf(id) } } })) > 0
}

/** Blocks a host; false if it is blocked already. */
export async function blockHost(tx: Tx, host: string, now: Date): Promise<boolean> {
  return (
    (await tx.$executeRaw`
      INSERT INTO oauth_blocked_hosts (id, created_at) VALUES (${host}, ${now}) ON CONFLICT DO NOTHING`) > 0
  )
}

/** Ends the block of a host; false if it is not blocked. */
export async function unblockHost(tx: Tx, host: string): Promise<boolean> {
  return (await tx.oauthBlockedHost.deleteMany({ where: { id: host } })).count > 0
}

/** Returns the blocked hosts in alphabetical order. */
export async function listBlockedHosts({ prisma }: Database): Promise<{ host: string; createdAt: Date }[]> {
  const rows = await prisma.oauthBlockedHost.findMany({ orderBy: { id: 'asc' } })
  return rows.map(({ id, createdAt }) => ({ host: id, createdAt }))
}
