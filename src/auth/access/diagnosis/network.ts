import type { FastifyRequest } from 'fastify'
import { isLoopback } from '../../../platform/config/hosts.ts'
import type { Advice } from '../../../platform/http/advice.ts'
import { originOf } from '../page-address.ts'

/** Explains that the request names another address of svc than `app.url`; null if it names the same. */
export function hostProblem({ headers, host, hostname, server }: FastifyRequest): Advice | null {
  const own = new URL(server.config.current().app.url)
  const page = originOf(headers.origin ?? headers.referer)
  const pageName = page === null ? hostname : new URL(page).hostname
  if (pageName !== hostname && isLoopback(pageName) && isLoopback(hostname)) {
    const message =
      `The page is on ${pageName} but calls svc on ${hostname}. Browsers treat the two names as different sites with ` +
      'separate cookies. Use one name for both, also in app.url.'
    return { message, key: 'app.url' }
  }
  const called = URL.parse(`${own.protocol}//${host}`)?.host ?? 'an invalid host'
  if (called === own.host) return null
  const message =
    `The request came to ${called}, but app.url is ${own.origin}. Cookies and links belong to the host of app.url; ` +
    'the page must call svc there, and a proxy must keep the Host header.'
  return { message, key: headers['x-forwarded-host'] === undefined ? 'app.url' : 'server.trust_proxy' }
}

const forwarded = ['forwarded', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto']

/** Explains what is wrong with the headers of the proxy; null if nothing is. Never names its address. */
export function proxyProblem(request: FastifyRequest, isTrusted: boolean): Advice | null {
  const { headers, protocol, server } = request
  const sent = forwarded.filter((name) => headers[name] !== undefined)
  if (sent.length === 0) return null
  if (!isTrusted) {
    const message =
      `The request has forwarded headers (${sent.join(', ')}) from an address that is not trusted, so svc ignores ` +
      'them. If a proxy of yours sent them, list its address, which the log shows.'
    return { message, key: 'server.trust_proxy' }
  }
  const expected = new URL(server.config.current().app.url).protocol.slice(0, -1)
  if (protocol === expected) return null
  const message = `The proxy reports ${protocol} in X-Forwarded-Proto, but app.url is ${expected}.`
  return { message, key: 'app.url' }
}

/** Clock difference that tokens, codes and signed requests tolerate, in milliseconds. */
const tolerance = 30_000

/** Explains that the caller's clock differs; null if it does not. */
export function clockProblem(callerNow: number, now: number): Advice | null {
  const seconds = Math.round((callerNow - now) / 1_000)
  if (Math.abs(callerNow - now) <= tolerance) return null
  const message =
    `The clock of the caller is ${Math.abs(seconds)} seconds ${seconds > 0 ? 'ahead of' : 'behind'} svc. Tokens then ` +
    'seem expired or not yet valid, and authenticator codes fail. Synchronise both with NTP.'
  return { message, key: null }
}
