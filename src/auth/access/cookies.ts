import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { CurrentConfig } from '../../platform/config/current.ts'
import { featureCookies } from '../../platform/config/features.ts'
import type { Config } from '../../platform/config/schema.ts'

declare module 'fastify' {
  interface FastifyInstance {
    cookies: Cookies
  }
  interface FastifyRequest {
    /** Prefix of each cookie by its plain name. Set together with `cookies`. */
    cookiePrefixes: ReadonlyMap<string, CookiePrefix> | null
  }
}

/** Cookie name prefixes that browsers enforce (RFC 6265bis section 4.1.3). */
export type CookiePrefix = '' | '__Host-' | '__Secure-'

/** Cookies of a request by their names without prefix. */
export interface PresentedCookies {
  values: Record<string, string>
  prefixes: Map<string, CookiePrefix>
  /** Prefixed names that occur more than once. svc ignores them all, because it cannot tell which one it set. */
  repeated: string[]
}

/** Strongest first: sibling subdomains cannot set `__Host-`. */
const prefixes = ['__Host-', '__Secure-'] as const

const prefixOf = (name: string): CookiePrefix => prefixes.find((prefix) => name.startsWith(prefix)) ?? ''

const rank = (prefix: CookiePrefix): number => (prefix === '' ? prefixes.length : prefixes.indexOf(prefix))

/** Cookie names under one configuration. Computed once per configuration, because every request needs them. */
interface Naming {
  config: Config
  /** The session cookie's name without prefix. */
  session: string
  /** The name of the cookie with the XSRF token, without prefix. */
  xsrf: string
  /** The prefixes in the configured names. The cookie for scripts has no other, because clients know its name. */
  configured: { session: CookiePrefix; xsrf: CookiePrefix }
  /** Whether browsers accept prefixes, which need https. */
  canHavePrefix: boolean
  hasDomain: boolean
}

function namingOf(config: Config): Naming {
  const { cookie, xsrf_cookie, secure, domain } = config.session
  const configured = { session: prefixOf(cookie), xsrf: prefixOf(xsrf_cookie) }
  return {
    config,
    session: cookie.slice(configured.session.length),
    xsrf: xsrf_cookie.slice(configured.xsrf.length),
    configured,
    canHavePrefix: secure && config.app.url.startsWith('https:'),
    hasDomain: domain !== null,
  }
}

/** Names and attributes of svc's cookies, and the parsing of the cookies that a browser sends. */
export class Cookies {
  readonly #config: CurrentConfig
  readonly #app: Pick<FastifyInstance, 'parseCookie' | 'serializeCookie'>
  #naming: Naming | undefined

  constructor(config: CurrentConfig, app: Pick<FastifyInstance, 'parseCookie' | 'serializeCookie'>) {
    this.#config = config
    this.#app = app
  }

  /** Returns the prefix of a cookie; empty on plain http. */
  prefix(name: string): CookiePrefix {
    const { session, xsrf, configured, canHavePrefix, hasDomain } = this.#current()
    if (name === xsrf) return configured.xsrf
    if (name === session && configured.session !== '') return configured.session
    if (!canHavePrefix) return ''
    return hasDomain && this.#isShared(name) ? '__Secure-' : '__Host-'
  }

  /** Returns the full name of a cookie. */
  nameOf(name: string): string {
    return this.prefix(name) + name
  }

  /** The session cookie's name without prefix. */
  get session(): string {
    return this.#current().session
  }

  #current(): Naming {
    const config = this.#config.current()
    if (this.#naming?.config !== config) this.#naming = namingOf(config)
    return this.#naming
  }

  /** Returns a cookie's attributes. Only the cookies that front ends on subdomains need get the configured domain. */
  attributes(name: string): { path: string; sameSite: 'lax' | 'strict' | 'none'; secure: boolean; domain?: string } {
    const { domain, same_site, secure } = this.#config.current().session
    const shared = domain !== null && this.#isShared(name) ? { domain } : {}
    return { path: '/', sameSite: same_site, secure, ...shared }
  }

