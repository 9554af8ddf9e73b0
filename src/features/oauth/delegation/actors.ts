import type { JWTPayload } from 'jose'
import type { Act } from '../access-token.ts'

/** Maximum number of actors in a token. */
export const maxActors = 3

/** Returns the actors of a token, the latest first; an empty list for a token without `act`. */
export function actorsOf({ act }: JWTPayload): Act[] {
  const found: Act[] = []
  for (let one = act as Act | undefined; one !== undefined && found.length < maxActors; one = one.act) found.push(one)
  return found
}

/** Client of an actor, which the user can end. */
export const agentOf = ({ sub, client_id }: Act): string => client_id ?? sub
