import type { FastifyInstance } from 'fastify'
import { findEvent } from '../../identity/event-list.ts'
import { findUserById } from '../../identity/users.ts'
import type { Config } from '../../platform/config/schema.ts'
import { signedHeaders } from '../../platform/crypto/webhook-signature.ts'
import type { Dependency } from '../../platform/dependencies.ts'
import { type EventType, messageType, outcomeOf } from '../../platform/event-types.ts'
import { AddressRanges } from '../../platform/http/addresses.ts'
import { outboundFetch } from '../../platform/http/outbound.ts'
import { type RetryDelay, UndeliverableError } from '../../platform/jobs/job-queue.ts'
import { tracedFetch } from '../../platform/observability/tracing/traced-fetch.ts'
import { version } from '../../platform/version.ts'
import type { WebhookMessage } from './message.ts'
import { kindOf, type WebhookJob } from './queue.ts'

type Receiver = Config['webhooks'][number]

const [second, minute, hour] = [1_000, 60_000, 3_600_000]

/** Delays between attempts in milliseconds, about three days in total. */
const delays = [
  2 * second,
  10 * second,
  minute,
  5 * minute,
  30 * minute,
  2 * hour,
  5 * hour,
  10 * hour,
  14 * hour,
  20 * hour,
  20 * hour,
]

const retryDelay: RetryDelay = (attempts) => delays[attempts - 1] ?? null

/** Sends the queued messages to the receivers in the active configuration. */
export function addWebhooks(app: FastifyInstance): void {
  const { config, outbox } = app
  const handled = new Set<string>()
  const follow = () => {
    const urls = new Map(config.current().webhooks.map(({ url }) => [kindOf(url), url]))
    for (const [kind, url] of urls) {
      if (handled.has(kind)) continue
      // The rest of the URL may contain a token.
      const { host } = new URL(url)
      const state = app.dependencies.of(`webhook:${host}`, kind)
      outbox.handleSeparately<WebhookJob>(kind, (job, { signal }) => send(app, { url, state }, job, signal), {
        retryDelay,
        facts: { host },
      })
      handled.add(kind)
    }
    for (const kind of handled) {
      if (urls.has(kind)) continue
      handled.delete(kind)
      app.dependencies.remove(kind)
      // Its messages stay in the outbox until the configuration lists the receiver again.
      const stopped = outbox.remove(kind)
      app.background(() => stopped)
    }
  }
  follow()
  const unwatch = config.watch(follow)
  app.addHook('onClose', async () => unwatch())
}

interface Destination {
  url: string
  state: Dependency
}

/** Sends a message once. Throws unless the receiver answers with a 2xx status. */
async function send(
  app: FastifyInstance,
  { url, state }: Destination,
  job: WebhookJob,
  signal: AbortSignal,
): Promise<void> {
  const { clock, config, tracing } = app
  const { webhooks, outbound } = config.current()
  const receiver = webhooks.find((one) => one.url === url)
  if (!receiver) throw new Error('The receiver is not in the configuration.')
  const body = JSON.stringify(await messageOf(app, BigInt(job.event)))
  const ranges = new AddressRanges(outbound.allow_private)
  // The receivers belong to the operator, who may correlate their logs with those of svc.
  const fetch = tracedFetch(
    outboundFetch(
      () => outbound,
      (address) => ranges.has(address),
    ),
    tracing,
    true,
  )
  const headers = {
    'content-type': 'application/json',
    'user-agent': `svc/${version}`,
    ...signedHeaders(job.id, body, secretsOf(receiver), clock.now()),
  }
  const { ok, status } = await fetch(url, { method: 'POST', headers, body, signal }).catch((error) => {
    if (!signal.aborted) state.failed(error)
    throw error
  })
  if (ok) return state.worked()
  const problem = `The receiver answered ${status}.`
  state.failed(problem)
  throw status === 410 ? new UndeliverableError(problem) : new Error(problem)
}

const secretsOf = ({ secret }: Receiver): readonly string[] => [secret].flat()

/** Reads the event and the user. Both show the current state: a deleted account leaves no personal data. */
async function messageOf({ database }: FastifyInstance, id: bigint): Promise<WebhookMessage> {
  const event = await findEvent(database, id)
  if (!event) throw new UndeliverableError('The event was deleted after audit.retention.')
  const userId = event.userId === null ? null : Number(event.userId)
  const found = userId === null ? null : await findUserById(database, userId)
  return {
    // Sound: only events of these types are queued.
    type: messageType(event.type as EventType),
    timestamp: event.createdAt.toISOString(),
    data: {
      event_id: id.toString(),
      actor: event.actor,
      outcome: outcomeOf(event.type),
      reason: event.reason,
      user_id: userId,
      user: found ? subjectOf(found.user) : null,
      ip_address: event.ipAddress,
      user_agent: event.userAgent,
      request_id: event.requestId,
      details: JSON.parse(event.data),
    },
  }
}

type Subject = NonNullable<WebhookMessage['data']['user']>

const subjectOf = ({ id, name, email, email_verified_at, role, ...user }: Subject): Subject => ({
  id,
  name,
  email,
  email_verified_at,
  role,
  two_factor_enabled: user.two_factor_enabled,
  created_at: user.created_at,
  updated_at: user.updated_at,
})