  /** Parses a `Cookie` header. The expected prefix wins, then the stronger one. Names without prefix are legacy. */
  parse(header: string): PresentedCookies {
    const parsed = this.#app.parseCookie(header)
    const names = Object.keys(parsed)
    const repeated = header.split(';').length === names.length ? new Set<string>() : repeatedIn(header)
    const found: PresentedCookies = { values: {}, prefixes: new Map(), repeated: [...repeated] }
    for (const full of names) {
      if (repeated.has(full)) continue
      const prefix = prefixOf(full)
      const name = full.slice(prefix.length)
      const known = found.prefixes.get(name)
      const isBetter = known === undefined || prefix === this.prefix(name) || rank(prefix) < rank(known)
      if (!isBetter || known === this.prefix(name)) continue
      found.prefixes.set(name, prefix)
      found.values[name] = parsed[full] ?? ''
    }
    return found
  }

  /** Sets an HttpOnly cookie, and deletes variants under legacy names. */
  set(
    request: FastifyRequest,
    reply: FastifyReply,
    name: string,
    value: string,
    options: { maxAge: number; sameSite?: 'lax' },
  ): void {
    this.#expirePast(request, reply, name)
    const attributes = { ...this.attributes(name), httpOnly: true, ...options }
    this.#add(reply, this.#app.serializeCookie(this.nameOf(name), value, attributes))
  }

  /** Deletes a cookie. */
  clear(request: FastifyRequest, reply: FastifyReply, name: string): void {
    this.#expirePast(request, reply, name)
    for (const line of this.#expirations(this.nameOf(name))) this.#add(reply, line)
  }

  /** Returns the headers that delete all repeated and legacy variants of svc's cookies. */
  staleLines({ prefixes: presented, repeated }: PresentedCookies): string[] {
    const past = [this.session].filter((name) => (presented.get(name) ?? this.prefix(name)) !== this.prefix(name))
    const stale = [
      ...past.map((name) => `${presented.get(name)}${name}`),
      ...repeated.filter((full) => this.#isOwn(full.slice(prefixOf(full).length))),
    ]
    return stale.flatMap((full) => this.#expirations(full))
  }

  #expirePast({ cookiePrefixes }: FastifyRequest, reply: FastifyReply, name: string): void {
    const presented = cookiePrefixes?.get(name)
    if (presented === undefined || presented === this.prefix(name)) return
    for (const line of this.#expirations(presented + name)) this.#add(reply, line)
  }

  /** Returns headers that expire a cookie: host-only and, if svc may have set it so, with the configured domain. */
  #expirations(full: string): string[] {
    const prefix = prefixOf(full)
    const { domain, secure, same_site } = this.#config.current().session
    const attributes = {
      path: '/',
      secure: secure || prefix !== '',
      sameSite: same_site,
      expires: new Date(0),
      maxAge: 0,
    }
    const isShared = this.#isShared(full.slice(prefix.length)) && domain !== null && prefix !== '__Host-'
    const variants = [attributes, ...(isShared ? [{ ...attributes, domain }] : [])]
    return variants.map((variant) => this.#app.serializeCookie(full, '', variant))
  }

  /** Appends the header immediately, because responses that other libraries send have no later hook. */
  #add(reply: FastifyReply, line: string): void {
    const before = reply.getHeader('set-cookie') ?? []
    reply.removeHeader('set-cookie')
    reply.header('set-cookie', [...[before].flat().map(String), line])
  }

  #isShared(name: string): boolean {
    const { session, xsrf } = this.#current()
    return [session, xsrf, 'svc_remember', 'svc_browser', 'svc_bound'].includes(name)
  }

  #isOwn(name: string): boolean {
    const isOfFeature = featureCookies.some((prefix) => name.startsWith(prefix))
    return isOfFeature || this.#isShared(name) || /^svc_((flash|language|ui_locales)$|oauth_)/.test(name)
  }
}

/** Returns the decoded values of all cookies of one name. */
export const valuesOf = (header: string, name: string, app: Pick<FastifyInstance, 'parseCookie'>): string[] =>
  header.split(';').flatMap((pair) => app.parseCookie(pair)[name] ?? [])

/** Returns the names that occur more than once in a `Cookie` header. */
function repeatedIn(header: string): Set<string> {
  const [seen, repeated] = [new Set<string>(), new Set<string>()]
  for (const pair of header.split(';')) {
    const name = pair.split('=')[0]?.trim() ?? ''
    if (name !== '' && seen.has(name)) repeated.add(name)
    seen.add(name)
  }
  return repeated
}
