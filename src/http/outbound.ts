import { type LookupAddress, lookup } from 'node:dns'
import { type IncomingMessage, request as plainRequest } from 'node:http'
import { request as tlsRequest } from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import { isPublicAddress } from './addresses.ts'

/** A call to a URL that somebody else chose. */
export type OutboundFetch = (input: string | Request | URL, init?: RequestInit) => Promise<Response>

/** What an answer may bring, in bytes. */
const maxBytes = 256 * 1024

/** How long a call may take in all, in milliseconds. */
const timeout = 10_000

/** Statuses whose answers have no body (Fetch standard). */
const bodiless = new Set([204, 205, 304])

/**
 * Makes calls that reach public addresses and those that `isAllowed` says, and nothing else. The address that is looked
 * at is the one that is connected to, so that no name can be resolved twice to different ends. Redirects are answers
 * like any other: they are not followed. A call that may not be made, or brings too much or too late, rejects.
 */
export function outboundFetch(isAllowed: (address: string, url: URL) => boolean): OutboundFetch {
  return async (input, init = {}) => {
    const { method, headers, body, signal } = init
    // Whatever else a caller passes is for another way to call.
    const sent = new Request(input, {
      ...(method ? { method } : {}),
      ...(headers ? { headers } : {}),
      ...(body ? { body } : {}),
    })
    const url = new URL(sent.url)
    const isReachable = (address: string) => isPublicAddress(address) || isAllowed(address, url)
    const host = url.hostname.replace(/^\[|\]$/g, '')
    // A URL writes an IPv4 address in one way, whatever way it came in; it is not looked up.
    if (isIP(host) !== 0 && !isReachable(host)) throw new UnreachableAddress(host)
    const limit = AbortSignal.timeout(timeout)
    const answer = await ask(url, {
      method: sent.method,
      headers: Object.fromEntries(sent.headers),
      body: Buffer.from(await sent.arrayBuffer()),
      lookup: guardedLookup(isReachable),
      signal: signal ? AbortSignal.any([signal, limit]) : limit,
    })
    return responseOf(answer)
  }
}

/** A call to an address that may not be reached. */
export class UnreachableAddress extends Error {
  constructor(host: string) {
    super(`${host} is not a public address`)
  }
}

/** Resolves a name to those of its addresses that may be reached. */
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

interface Call {
  method: string
  headers: Record<string, string>
  body: Buffer
  lookup: LookupFunction
  signal: AbortSignal
}

function ask(url: URL, { body, ...options }: Call): Promise<IncomingMessage> {
  const request = url.protocol === 'https:' ? tlsRequest : plainRequest
  return new Promise((resolve, reject) => {
    // A connection of its own: none that another call was allowed to make is used again.
    const sent = request(url, { ...options, agent: false })
    sent.once('error', reject)
    sent.once('response', resolve)
    // Of a switch of protocols that nobody asked for nothing else is told.
    sent.once('close', () => reject(new Error('the connection was closed without an answer')))
    sent.end(body)
  })
}

async function responseOf(answer: IncomingMessage): Promise<Response> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of answer) {
    size += chunk.length
    // Leaving the loop ends the connection.
    if (size > maxBytes) throw new Error('the answer is too large')
    chunks.push(chunk)
  }
  const { statusCode = 0, headersDistinct } = answer
  const headers = Object.entries(headersDistinct).flatMap(([name, values = []]) =>
    values.map((value): [string, string] => [name, value]),
  )
  return new Response(bodiless.has(statusCode) ? null : Buffer.concat(chunks), { status: statusCode, headers })
}
