import { BlockList, isIP } from 'node:net'

/** The library's own way to call others, with its dispatcher that refuses special addresses. */
export type OutboundFetch = (input: string | Request | URL, init?: RequestInit) => Promise<Response>

/** What a call may bring back, in bytes. */
const largest = 256 * 1024

/** The address ranges that outbound calls may reach besides public ones. */
export function allowedRanges(ranges: readonly string[]): BlockList {
  const list = new BlockList()
  for (const range of ranges) {
    const [address = '', prefix] = range.split('/')
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4'
    list.addSubnet(address, Number(prefix ?? (family === 'ipv6' ? 128 : 32)), family)
  }
  return list
}

/**
 * Calls a client's URL. The library hands a dispatcher over that cuts connections to special addresses; it is left
 * out only for hosts that an operator named, by the client or by range.
 */
export const outboundFetch =
  (isAllowed: (url: URL) => boolean): OutboundFetch =>
  async (input, init) => {
    const target = new URL(input instanceof Request ? input.url : input)
    const { dispatcher, ...plain }: RequestInit & { dispatcher?: unknown } = init ?? {}
    const chosen = isAllowed(target) ? plain : { ...plain, ...(dispatcher ? { dispatcher } : {}) }
    const response = await fetch(target, { ...chosen, redirect: 'manual' } as RequestInit)
    return bounded(response)
  }

/** The response with a body that ends in an error where it grows too large. */
function bounded(response: Response): Response {
  if (!response.body) return response
  let size = 0
  const limited = response.body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        size += chunk.length
        if (size > largest) controller.error(new Error('The answer is too large.'))
        else controller.enqueue(chunk)
      },
    }),
  )
  return new Response(limited, { status: response.status, headers: response.headers })
}
