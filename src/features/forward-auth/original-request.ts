import type { IncomingHttpHeaders } from 'node:http'
import { HttpError } from '../../platform/errors.ts'
import { type Host, parseHost } from '../../platform/guard-rules/host-pattern.ts'

/** The request that a proxy asks about. */
export interface OriginalRequest {
  /** The method, and those that override headers or parameters name. The rule must allow all of them. */
  methods: readonly [string, ...string[]]
  scheme: 'http' | 'https'
  /** Always with a port. */
  host: Host
  /** Path as the client sent it, without the query. */
  path: string
  query: URLSearchParams
  /** The origin of the host, as browsers send it in `Origin`. */
  origin: string
  url: string
}

/** The request of the proxy to the guard. */
interface Asking {
  headers: IncomingHttpHeaders
  method: string
}

/** The original request as one source describes it. Undefined members are missing there. */
interface Claim {
  method?: string | undefined
  scheme?: string | undefined
  host?: string | undefined
  uri?: string | undefined
}

const invalid = (message: string): HttpError => new HttpError(400, 'invalid_original_request', message)

/** Returns the 400 for a peer outside of `server.trust_proxy`. */
export const untrustedPeer = (address: string): HttpError =>
  invalid(`The guard answers trusted proxies only. If ${address} is your proxy, add it to server.trust_proxy.`)

/**
 * Returns the request that a trusted proxy describes in its headers or, with `ownUri`, in the request itself. Throws 400
 * if a part is missing, cannot be read, or differs between two sources.
 */
export function originalRequest(request: Asking, ownUri: string | null): OriginalRequest {
  checkHeaders(request)
  const claims = [
    forwardedClaim(request),
    originalClaim(request),
    ...(ownUri === null ? [] : [pathClaim(request, ownUri)]),
  ]
  const uri = agreed(claims, 'uri', (text) => (text.startsWith('/') ? text : null))
  if (uri === null) throw invalid('The original URI is missing. Let the proxy send X-Forwarded-Uri or X-Original-URL.')
  const method = agreed(claims, 'method', (text) => (/^[A-Z]{1,32}$/.test(text) ? text : null))
  if (method === null)
    throw invalid('The original method is missing. Let the proxy send X-Forwarded-Method or X-Original-Method.')
  // Some proxies name the scheme of a WebSocket.
  const schemes = { http: 'http', ws: 'http', https: 'https', wss: 'https' } as const
  const scheme =
    agreed(claims, 'scheme', (text) => schemes[text.toLowerCase() as keyof typeof schemes] ?? null) ?? 'https'
  const defaultPort = scheme === 'https' ? '443' : '80'
  const host = agreed(
    claims,
    'host',
    (text) => {
      const found = parseHost(text)
      return found && { ...found, port: found.port ?? defaultPort }
    },
    (one, other) => one.name === other.name && one.port === other.port,
  )
  if (!host) throw invalid('The original host is missing. Let the proxy send X-Forwarded-Host or X-Original-URL.')
  const end = uri.indexOf('?')
  const path = end < 0 ? uri : uri.slice(0, end)
  const query = end < 0 ? '' : uri.slice(end + 1)
  const origin = `${scheme}://${host.port === defaultPort ? host.name : `${host.name}:${host.port}`}`
  return {
    methods: [method, ...overrides(request, method, query)],
    scheme,
    host,
    path,
    query: new URLSearchParams(query),
    origin,
    url: origin + uri,
  }
}

/** Throws 400 for headers that a proxy must not pass to a service. Not every proxy can remove them. */
function checkHeaders({ headers }: Asking): void {
  const { upgrade } = headers
  if (upgrade !== undefined && upgrade.toLowerCase() !== 'websocket')
    throw invalid(
      'The header Upgrade may only be "websocket". Let the proxy remove it, because the guard does not check other protocols.',
    )
  // PHP, for example, reads Remote.User and Remote_User as Remote-User.
  const name = Object.keys(headers).find((each) => !/^[a-z\d-]+$/.test(each))
  if (name !== undefined)
    throw invalid(
      `The name of the header ${name} has other characters than letters, digits and hyphens. Let the proxy remove the header.`,
    )
}

