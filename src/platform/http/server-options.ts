import type { Server } from 'node:http'
import type { FastifyHttpOptions } from 'fastify'
import type { Config } from '../config/schema.ts'
import { normaliseForwardedFor } from './client-address.ts'
import { applyMethodHeader } from './methods.ts'
import { requestIds } from './request-ids.ts'
import { buildSerializer } from './serialization.ts'
import { refuseUnreadable } from './unreadable.ts'

/** Timeouts for receiving the headers and the whole request, in milliseconds. */
const arrival = { headersTimeout: 15_000, requestTimeout: 30_000 }

/** Options that the HTTP server applies before any hook runs. */
export const serverOptions = ({ trust_proxy }: Config['server']) =>
  ({
    genReqId: requestIds(),
    schemaController: { compilersFactory: { buildSerializer } },
    trustProxy: trust_proxy.length > 0 ? [...trust_proxy] : false,
    bodyLimit: 100 * 1024,
    requestTimeout: arrival.requestTimeout,
    // Node checks for late requests at this interval. A proxy sends the guard the headers and the address of a request.
    http: { ...arrival, connectionsCheckingInterval: 1_000, maxHeaderSize: 32_768 },
    // Requests on connections that are closing still get a normal response during shutdown.
    return503OnClosing: false,
    rewriteUrl: (raw) => {
      applyMethodHeader(raw)
      normaliseForwardedFor(raw)
      return raw.url ?? '/'
    },
    clientErrorHandler: refuseUnreadable,
  }) satisfies FastifyHttpOptions<Server>
