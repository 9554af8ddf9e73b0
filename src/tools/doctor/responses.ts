import { isWithin } from '../../platform/config/hosts.ts'
import type { Config } from '../../platform/config/schema.ts'
import { reasonOf } from '../../platform/dependencies.ts'
import { type Check, failure, ok, quoted, warning } from './check.ts'
import { type ProbeResponse, probe } from './probe.ts'

/** Checks that the security headers of the sign-in page arrive, which a proxy may drop or repeat. */
export async function checkHeaders(url: URL): Promise<Check[]> {
  const { status, headers } = await probe(`${url.origin}/oauth/login`, { headers: { accept: 'text/html' } })
  // With `links.login`, the page belongs to the application.
  if (status !== 200 && !(status >= 300 && status < 400))
    return [failure('headers', `The sign-in page answers ${status}. The proxy must pass /oauth/login to svc.`)]
  const expected: [name: string, pattern: RegExp][] = [
    ['content-security-policy', /frame-ancestors 'none'/],
    ['x-content-type-options', /^nosniff$/],
    ['x-frame-options', /^deny$/i],
    ['referrer-policy', /^same-origin$/],
    ['cache-control', /no-store/],
    ...(url.protocol === 'https:' ? [['strict-transport-security', /max-age=[1-9]/] as [string, RegExp]] : []),
  ]
  const wrong = expected.flatMap(([name, pattern]) => {
    const value = headers[name]
    if (value === undefined) return [failure('headers', `The header ${name} is missing. The proxy must not remove it.`)]
    if (pattern.test(String(value))) return []
    return [warning('headers', `The header ${name} is ${quoted(value)}. The proxy must not replace or repeat it.`)]
  })
  return wrong.length > 0 ? wrong : [ok('headers', 'The security headers arrive.')]
}

/** Checks that the discovery document names this address, and that the keys are published there. */
export async function checkDiscovery(url: URL): Promise<Check[]> {
  const check = 'discovery'
  const answer = await probe(`${url.origin}/.well-known/openid-configuration`)
  const document = answer.status === 200 ? parsed(answer) : null
  if (!document) return [failure(check, `The discovery document answers ${answer.status}, or is not JSON.`)]
  const { issuer } = document
  if (issuer !== url.origin) {
    const message = `The issuer is ${quoted(issuer)}, but svc doctor called ${url.origin}. Clients reject this. Set app.url to the public address.`
    return [failure(check, message, 'app.url')]
  }
  const foreign = Object.entries(document).filter(
    ([name, value]) => /_(endpoint|uri)$/.test(name) && URL.parse(String(value))?.origin !== url.origin,
  )
  if (foreign.length > 0) {
    const names = foreign.map(([name]) => name).join(', ')
    return [failure(check, `These endpoints do not have the origin of the issuer: ${quoted(names)}.`, 'app.url')]
  }
  const keys = await probe(String(document.jwks_uri))
  const found = parsed(keys)?.keys
  if (keys.status !== 200 || !Array.isArray(found) || found.length === 0)
    return [failure(check, `The key set answers ${keys.status}, or has no keys.`)]
  return [ok(check, `The issuer is ${url.origin}, with ${found.length} keys.`)]
}

function parsed({ body }: ProbeResponse): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(body)
    return typeof value === 'object' && value !== null ? { ...value } : null
  } catch {
    return null
  }
}

/** Attributes of a `Set-Cookie` header, by lower-case name. */
function cookieOf(line: string): { name: string; value: string; attributes: Map<string, string> } {
  const [pair = '', ...rest] = line.split(';').map((part) => part.trim())
  const attributes = rest.map((part): [string, string] => {
    const [name = '', value = ''] = part.split('=')
    return [name.toLowerCase(), value]
  })
  const [name = '', value = ''] = pair.split('=')
  return { name, value, attributes: new Map(attributes) }
}

/** Checks the session cookie and the XSRF cookie of an anonymous visitor. */
export async function checkCookies(url: URL): Promise<Check[]> {
  const check = 'cookies'
  const answer = await probe(`${url.origin}/svc/csrf-cookie`)
  const cookies = (answer.headers['set-cookie'] ?? []).map(cookieOf)
  // The names are configurable, and a load balancer may add cookies of its own.
  const xsrf = cookies.find(({ value }) => /^x[\w-]{20,}$/.test(value))
  const session = cookies.find(({ attributes }) => attributes.has('httponly'))
  if (answer.status !== 204 || !xsrf || !session) {
    const message = `/svc/csrf-cookie answers ${answer.status} without the session cookie and the one with the CSRF token.`
    return [failure(check, `${message} The proxy must pass on Set-Cookie.`)]
  }
  const problems: Check[] = []
  for (const { name, attributes } of [session, xsrf]) {
    const cookie = `The cookie ${quoted(name)}`
    const domain = attributes.get('domain')?.replace(/^\./, '').toLowerCase()
    if (url.protocol === 'https:' && !attributes.has('secure'))
      problems.push(failure(check, `${cookie} is not Secure, although the deployment uses https.`, 'session.secure'))
    if (url.protocol === 'http:' && attributes.has('secure'))
      problems.push(failure(check, `${cookie} is Secure, so browsers do not keep it over http.`, 'app.url'))
    if (attributes.get('path') !== '/')
      problems.push(failure(check, `${cookie} does not have Path=/. The proxy must not rewrite it.`))
    if (domain !== undefined && !isWithin(url.hostname, domain))
      problems.push(failure(check, `${cookie} is for another domain, so browsers reject it.`, 'session.domain'))
    if (!attributes.has('samesite'))
      problems.push(failure(check, `${cookie} has no SameSite attribute. The proxy must not remove it.`))
    else if (attributes.get('samesite')?.toLowerCase() === 'none')
      problems.push(
        warning(check, `Browsers send ${cookie} with requests from every site (SameSite=None).`, 'session.same_site'),
      )
  }
  if (xsrf.attributes.has('httponly'))
    problems.push(
      failure(check, `${xsrf.name} is HttpOnly, so scripts cannot read it. The proxy must not add HttpOnly.`),
    )
  return problems.length > 0 ? problems : [ok(check, `The session cookie and ${xsrf.name} have the right attributes.`)]
}

/** Turns an error of a check into a failed check. */
export const guarded = async (check: string, run: () => Promise<Check[]>): Promise<Check[]> =>
  run().catch((error) => [failure(check, `The check failed: ${reasonOf(error)}.`)])

/** Checks that clients cannot ask the guard for the headers and tokens that only services should see. */
export async function checkGuard(url: URL, { guard }: Config): Promise<Check[]> {
  if (guard.rules.length === 0) return []
  const { status } = await probe(`${url.origin}/svc/guard`)
  if (status === 404) return [ok('guard', 'Clients cannot reach the guard.')]
  const advice =
    guard.port === null
      ? 'Set guard.port to a port that only the proxy can reach.'
      : `The proxy must pass requests to server.port, not to ${guard.port}.`
  return [warning('guard', `The public address answers ${status} at /svc/guard. ${advice}`, 'guard.port')]
}
