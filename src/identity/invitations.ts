import { randomBytes } from 'node:crypto'
import { ownLink } from '../pages/links.ts'
import type { CurrentConfig } from '../platform/config/current.ts'
import type { Config } from '../platform/config/schema.ts'
import { adminScope } from '../platform/config/sections/admin.ts'
import { sha256Hex } from '../platform/crypto/hash.ts'
import { deleteOutdated } from '../platform/database/batches.ts'
import type { Database, Tx } from '../platform/database/database.ts'
import type { Invitation as InvitationRow } from '../platform/generated/postgresql/client.ts'
import type { Mail } from '../platform/mail/mail.ts'
import { isHeldForUndo } from './email-change.ts'
import { type EventContext, recordEvent } from './events.ts'
import { changeGroups, requireGroups, requireRoleIsNoGroup, sortedNames } from './groups.ts'
import { canonicalEmail, groupList, type User } from './user.ts'
import { createUser, findUserByEmail, findUserById } from './users.ts'

/** Page that accepts an invitation. */
export const invitationPath = '/oauth/invitation/:token'

/** Returns the page of an invitation. */
export const invitationPageOf = (token: string): string => invitationPath.replace(':token', encodeURIComponent(token))

const hour = 3_600_000

/** An invitation that can be accepted. */
export interface Invitation {
  id: number
  email: string
  /** Null if the person chooses it. */
  name: string | null
  role: string
  /** Names of the groups that the account will be in. */
  groups: readonly string[]
  /** Who invited, such as `user:5` or `client:robot`; null for an operator. */
  inviter: string | null
  /** ISO 8601. */
  expires_at: string
}

interface InvitationRequest {
  email: string
  name: string | null
  role: string
  groups?: readonly string[]
}

/**
 * Invites the owner of an address: mails a link to create the account. Replaces the former invitation of the address.
 * Returns null if the address has an account. Throws 429 if the mailbox got too much mail.
 */
export async function invite(
  { config, mail }: { config: CurrentConfig; mail: Pick<Mail, 'queue'> },
  tx: Tx,
  origin: EventContext,
  request: InvitationRequest,
): Promise<Invitation | null> {
  const created = await createInvitation(config, tx, origin, request, 'mail')
  if (!created) return null
  const { invitation, link } = created
  const hours = Math.max(1, Math.floor(config.current().invitations.ttl / hour))
  await mail.queue(
    tx,
    {
      to: invitation.email,
      template: 'invitation',
      language: null,
      data: { link, hours, days: Math.floor(hours / 24) },
      expiresAt: Date.parse(invitation.expires_at),
    },
    { share: 'admin', userId: null, ipAddress: null },
  )
  return invitation
}

/** Does the same without a mail, and returns the link too. The event says how the person gets it. */
export async function createInvitation(
  config: CurrentConfig,
  tx: Tx,
  origin: EventContext,
  { email, name, role, groups: asked = [] }: InvitationRequest,
  delivery: 'mail' | 'link' = 'link',
): Promise<{ invitation: Invitation; link: string } | null> {
  const { now } = origin
  const address = canonicalEmail(email)
  if ((await findUserByEmail({ prisma: tx }, address)) || (await isHeldForUndo(tx, address, null, now))) return null
  const groups = sortedNames(asked)
  await requireGroups({ prisma: tx }, config.current(), groups)
  await requireRoleIsNoGroup(tx, config.current(), role)
  const { ttl } = config.current().invitations
  const token = randomBytes(32).toString('base64url')
  const expiresAt = now + ttl
  const inviter = origin.actor !== null && hasRight.test(origin.actor) ? origin.actor : null
  const dates = { createdAt: new Date(now), expiresAt: new Date(expiresAt) }
  const row = { tokenHash: sha256Hex(token), name, role, groups: JSON.stringify(groups), inviter, ...dates }
  const { id } = await tx.invitation.upsert({
    where: { email: address },
    create: { email: address, ...row },
    update: row,
  })
  const data = { invitation: Number(id), email: address, role, delivery }
  await recordEvent(tx, origin, { type: 'user_invited', userId: null, target: `invitation:${id}`, data })
  const dated = { inviter, expires_at: new Date(expiresAt).toISOString() }
  const link = ownLink(config.current(), invitationPageOf(token))
  return { invitation: { id: Number(id), email: address, name, role, groups, ...dated }, link }
}

/** An inviter whose right can end: a user or a client. */
const hasRight = /^(user|client):(.+)$/

