import { requireUser } from '../../../auth/access/caller.ts'
import type { Services, Visit } from '../../../auth/access/visit.ts'
import { requireStillSignedIn } from '../../../auth/sign-in/still-signed-in.ts'
import { recordEvent } from '../../../identity/events.ts'
import { wireDate } from '../../../identity/wire-date.ts'
import { notFound } from '../../../platform/errors.ts'
import type { AccessTokenClaims } from '../access-token.ts'
import type { Registry } from '../clients/clients.ts'
import { actorsOf, agentOf } from './actors.ts'
import { allowDelegation, endDelegation, isEnded, isKnown, listDelegations } from './store.ts'

/** Tests whether every agent in a token may still act for its user. */
export async function mayActorsAct(
  { database, lookups }: Pick<Services, 'database' | 'lookups'>,
  claims: AccessTokenClaims,
): Promise<boolean> {
  const actors = actorsOf(claims)
  const people = actors.filter((actor) => agentOf(actor) !== actor.sub)
  const [hasEnded, ...users] = await Promise.all([
    isEnded(database, BigInt(claims.sub), actors.map(agentOf), claims.iat * 1000),
    ...people.map(({ sub }) => lookups.user(BigInt(sub))),
  ])
  return !hasEnded && users.every((user) => user !== null && !user.disabled)
}

/** The agents that acted for the user, as lists show them. */
export async function agentsOf({ database }: Pick<Services, 'database'>, registry: Registry, userId: number) {
  return (await listDelegations(database, userId)).map(({ clientId, scopes, createdAt, usedAt, endedAt }) => ({
    client: { id: clientId, name: registry.application(clientId).name },
    scopes,
    created_at: wireDate(createdAt),
    last_used_at: wireDate(usedAt),
    ended_at: endedAt && wireDate(endedAt),
  }))
}

const factsOf = ({ app }: Visit, clientId: string) => ({
  client_id: clientId,
  name: app.oauth.registry().application(clientId).name,
})

/** Ends an agent of the user: its tokens, and those derived from them, stop working. 404 for an agent that never acted. */
export async function endAgent(visit: Visit, clientId: string): Promise<void> {
  const { id: userId } = requireUser(visit)
  await visit.app.database.transaction(async (tx) => {
    await requireStillSignedIn(tx, visit)
    if (!(await isKnown(tx, userId, clientId))) throw notFound()
    if (!(await endDelegation(tx, userId, clientId, visit.origin.now))) return
    await recordEvent(tx, visit.origin, { type: 'agent_ended', userId, data: factsOf(visit, clientId) })
  })
}

/** Lets an agent that the user ended act again. Its earlier tokens stay invalid. */
export async function allowAgent(visit: Visit, clientId: string): Promise<void> {
  const { id: userId } = requireUser(visit)
  await visit.app.database.transaction(async (tx) => {
    await requireStillSignedIn(tx, visit)
    if (!(await isKnown(tx, userId, clientId))) throw notFound()
    if (!(await allowDelegation(tx, userId, clientId))) return
    await recordEvent(tx, visit.origin, { type: 'agent_allowed', userId, data: factsOf(visit, clientId) })
  })
}
