import { storedAbilities } from '../../auth/access/abilities.ts'
import { mustAcceptTerms } from '../../auth/access/accepted-terms.ts'
import { hasAdminRole } from '../../auth/access/administrators.ts'
import { mustVerifyAddress } from '../../auth/access/verified-address.ts'
import type { CommandContext } from '../../contract/command.ts'
import { Registry } from '../../features/oauth/clients/clients.ts'
import { registeredScopes } from '../../features/oauth/clients/scopes.ts'
import { scopesOfTargets } from '../../features/oauth/clients/targets.ts'
import { RecordSeal } from '../../features/oauth/records/record-seal.ts'
import type { User } from '../../identity/user.ts'
import { eachUser } from '../../identity/users.ts'
import type { Config } from '../../platform/config/schema.ts'
import { isPassword } from '../../platform/crypto/stored-password.ts'

/** Number of users that an effect or a changed decision names. */
export const maxUsers = 20

/** What a change does to stored sessions, tokens and users. */
export interface Effect {
  what: string
  count: number
  /** Ids of users, at most 20. */
  users: number[]
}

/** Collects effects by what they are. */
class Effects {
  readonly #found = new Map<string, Effect>()

  add(what: string, user: number | null, count = 1): void {
    const effect = this.#found.get(what) ?? { what, count: 0, users: [] }
    this.#found.set(what, effect)
    effect.count += count
    if (user !== null && effect.users.length < maxUsers && !effect.users.includes(user)) effect.users.push(user)
  }

