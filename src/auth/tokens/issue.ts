import { deviceName } from '../../identity/device-name.ts'
import { recordEvent } from '../../identity/events.ts'
import { type Credential, lockAndCheckAccount } from '../../identity/lock.ts'
import { notify, type Recipient } from '../../identity/notices.ts'
import { findUserById, unchangedAccount } from '../../identity/users.ts'
import type { Database, Tx } from '../../platform/database/database.ts'
import { querySql, sql } from '../../platform/database/sql.ts'
import { forbidden, invalidAbility, unauthenticated, validationFailed } from '../../platform/errors.ts'
import { millisecondsOf } from '../../platform/http/formats.ts'
import type { Caller } from '../access/caller.ts'
import type { Visit } from '../access/visit.ts'
import type { Channel } from '../sign-in/channel.ts'
import type { TokenSignIn } from '../sign-in/token-sign-in.ts'
import {
  countTokens,
  createToken,
  deleteToken,
  findLeastUsed,
  type NewAccessToken,
  type TokenFacts,
  tokenInsertion,
} from './store.ts'

/** Properties of a token that a client requests. */
export interface TokenRequest {
  name: string
  abilities: readonly string[] | null
  expiresAt: string | null
}

/** Properties of a token that svc grants. */
export interface TokenGrant {
  abilities: readonly string[]
  expiresAt: number | null
  /** Session, token or sign-in that must still be valid when the token is issued. */
  credential: Credential
  /** Thumbprint of the key to which the token is bound; null for a bearer token. */
  keyThumbprint: string | null
  /** The entry point of the sign-in that issues the token. */
  channel?: Channel
}

/**
 * Limits a grant to the caller's own: a token passes on only its abilities and no later expiry. Throws 403 for other
 * abilities, 422 for a date in the past or after the caller's expiry.
 */
export function decideGrant(asked: TokenRequest, caller: Caller, defaults: readonly string[], now: number): TokenGrant {
  const narrow = caller.kind === 'session' ? null : caller
  const abilities = asked.abilities ?? (narrow ? narrow.abilities : defaults)
  if (narrow && !abilities.every((ability) => narrow.can(ability))) throw invalidAbility()

  const own = narrow?.expiresAt ?? null
  const wanted = asked.expiresAt === null ? null : millisecondsOf(asked.expiresAt)
  if (wanted !== null && wanted <= now) {
    throw validationFailed({ expires_at: ['The expires at field must be a date after now.'] })
  }
  if (wanted !== null && own !== null && wanted > own) {
    throw validationFailed({ expires_at: ['The expires at field must not be later than the end of the token in use.'] })
  }
  const credential = caller.kind === 'session' ? { session: caller.rowId } : { token: BigInt(caller.credentialId) }
  return { abilities, expiresAt: wanted ?? own, credential, keyThumbprint: narrow?.keyThumbprint ?? null }
}

/**
 * Returns the user whose API tokens the caller manages. Throws 403 for JWTs: only sessions and API tokens manage API
 * tokens.
 */
export function tokenOwner(caller: Caller): number {
  if (!caller.user || (caller.kind !== 'session' && caller.kind !== 'api_token')) throw forbidden()
  return caller.user.id
}

/** Maximum number of API tokens of a user. Lists contain all of them. */
const maxTokens = 1_000

/**
 * Deletes the least recently used token for a sign-in, so that the limit cannot lock out apps that sign in again and again.
 * Throws 422 otherwise.
 */
async function makeRoom(tx: Tx, visit: Visit, userId: number, { channel }: TokenGrant): Promise<void> {
  if (!channel) {
    throw validationFailed({ token_name: ['This account already has 1,000 API tokens. Revoke one first.'] })
  }
  const origin = visit.origin
  const id = await findLeastUsed(tx, userId, new Date(origin.now))
  if (id === null) return
  await deleteToken(tx, userId, id)
  const data = { token_id: Number(id), cause: 'token_limit' }
  await recordEvent(tx, origin, { type: 'token_revoked', userId, data })
}

/** A token that a transaction has inserted, and the address for the notice. */
interface Issued {
  created: NewAccessToken
  owner: Recipient | null
}

