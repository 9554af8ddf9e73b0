import type { FastifyInstance } from 'fastify'
import { findEvent } from '../../identity/event-list.ts'
import { findUserById } from '../../identity/users.ts'
import type { Database } from '../../platform/database/database.ts'
import type { SignalJob } from './queue.ts'
import { eventsClaim, type Stream, verificationType } from './signals.ts'

type Parts = Pick<FastifyInstance, 'config' | 'clock' | 'database' | 'oauth'>

/** The user in a token (RFC 9493). A deleted user has no address any more. */
async function subjectOf(
  database: Database,
  { userId, stream, issuer }: { userId: number; stream: Stream; issuer: string },
): Promise<object> {
  const found = stream.subject === 'email' ? await findUserById(database, userId) : null
  return found ? { format: 'email', email: found.user.email } : { format: 'iss_sub', iss: issuer, sub: String(userId) }
}

/** Signs a token about an event (RFC 8417); null if the event was deleted after `audit.retention`. */
export async function signalToken(
  { config, clock, database, oauth }: Parts,
  [name, stream]: readonly [name: string, Stream],
  job: SignalJob,
): Promise<string | null> {
  const issuer = config.current().app.url
  const common = { jti: job.id, iat: Math.floor(clock.now() / 1000), aud: stream.audience }
  const sign = (claims: object) => oauth.sign({ ...common, ...claims }, 'RS256', 'secevent+jwt')
  if ('state' in job) {
    const state = job.state === null ? {} : { state: job.state }
    return sign({ sub_id: { format: 'opaque', id: name }, events: { [verificationType]: state } })
  }
  const event = await findEvent(database, BigInt(job.event))
  if (!event || event.userId === null) return null
  const userId = Number(event.userId)
  const sub_id = await subjectOf(database, { userId, stream, issuer })
  // The time of the event: a token that was tried again may be older than what the receiver knows.
  const toe = Math.floor(event.createdAt.getTime() / 1000)
  return sign({ txn: job.event, toe, sub_id, events: eventsClaim(job.signal, event) })
}