/** Tests whether the inviter may still invite. */
async function mayInvite(
  { prisma }: { prisma: Database['prisma'] | Tx },
  { admin, clients }: Config,
  inviter: string | null,
): Promise<boolean> {
  const [, kind, id = ''] = hasRight.exec(inviter ?? '') ?? []
  if (kind === 'client') {
    return clients.some(({ client_id, scopes }) => client_id === id && scopes.includes(adminScope))
  }
  if (kind !== 'user') return true
  const found = await findUserById({ prisma }, Number(id))
  return found !== null && !found.user.disabled && admin.roles.includes(found.user.role)
}

const invitationOf = ({ id, email, name, role, groups, inviter, expiresAt }: InvitationRow): Invitation => ({
  id: Number(id),
  email,
  name,
  role,
  groups: groupList(groups),
  inviter,
  expires_at: expiresAt.toISOString(),
})

/** Returns an invitation; null if it was accepted or has been deleted. */
export async function findInvitationById({ prisma }: Database, id: number): Promise<Invitation | null> {
  const row = await prisma.invitation.findUnique({ where: { id: BigInt(id) } })
  return row && invitationOf(row)
}

/** Returns the invitations that have not been accepted or expired, oldest first, after the one with this id. */
export async function listInvitations(
  { prisma }: Database,
  { after, take, now }: { after: number; take: number; now: number },
): Promise<Invitation[]> {
  const where = { id: { gt: BigInt(after) }, expiresAt: { gt: new Date(now) } }
  return (await prisma.invitation.findMany({ where, orderBy: { id: 'asc' }, take })).map(invitationOf)
}

/** Deletes an invitation, which invalidates its link; returns false if there is none. */
export async function revokeInvitation(
  tx: Tx,
  origin: EventContext,
  which: { id: number } | { email: string },
): Promise<boolean> {
  const where = 'id' in which ? { id: BigInt(which.id) } : { email: canonicalEmail(which.email) }
  const row = await tx.invitation.findFirst({ where: { ...where, expiresAt: { gt: new Date(origin.now) } } })
  if (!row || (await tx.invitation.deleteMany({ where: { id: row.id } })).count === 0) return false
  const data = { invitation: Number(row.id), email: row.email }
  await recordEvent(tx, origin, { type: 'invitation_revoked', userId: null, target: `invitation:${row.id}`, data })
  return true
}

/**
 * Returns the invitation of a token, without using it up; null if it is unknown, expired or replaced, or its inviter may no
 * longer invite.
 */
export async function findInvitation(
  { database, config }: { database: { prisma: Database['prisma'] | Tx }; config: CurrentConfig },
  token: string,
  now: number,
): Promise<Invitation | null> {
  const row = await database.prisma.invitation.findFirst({
    where: { tokenHash: sha256Hex(token), expiresAt: { gt: new Date(now) } },
  })
  return row && (await mayInvite(database, config.current(), row.inviter)) ? invitationOf(row) : null
}

/**
 * Creates the account of an invitation and uses the invitation up. The address counts as verified, because the link was
 * mailed there. Returns `invalid` if the invitation is no longer valid, and `taken` if the address has an account.
 */
export async function acceptInvitation(
  { config, database }: { config: CurrentConfig; database: Pick<Database, 'engine'> },
  tx: Tx,
  origin: EventContext,
  { token, name, password }: { token: string; name: string; password: string | null },
): Promise<User | 'invalid' | 'taken'> {
  const { now } = origin
  const invitation = await findInvitation({ database: { prisma: tx }, config }, token, now)
  if (!invitation) return 'invalid'
  const { id, email, role, groups } = invitation
  // A conditional delete: of two concurrent requests, one creates the account.
  const { count } = await tx.invitation.deleteMany({ where: { id: BigInt(id), tokenHash: sha256Hex(token) } })
  if (count === 0) return 'invalid'
  const user = await createUser(tx, { name, email, password, role, verified: true, now })
  if (!user) return 'taken'
  await recordEvent(tx, origin, { type: 'registered', userId: user.id, data: { invitation: id } })
  if (groups.length === 0) return user
  const add = { add: groups, source: 'invitation' } as const
  return { ...user, groups: await changeGroups(tx, database, origin, config.current(), user.id, add) }
}

/** Deletes expired invitations. */
export async function pruneInvitations(database: Database, now: number): Promise<void> {
  await deleteOutdated(database, { table: 'invitations', date: 'expires_at', before: new Date(now) })
}