/** The value on which all sources agree, or null if none has it. Throws 400 for an invalid or contradictory value. */
function agreed<Value>(
  claims: readonly Claim[],
  part: keyof Claim,
  parse: (text: string) => Value | null,
  isSame: (one: Value, other: Value) => boolean = Object.is,
): Value | null {
  let agreedOn: Value | null = null
  for (const { [part]: text } of claims) {
    if (text === undefined) continue
    const value = parse(text)
    if (value === null) throw invalid(`The original ${part} cannot be read.`)
    if (agreedOn !== null && !isSame(agreedOn, value)) throw invalid(`The headers name different original ${part}s.`)
    agreedOn = value
  }
  return agreedOn
}

/** Returns a header. Joins several of one name with commas, which are invalid in every part of a request. */
function header({ headers }: Asking, name: string): string | undefined {
  const value = headers[name]
  return Array.isArray(value) ? value.join(', ') : value
}

const forwardedClaim = (request: Asking): Claim => ({
  method: header(request, 'x-forwarded-method'),
  scheme: header(request, 'x-forwarded-proto'),
  host: header(request, 'x-forwarded-host'),
  uri: header(request, 'x-forwarded-uri'),
})

function originalClaim(request: Asking): Claim {
  const method = header(request, 'x-original-method')
  const url = header(request, 'x-original-url')
  if (url === undefined) return { method }
  if (url.startsWith('/')) return { method, uri: url }
  const [whole, scheme, host, uri = ''] = /^([a-z]+):\/\/([^/?#]*)(.*)$/is.exec(url) ?? []
  if (whole === undefined) throw invalid('The header X-Original-URL is not a URL.')
  return { method, scheme, host, uri: uri.startsWith('/') ? uri : `/${uri}` }
}

/** Envoy sends the original request itself: its method, its host, and its path after that of the guard. */
const pathClaim = (request: Asking, uri: string): Claim => ({
  method: request.method,
  host: request.headers.host,
  uri,
})

const overrideHeaders: ReadonlySet<string> = new Set(['x-http-method-override', 'x-http-method', 'x-method-override'])

/** Servers read every character but letters and digits as `_`, so that X.HTTP_Method-Override is X-HTTP-Method-Override. */
const isOverride = (name: string): boolean =>
  name.includes('method') && overrideHeaders.has(name.replaceAll(/[^a-z\d]/g, '-'))

/**
 * Tests whether a parameter is `_method` to a server. PHP ignores spaces in front, ends the name at a NUL or at the
 * bracket of an array, and reads spaces and dots as `_`.
 */
const isOverrideParameter = (name: string): boolean => /^ *[_. ]method(?:[[\0]|$)/i.test(name)

/** Returns the parameters of a query. Some servers also separate them by semicolons. */
function parametersOf(query: string): [name: string, value: string][] {
  const separated = query.includes(';') ? [query, query.replaceAll(';', '&')] : [query]
  return separated.flatMap((text) => [...new URLSearchParams(text)])
}

/** Methods that a server may use instead: many frameworks let a client override the method. */
function overrides(request: Asking, method: string, query: string): string[] {
  const names = Object.keys(request.headers).filter(isOverride)
  const parameters = parametersOf(query).flatMap(([name, value]) => (isOverrideParameter(name) ? [value] : []))
  const named = [...names.flatMap((name) => header(request, name) ?? []), ...parameters]
  if (named.length === 0) return []
  // If the header is a list, some servers read its first method, and others the whole text.
  const listed = named.flatMap((text) => [text, ...text.split(',')].map((name) => name.trim().toUpperCase()))
  // svc itself may have replaced the method of this request already.
  const others = new Set(listed.filter((other) => other !== ''))
  return [...(others.size > 0 ? others.add('POST') : [])].filter((other) => other !== method)
}
