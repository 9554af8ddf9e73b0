import type { FastifyInstance } from 'fastify'
import type { Dependency } from '../../platform/dependencies.ts'
import { AddressRanges } from '../../platform/http/addresses.ts'
import { withoutControls } from '../../platform/http/formats.ts'
import { outboundFetch } from '../../platform/http/outbound.ts'
import { UndeliverableError } from '../../platform/jobs/job-queue.ts'
import { tracedFetch } from '../../platform/observability/tracing/traced-fetch.ts'
import { version } from '../../platform/version.ts'
import { kindOf, type SignalJob } from './queue.ts'
import { signalToken } from './token.ts'

/** Maximum length of the problem that a receiver reports. */
const maxProblem = 200

/** Sends the queued signals to the receivers with `push` in the active configuration. */
export function addSignals(app: FastifyInstance): void {
  const { config, outbox } = app
  const handled = new Set<string>()
  const follow = () => {
    const pushed = Object.entries(config.current().shared_signals.streams).flatMap(([name, { push }]) =>
      push ? [[name, new URL(push.url).host] as const] : [],
    )
    const names = new Set(pushed.map(([name]) => name))
    for (const [name, host] of pushed) {
      if (handled.has(name)) continue
      const kind = kindOf(name)
      const state = app.dependencies.of(`signals:${name}`, kind)
      const facts = { stream: name, host }
      outbox.handleSeparately<SignalJob>(kind, (job, { signal }) => send(app, { name, state }, job, signal), { facts })
      handled.add(name)
    }
    for (const name of handled) {
      if (names.has(name)) continue
      handled.delete(name)
      app.dependencies.remove(kindOf(name))
      const stopped = outbox.remove(kindOf(name))
      app.background(() => stopped)
    }
  }
  follow()
  const unwatch = config.watch(follow)
  app.addHook('onClose', async () => unwatch())
}

/** Sends a token once (RFC 8935 section 2). Throws unless the receiver accepts it. */
async function send(
  app: FastifyInstance,
  { name, state }: { name: string; state: Dependency },
  job: SignalJob,
  signal: AbortSignal,
): Promise<void> {
  const { shared_signals, outbound } = app.config.current()
  const stream = shared_signals.streams[name]
  if (!stream?.push) throw new Error('The stream is not in the configuration.')
  const token = await signalToken(app, [name, stream], job)
  if (token === null) throw new UndeliverableError('The event was deleted after audit.retention.')
  const ranges = new AddressRanges(outbound.allow_private)
  const permitted = outboundFetch(
    () => outbound,
    (address) => ranges.has(address),
  )
  const fetch = tracedFetch(permitted, app.tracing, true)
  const { authorization } = stream.push
  const headers = {
    'content-type': 'application/secevent+jwt',
    accept: 'application/json',
    'user-agent': `svc/${version}`,
    ...(authorization === undefined ? {} : { authorization }),
  }
  const response = await fetch(stream.push.url, { method: 'POST', headers, body: token, signal }).catch((error) => {
    if (!signal.aborted) state.failed(error)
    throw error
  })
  if (response.ok) return state.worked()
  const code = await codeIn(response)
  const problem = `The receiver answered ${response.status}${code === '' ? '' : ` ${code}`}.`
  state.failed(problem)
  // The receiver read the token, and will reject it again, unless it only needs newer keys or another header.
  const isFinal = response.status === 400 && !/^(authentication_failed|access_denied|invalid_key)$/.test(code)
  throw isFinal ? new UndeliverableError(problem) : new Error(problem)
}

/** The error code of a receiver (RFC 8935 section 2.3); empty without one. */
async function codeIn(response: Response): Promise<string> {
  const body: unknown = await response.json().catch(() => null)
  const code = typeof body === 'object' && body !== null && 'err' in body ? body.err : null
  return typeof code === 'string' ? withoutControls(code).slice(0, maxProblem) : ''
}
