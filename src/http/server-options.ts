import type { Server } from 'node:http'
import type { FastifyHttpOptions } from 'fastify'
import type { Config } from '../config/schema.ts'
import { normaliseForwardedFor } from './client-address.ts'
import { applyMethodHeader } from './methods.ts'
import { requestIds } from './request-ids.ts'
import { refuseUnreadable } from './unreadable.ts'

/** How long a request's headers, and the whole request, may take to arrive, in milliseconds. */
const arrival = { headersTimeout: 15_000, requestTimeout: 30_000 }

/** What the HTTP server itself decides about a request, before any hook sees it. */
export const serverOptions = ({ trust_proxy }: Config['server']) =>
  ({
    genReqId: requestIds(),
    trustProxy: trust_proxy.length > 0 ? [...trust_proxy] : false,
    bodyLimit: 100 * 1024,
    requestTimeout: arrival.requestTimeout,
    // Node applies the longer of the two to the whole request, and looks for late requests at this interval.
    http: { ...arrival, connectionsCheckingInterval: 1_000 },
    // While it stops, what still arrives on a connection that is being closed is answered as ever.
    return503OnClosing: false,
    rewriteUrl: (raw) => {
      applyMethodHeader(raw)
      normaliseForwardedFor(raw)
      return raw.url ?? '/'
    },
    clientErrorHandler: refuseUnreadable,
  }) satisfies FastifyHttpOptions<Server>
