import type { OutboundFetch } from '../../http/outbound.ts'
import type { Tracing } from './tracing.ts'

/**
 * Wraps a fetch in spans that contain only the host. `passesOn` forwards `traceparent`, which third parties must not
 * receive because it links requests.
 */
export function tracedFetch(fetch: OutboundFetch, tracing: Tracing | null, passesOn: boolean): OutboundFetch {
  if (!tracing) return fetch
  return (input, init = {}) => {
    const { method, url, headers } = new Request(input, { method: init.method ?? 'GET', headers: init.headers ?? {} })
    const { hostname, port, protocol } = new URL(url)
    const facts = {
      'http.request.method': method,
      'server.address': hostname,
      'server.port': Number(port) || (protocol === 'https:' ? 443 : 80),
    }
    return tracing.call(method, facts, async (note) => {
      if (passesOn) for (const [name, value] of Object.entries(tracing.headers())) headers.set(name, value)
      const answer = await fetch(input, { ...init, headers })
      note({ 'http.response.status_code': answer.status })
      return answer
    })
  }
}
