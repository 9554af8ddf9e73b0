import type { FastifyInstance, FastifyRequest } from 'fastify'
import { type DestinationStream, type LogFn, type Logger, pino } from 'pino'
import type { Config } from '../config/schema.ts'
import { afterCommit, isInTransaction } from '../database/after-commit.ts'
import { AddressRanges, isPrivateAddress } from '../http/addresses.ts'
import { canonicalAddress } from '../http/client-address.ts'
import { routePattern } from '../http/route-pattern.ts'
import { forTerminal } from './terminal.ts'
import { sentTraceId } from './trace-id.ts'

/** Log fields of an error, without driver fields, which may contain row values. */
const errorFacts = (error: unknown): Record<string, unknown> => {
  if (!(error instanceof Error)) return { message: String(error) }
  const { name, message, stack } = error
  return { type: name, message, stack, ...('code' in error ? { code: error.code } : {}) }
}

/** Creates the logger: JSON lines without headers, bodies or queries. All lines have the fields of `base`. */
export const createLogger = (
  level: string,
  destination: DestinationStream,
  base: Record<string, unknown> | null = null,
): Logger =>
  pino(
    {
      level,
      base,
      formatters: { level: (label) => ({ level: label }) },
      timestamp: pino.stdTimeFunctions.isoTime,
      serializers: { err: errorFacts },
      hooks: { streamWrite: forTerminal, logMethod },
    },
    destination,
  )

/** Lines from this level on describe the process, and not what a transaction changes. */
const warnLevel = 40

/** Writes lines inside a transaction after its COMMIT, because they describe changes that may be rolled back. */
function logMethod(this: Logger, args: Parameters<LogFn>, method: LogFn, level: number): void {
  if (level >= warnLevel || !isInTransaction()) method.apply(this, args)
  else afterCommit((ending) => method.apply(this, ending === 'committed' ? args : uncertain(args)))
}

/** Marks a line about changes that may not exist. */
function uncertain([facts, ...rest]: Parameters<LogFn>): Parameters<LogFn> {
  return [typeof facts === 'object' && facts !== null ? { ...facts, outcome: 'unknown' } : facts, ...rest]
}

/** Path of an unmatched request for the log, without long or token-like segments, which could be secrets. */
export const unmatchedPath = (url: string): string =>
  (url.split('?')[0] ?? '')
    .split('/')
    .map((part) => (part.length > 24 || part.includes('|') || part.includes('%') ? '…' : part))
    .join('/')
    .slice(0, 200)

/** Tests whether `log.requests` and `log.probes` include this response. */
function isLogged({ requests, probes }: Config['log'], route: string | undefined, status: number): boolean {
  if (requests === 'none' || (requests === 'errors' && status < 400)) return false
  return probes || status >= 400 || !route?.startsWith('/health/')
}

/** Logs one line per response, with the route pattern instead of the path, and the trace id if any. */
export function addAccessLog(app: FastifyInstance): void {
  app.addHook('onResponse', (request: FastifyRequest, reply, done) => {
    const { method, raw } = request
    const route = routePattern(request)
    if (!isLogged(app.config.current().log, route, reply.statusCode)) return done()
    const traceId = app.tracing?.idOf(request) ?? sentTraceId(raw.headers.traceparent)
    request.log.info(
      {
        method,
        path: route === undefined ? unmatchedPath(raw.url ?? '') : undefined,
        route,
        status: reply.statusCode,
        ms: Math.round(reply.elapsedTime * 10) / 10,
        trace_id: traceId,
      },
      'request',
    )
    done()
  })
}

/** Warns once about forwarded headers from a private address outside `server.trust_proxy`, which is usually a proxy. */
export function addForwardedWarning(app: FastifyInstance): void {
  const trusted = new AddressRanges(app.config.current().server.trust_proxy)
  let isWarned = false
  app.addHook('onRequest', (request, _reply, done) => {
    const { headers, socket } = request.raw
    if (isWarned || (headers['x-forwarded-for'] === undefined && headers.forwarded === undefined)) return done()
    const peer = canonicalAddress(socket.remoteAddress ?? '') ?? ''
    if (trusted.has(peer) || !isPrivateAddress(peer)) return done()
    isWarned = true
    request.log.warn(
      { peer },
      'Forwarded headers from this address are ignored, so all users behind it share the limits of one address. ' +
        'If it is your proxy, add it to server.trust_proxy.',
    )
    done()
  })
}