/**
 * Issues a token and records it. Throws 401 if the underlying session, token or password is no longer valid, and 422 if the
 * user has too many tokens to create another.
 */
export function issueToken(visit: Visit, userId: number, name: string, grant: TokenGrant): Promise<NewAccessToken> {
  const { database, clock, config } = visit.app
  const { abilities, keyThumbprint, channel } = grant
  const expiresAt = grant.expiresAt === null ? null : new Date(grant.expiresAt)
  const facts = { userId, name, abilities, expiresAt, prefix: config.current().tokens.prefix, keyThumbprint }
  const insertion = { ...facts, now: clock.now() }
  const insertAtOnce = inOneStatement(database, insertion, grant)
  return database.transaction(async (tx) => {
    const { created, owner } = (await insertAtOnce?.(tx)) ?? (await insertInTurn(tx, visit, insertion, grant))
    const data = { token_id: created.accessToken.id, name, ...(channel ? { channel } : {}) }
    await recordEvent(tx, visit.origin, { type: 'token_created', userId, data })
    if (owner) await noticeToken(visit, tx, owner, channel ? name : null)
    return created
  })
}

/** Locks the account, counts its tokens and inserts the new one. */
async function insertInTurn(tx: Tx, visit: Visit, facts: TokenFacts, grant: TokenGrant): Promise<Issued> {
  const { userId } = facts
  if (!(await lockAndCheckAccount(visit.app.database, tx, userId, grant.credential))) {
    throw unauthenticated('token' in grant.credential ? 'invalid' : 'absent')
  }
  // The user is locked, so concurrent requests count one after the other.
  if ((await countTokens(tx, userId)) >= maxTokens) await makeRoom(tx, visit, userId, grant)
  const created = await createToken(tx, facts)
  return { created, owner: (await findUserById({ prisma: tx }, userId))?.user ?? null }
}

/** Tokens that concurrent requests may add while a statement counts them. */
const concurrentTokens = 100

/**
 * Returns a function that does the work of `insertInTurn` for a sign-in in one statement, or null on SQLite and for other
 * credentials. The function returns null if the account has changed, or has almost as many tokens as it may have.
 */
function inOneStatement(
  { engine }: Pick<Database, 'engine'>,
  facts: TokenFacts,
  { credential }: TokenGrant,
): ((tx: Tx) => Promise<Issued | null>) | null {
  if (engine === 'sqlite' || !('account' in credential)) return null
  const token = tokenInsertion(facts, maxTokens - concurrentTokens)
  const statement = sql`
    WITH account AS (${unchangedAccount(credential.account)}),
    issued AS (${token.insertion})
    SELECT issued.id, email, email_verified_at, language FROM account, issued`
  return async (tx) => {
    const [row] = await querySql({ engine, prisma: tx }, 'issue-token', statement)
    if (!row) return null
    const { id, email, email_verified_at: verified, language } = row
    const owner = {
      id: facts.userId,
      email: String(email),
      email_verified_at: verified instanceof Date ? verified.toISOString() : null,
      language: typeof language === 'string' ? language : null,
    }
    return { created: token.created(BigInt(String(id))), owner }
  }
}

/** Notifies the user of a token: of the device for a sign-in, otherwise of the token. */
function noticeToken(visit: Visit, tx: Tx, user: Recipient, device: string | null): Promise<void> {
  const origin = visit.origin
  if (device === null) return notify(visit.app, tx, origin, user, 'token_created')
  const shown = deviceName(device)
  return shown === null
    ? notify(visit.app, tx, origin, user, 'new_sign_in')
    : notify(visit.app, tx, origin, user, 'device_signed_in', { device: shown })
}

/** Issues a token with the default abilities for a sign-in that passed its checks; returns the token's plain text. */
export async function issueForSignIn(visit: Visit, signIn: TokenSignIn, name: string): Promise<string> {
  const { default_abilities: abilities } = visit.app.config.current().tokens
  const { user, channel } = signIn
  const { keyThumbprint } = visit
  const grant = { abilities, expiresAt: null, keyThumbprint, credential: { account: signIn }, channel }
  return (await issueToken(visit, user.id, name, grant)).plainTextToken
}