  get all(): Effect[] {
    return [...this.#found.values()].filter(({ count }) => count > 0)
  }
}

type Context = Pick<CommandContext, 'database' | 'features' | 'config' | 'now'>

interface Both {
  before: Config
  after: Config
}

/** Returns what the second configuration would do to what is stored, if it replaced the first. */
export async function affectedBy(context: Context, both: Both): Promise<Effect[]> {
  const effects = new Effects()
  await sessions(context, both, effects)
  await apiTokens(context, both, effects)
  await personalTokens(context, both, effects)
  await grants(context, both, effects)
  await users(context, both, effects)
  await waysIn(context, both, effects)
  return effects.all
}

/** Why all sessions end; null if they do not. */
function endOfAll({ before, after }: Both): string | null {
  // A secret that stays in the list still verifies.
  if (before.app.secret[0] !== undefined && !after.app.secret.includes(before.app.secret[0]))
    return 'app.secret changes'
  if (before.session.cookie !== after.session.cookie) return 'session.cookie changes'
  if (before.session.domain !== after.session.domain) return 'session.domain changes'
  if (new URL(before.app.url).host !== new URL(after.app.url).host) return 'app.url changes'
  if (before.session.secure !== after.session.secure) return 'the names of cookies change'
  return before.stateful_api && !after.stateful_api ? 'stateful_api is turned off' : null
}

async function sessions({ database: { prisma }, now }: Context, both: Both, effects: Effects): Promise<void> {
  const [old, next] = [both.before.session, both.after.session]
  const ended = endOfAll(both)
  if (!ended && old.lifetime <= next.lifetime && old.absolute_lifetime <= next.absolute_lifetime) return
  const alive = ({ lifetime, absolute_lifetime }: Config['session']) => ({
    lastSeenAt: { gt: new Date(now - lifetime) },
    createdAt: { gt: new Date(now - absolute_lifetime) },
  })
  const signedIn = { userId: { not: null } }
  const all = await prisma.session.count({ where: { ...signedIn, ...alive(old) } })
  if (ended) return effects.add(`Sessions that end, because ${ended}`, null, all)
  const kept = await prisma.session.count({ where: { ...signedIn, AND: [alive(old), alive(next)] } })
  effects.add('Sessions that end, because their lifetime becomes shorter', null, all - kept)
}

async function apiTokens(
  { database: { prisma }, now }: Context,
  { before, after }: Both,
  effects: Effects,
): Promise<void> {
  const [old, next] = [before.expiration, after.expiration]
  if (next === null || (old !== null && old <= next)) return
  const count = await prisma.personalAccessToken.count({
    where: {
      createdAt: { lte: new Date(now - next), ...(old === null ? {} : { gt: new Date(now - old) }) },
      OR: [{ expiresAt: null }, { expiresAt: { gt: new Date(now) } }],
    },
  })
  effects.add('API tokens that expire, because of expiration', null, count)
}

/** The scopes that a client could get before, and cannot get now. */
function lostScopes(names: readonly string[], clientId: string, before: Registry, after: Registry): string[] {
  const [old, next] = [scopesOfTargets(before.targets(clientId)), scopesOfTargets(after.targets(clientId))]
  return names.filter((name) => old.has(name) && !next.has(name))
}

async function personalTokens({ database: { prisma }, now }: Context, both: Both, effects: Effects): Promise<void> {
  const [old, next] = [registeredScopes(both.before), registeredScopes(both.after)]
  if ([...old].every((name) => next.has(name))) return
  const rows = await prisma.oauthPersonalToken.findMany({ where: { expiresAt: { gt: new Date(now) } } })
  for (const { userId, scopes } of rows) {
    const lost = storedAbilities(scopes).filter((name) => old.has(name) && !next.has(name))
    if (lost.length > 0) effects.add(`Personal access tokens with the removed scope ${lost.join(' ')}`, Number(userId))
  }
}

/** Payload of a grant, as far as a plan reads it. */
interface GrantPayload {
  clientId?: string
  openid?: { scope?: string }
  resources?: Record<string, string>
}

/** Rows that are read at once. */
const batch = 500

async function grants({ database: { prisma }, config, now }: Context, both: Both, effects: Effects): Promise<void> {
  const [old, next] = [new Registry(both.before), new Registry(both.after)]
  const seal = new RecordSeal(config.current().app.secret)
  const isOtherAudience = both.before.oauth.audience !== both.after.oauth.audience
  for (let last = ''; ; ) {
    const where = { kind: 'Grant', id: { gt: last }, OR: [{ expiresAt: null }, { expiresAt: { gt: BigInt(now) } }] }
    const rows = await prisma.oauthRecord.findMany({ where, orderBy: { id: 'asc' }, take: batch })
    for (const row of rows) {
      const { clientId, openid, resources = {} } = seal.open<GrantPayload>(row) ?? {}
      if (clientId === undefined || !old.has(clientId)) continue
      const user = row.userId === null ? null : Number(row.userId)
      const names = [openid?.scope ?? '', ...Object.values(resources)].join(' ').split(' ')
      const lost = lostScopes([...new Set(names)], clientId, old, next)
      if (!next.has(clientId)) effects.add(`Tokens of the client ${clientId} that end, because it is removed`, user)
      else if (lost.length > 0) effects.add(`Grants of the client ${clientId} that lose ${lost.join(' ')}`, user)
      else if (isOtherAudience)
        effects.add('Grants whose access tokens stop working, because oauth.audience changes', user)
      else if (old.refreshTtl(clientId) > 0 && next.refreshTtl(clientId) === 0)
        effects.add(`Grants of the client ${clientId} whose tokens cannot be renewed any more`, user)
    }
    last = rows.at(-1)?.id ?? last
    if (rows.length < batch) return
  }
}

/** Tests whether a configuration holds a user back. */
type Hold = readonly [what: string, isHeld: (config: Config, user: User) => boolean]

const holds: readonly Hold[] = [
  ['Users who must verify their address first', mustVerifyAddress],
  ['Users who must accept the new terms first', mustAcceptTerms],
  ['Users who are no longer administrators', (config, user) => !hasAdminRole(user, config)],
  [
    'Users who lose a field that is removed',
    (config, { fields = {} }) => Object.keys(fields).some((name) => !Object.hasOwn(config.users.fields, name)),
  ],
]

async function users({ database }: Context, { before, after }: Both, effects: Effects): Promise<void> {
  const sectionsOf = ({ registration, terms, admin, users }: Config) =>
    JSON.stringify([registration.require_verified_email, terms.version, admin.roles, Object.keys(users.fields)])
  if (sectionsOf(before) === sectionsOf(after)) return
  for await (const user of eachUser(database)) {
    if (user.disabled) continue
    for (const [what, isHeld] of holds) if (!isHeld(before, user) && isHeld(after, user)) effects.add(what, user.id)
  }
}

/** The configuration as far as stored passkeys and links work with it: they belong to the former rp_id and issuer. */
function withFormerAccounts(after: Config, before: Config): Config {
  const isSameSite = after.passkeys.rp_id === before.passkeys.rp_id
  const social = Object.entries(after.social).filter(([id, { issuer }]) => {
    const former = before.social[id]
    return former === undefined || former.issuer === issuer
  })
  return {
    ...after,
    social: Object.fromEntries(social),
    passkeys: isSameSite ? after.passkeys : { ...after.passkeys, enabled: false },
  }
}

async function waysIn(
  { database: { prisma }, features }: Context,
  { before, after }: Both,
  effects: Effects,
): Promise<void> {
  // A mailed code is a way in for everyone.
  if (after.login.email_code) return
  const next = withFormerAccounts(after, before)
  const isOpen = async (config: Config, id: number): Promise<boolean> => {
    if (config.login.email_code) return true
    for (const { wayIn } of features) if (await wayIn?.isOpen(prisma, config, id)) return true
    return false
  }
  for (let last = 0n; ; ) {
    const where = { id: { gt: last }, disabledAt: null, OR: [{ password: null }, { password: { startsWith: '!' } }] }
    const select = { id: true, password: true }
    const rows = await prisma.user.findMany({ where, select, orderBy: { id: 'asc' }, take: batch })
    for (const { id, password } of rows) {
      if (isPassword(password) || (await isOpen(next, Number(id)))) continue
      if (await isOpen(before, Number(id))) effects.add('Users who can no longer sign in', Number(id))
    }
    last = rows.at(-1)?.id ?? last
    if (rows.length < batch) return
  }
}
