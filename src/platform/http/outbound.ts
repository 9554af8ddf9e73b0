import { type LookupAddress, lookup } from 'node:dns'
import type { Agent, IncomingMessage } from 'node:http'
import { isIP, type LookupFunction } from 'node:net'
import type { SecureContextOptions } from 'node:tls'
import type { Config } from '../config/schema.ts'
import { isPublicAddress } from './addresses.ts'
import { proxyFor } from './egress.ts'

/** Fetches a URL that a third party chose. */
export type OutboundFetch = (input: string | Request | URL, init?: RequestInit) => Promise<Response>

/** Maximum response size in bytes. */
const maxBytes = 256 * 1024

/** Total timeout in milliseconds. */
const timeout = 10_000

/** Statuses without a response body (Fetch standard). */
const bodiless = new Set([204, 205, 304])

/** Connections to keep for the next call, at most this many at once. */
const maxConnections = 100

/** Connections that calls with the same permissions share. */
export class SharedConnections {
  readonly #agents = new Map<string, Agent>()

  /** Returns the agent for a protocol and proxy, and creates it on first use. */
  of(key: string, create: () => Agent): Agent {
    const known = this.#agents.get(key) ?? create()
    this.#agents.set(key, known)
    return known
  }

  /** Closes the connections. */
  close(): void {
    for (const agent of this.#agents.values()) agent.destroy()
    this.#agents.clear()
  }
}

interface OutboundOptions extends Pick<SecureContextOptions, 'ca'> {
  /** Keeps connections open for the next call. Default: a new connection for each call. */
  connections?: SharedConnections
}

/**
 * Creates a fetch that reaches only public addresses and those that `isAllowed` accepts. It checks the address that it
 * connects to, which prevents DNS rebinding. A call through `outbound.proxy` checks only an address in the URL, because the
 * proxy resolves the names. It does not follow redirects. It rejects forbidden addresses, oversized responses and
 * timeouts.
 */
export function outboundFetch(
  outbound: () => Config['outbound'],
  isAllowed: (address: string, url: URL) => boolean,
  options: OutboundOptions = {},
): OutboundFetch {
  return async (input, init = {}) => {
    const { method, headers, body, signal } = init
    // The other options of fetch do not apply here.
    const sent = new Request(input, {
      ...(method ? { method } : {}),
      ...(headers ? { headers } : {}),
      ...(body ? { body } : {}),
    })
    const url = new URL(sent.url)
    const isReachable = (address: string) => isPublicAddress(address) || isAllowed(address, url)
    const host = url.hostname.replace(/^\[|\]$/g, '')
    // The URL parser normalises IPv4 addresses, which skip the DNS lookup.
    if (isIP(host) !== 0 && !isReachable(host)) throw new UnreachableAddress(host)
    const limit = AbortSignal.timeout(timeout)
    const answer = await ask(url, {
      ...options,
      method: sent.method,
      headers: Object.fromEntries(sent.headers),
      body: Buffer.from(await sent.arrayBuffer()),
      proxy: proxyFor(outbound(), host, url.port || (url.protocol === 'https:' ? '443' : '80')),
      lookup: guardedLookup(isReachable),
      signal: signal ? AbortSignal.any([signal, limit]) : limit,
    })
    return responseOf(answer)
  }
}

/** The address of a request is not allowed. */
export class UnreachableAddress extends Error {
  constructor(host: string) {
    super(`${host} is not a public address`)
  }
}

/** Resolves a name to its allowed addresses. */
const guardedLookup =
  (isReachable: (address: string) => boolean): LookupFunction =>
  (hostname, options, done) => {
    lookup(hostname, { ...options, all: true }, (error, found: LookupAddress[]) => {
      if (error) return done(error, '')
      const addresses = found.filter(({ address }) => isReachable(address))
      const [first] = addresses
      if (!first) return done(new UnreachableAddress(hostname), '')
      if (options.all) done(null, addresses)
      else done(null, first.address, first.family)
    })
  }

interface Call extends Pick<SecureContextOptions, 'ca'> {
  method: string
  headers: Record<string, string>
  body: Buffer
  /** Null for a direct call. */
  proxy: string | null
  /** Not called for a call through a proxy. */
  lookup: LookupFunction
  signal: AbortSignal
  connections?: SharedConnections
}

/** A kept connection closed before the server received the request. */
class StaleConnection extends Error {}

async function ask(url: URL, call: Call): Promise<IncomingMessage> {
  try {
    return await askOnce(url, call)
  } catch (error) {
    if (!(error instanceof StaleConnection)) throw error
    const { connections: _, ...fresh } = call
    return askOnce(url, fresh)
  }
}

async function askOnce(url: URL, { body, proxy, connections, ...options }: Call): Promise<IncomingMessage> {
  // On first use, because an import of `node:http` also loads the implementation of fetch.
  const { Agent, request } = await (url.protocol === 'https:' ? import('node:https') : import('node:http'))
  return new Promise((resolve, reject) => {
    const proxyEnv = proxy === null ? {} : { proxyEnv: { HTTP_PROXY: proxy, HTTPS_PROXY: proxy } }
    const keep = { ...proxyEnv, keepAlive: true, maxSockets: maxConnections }
    // Connections must not be shared between requests with different permissions.
    const own = () => (proxy === null ? false : new Agent(proxyEnv))
    const agent = connections?.of(`${url.protocol} ${proxy}`, () => new Agent(keep)) ?? own()
    const sent = request(url, { ...options, agent })
    sent.once('error', (error: NodeJS.ErrnoException) =>
      reject(sent.reusedSocket && error.code === 'ECONNRESET' ? new StaleConnection(error.message) : error),
    )
    sent.once('response', resolve)
    // Node reports an unrequested protocol upgrade only by closing the connection.
    sent.once('close', () => reject(new Error('the connection was closed without an answer')))
    sent.end(body)
  })
}

async function responseOf(answer: IncomingMessage): Promise<Response> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of answer) {
    size += chunk.length
    // Leaving the loop closes the connection.
    if (size > maxBytes) throw new Error('the answer is too large')
    chunks.push(chunk)
  }
  const { statusCode = 0, headersDistinct } = answer
  const headers = Object.entries(headersDistinct).flatMap(([name, values = []]) =>
    values.map((value): [string, string] => [name, value]),
  )
  return new Response(bodiless.has(statusCode) ? null : Buffer.concat(chunks), { status: statusCode, headers })
}
