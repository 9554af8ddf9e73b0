import type { FastifyInstance, FastifyRequest } from 'fastify'
import { eventContext } from '../../../auth/access/visit.ts'
import { recordEvent } from '../../../identity/events.ts'
import { lockUser } from '../../../identity/lock.ts'
import type { User } from '../../../identity/user.ts'
import type { AccessTokenClaims, Act } from '../access-token.ts'
import type { RegisteredClient } from '../clients/clients.ts'
import type { Target } from '../clients/targets.ts'
import { actorsOf, maxActors } from './actors.ts'
import { noteDelegation } from './store.ts'

/** The exchange is not allowed; the message is for the client. */
export class DelegationRefused extends Error {}

type Rights = NonNullable<RegisteredClient['may_act_for']>

/** Adds the client, or the subject of its actor token, to the actors of a subject token. Throws `DelegationRefused`. */
export function actOf(clientId: string, subject: AccessTokenClaims | null, actor: AccessTokenClaims | null): Act {
  const earlier = subject === null ? [] : actorsOf(subject)
  if (earlier.length >= maxActors)
    throw new DelegationRefused(`subject_token has ${maxActors} actors, which is the maximum`)
  const sub = actor?.sub ?? clientId
  const [latest] = earlier
  return { sub, ...(sub === clientId ? {} : { client_id: clientId }), ...(latest && { act: latest }) }
}

/** Scopes that a client may use for a user, of those that it and the subject token share. */
export const delegable = (scopes: readonly string[], rights: Rights): string[] =>
  scopes.filter((scope) => rights.scopes.includes(scope))

/** Targets that a client may use for a user. */
export const delegableTargets = (targets: readonly Target[], { apis }: Rights): Target[] =>
  targets.filter(({ name }) => apis === null || (name !== null && apis.includes(name)))

/** Notes that a client acts for a user, and records it. Throws `DelegationRefused` if the user ended the client. */
export async function recordDelegation(
  { database }: Pick<FastifyInstance, 'database'>,
  request: FastifyRequest,
  { user, client, scopes }: { user: User; client: RegisteredClient; scopes: readonly string[] },
): Promise<void> {
  const origin = eventContext(request)
  const { client_id: clientId, name } = client
  await database.transaction(async (tx) => {
    await lockUser(database, tx, user.id)
    const { now } = origin
    if (!(await noteDelegation(tx, { userId: user.id, clientId, scopes, now }))) {
      throw new DelegationRefused('The user ended this agent.')
    }
    const actor = `client:${clientId}`
    const data = { client_id: clientId, name, scopes: scopes.join(' ') }
    await recordEvent(tx, { ...origin, actor, clientId }, { type: 'agent_acted', userId: user.id, data })
  })
}
