import type { IncomingHttpHeaders } from 'node:http'
import { isLoopback } from '../../../platform/config/hosts.ts'
import type { Config } from '../../../platform/config/schema.ts'
import type { Advice } from '../../../platform/http/advice.ts'
import { lineFor } from '../list-line.ts'
import { originOf, shownOrigin } from '../page-address.ts'
import { isListed, isStateful } from '../stateful.ts'

/** Explains why a request does not count as one of a first-party page; null if it does. */
export function originProblem({ origin, referer }: IncomingHttpHeaders, config: Config): Advice | null {
  const source = referer || origin
  if (!source) {
    const message =
      'The request has neither Origin nor Referer, so it does not count as a request of your front end. Browsers send ' +
      'one of them with fetch, unless the Referrer-Policy of the page is no-referrer.'
    return { message, key: null }
  }
  if (origin === 'null') {
    const message = 'The page has the opaque origin null, for example in a sandboxed frame, and cannot use a session.'
    return { message, key: null }
  }
  const { stateful, stateful_api } = config
  if (!isStateful({ origin, referer }, stateful)) {
    if (origin && referer && originOf(origin) !== originOf(referer)) {
      return { message: `Origin (${shownOrigin(origin)}) and Referer (${shownOrigin(referer)}) differ.`, key: null }
    }
    const page = shownOrigin(origin || source)
    const message = `The page at ${page} is not in the stateful list, so svc ignores its session cookie.`
    const hint = otherName(page, config) || lineFor('stateful', page, config)
    return { message: `${message}${hint}`, key: 'stateful' }
  }
  if (stateful_api) return null
  return { message: 'stateful_api is false, so API routes accept bearer tokens only.', key: 'stateful_api' }
}

/** Hint for a page that is open under another name of the same machine. */
function otherName(page: string, { stateful }: Config): string {
  if (!URL.canParse(page)) return ''
  const { protocol, hostname, port } = new URL(page)
  if (!isLoopback(hostname)) return ''
  const suffix = port === '' ? '' : `:${port}`
  const listed = ['localhost', '127.0.0.1', '[::1]']
    .filter((name) => name !== hostname)
    .find((name) => isListed(`${protocol}//${name}${suffix}`, stateful))
  return listed ? ` The list has ${listed}${suffix}: open the page there, or add ${hostname}${suffix}.` : ''
}
