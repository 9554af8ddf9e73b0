// Parsers of text that strangers send, for a coverage-guided fuzzer. Each function throws if a parser throws an error that its
// callers do not expect, or returns what it must not return. See "Fuzzing" in CONTRIBUTING.md.
import assert from 'node:assert/strict'
import { isIP } from 'node:net'
import fastifyCookie from '@fastify/cookie'
import fastify from 'fastify'
import { ProofVerifier } from '../../packages/guard/src/dpop.ts'
import { bearerOf, isJwt } from '../../src/auth/access/bearer-token.ts'
import { Cookies } from '../../src/auth/access/cookies.ts'
import { parseToken } from '../../src/auth/tokens/token-string.ts'
import { originalRequest } from '../../src/features/forward-auth/original-request.ts'
import { ruleFor } from '../../src/features/forward-auth/rules.ts'
import { checkAcrClaim } from '../../src/features/oauth/authentication-context.ts'
import { ScimHttpError } from '../../src/features/scim/errors.ts'
import { listFilter } from '../../src/features/scim/filter.ts'
import { patched } from '../../src/features/scim/patch.ts'
import { cursorOf, cursorText } from '../../src/identity/event-list.ts'
import { ConfigError } from '../../src/platform/config/config-error.ts'
import { parseConfig } from '../../src/platform/config/load.ts'
import type { Config } from '../../src/platform/config/schema.ts'
import { HttpError } from '../../src/platform/errors.ts'
import {
  clientAddress,
  limitedAddress,
  networkOf,
  normaliseForwardedFor,
} from '../../src/platform/http/client-address.ts'
import { localPath, returnTarget } from '../../src/platform/http/return-to.ts'
import { auth0Users } from '../../src/tools/maintenance/users-file/auth0.ts'
import { autheliaUsers } from '../../src/tools/maintenance/users-file/authelia.ts'
import { FileError } from '../../src/tools/maintenance/users-file/converted.ts'
import { firebaseUsers, hashParameters } from '../../src/tools/maintenance/users-file/firebase.ts'
import { keycloakUsers } from '../../src/tools/maintenance/users-file/keycloak.ts'

/** Runs a parser, which may throw only these errors. */
function expecting<Result>(allowed: readonly (new (...args: never[]) => Error)[], parse: () => Result): Result | null {
  try {
    return parse()
  } catch (error) {
    if (allowed.some((type) => error instanceof type)) return null
    throw error
  }
}

/** Splits an input into lines, for targets with several values. */
const linesOf = (data: Buffer): string[] => data.toString('latin1').split('\n')

const config = (text: string): Config =>
  parseConfig({ text, file: 'fuzz.yaml', env: {}, cwd: '/', read: () => assert.fail('reads no file') }).config

const guarded = config(`
app: { url: 'https://auth.example.com', secret: Vx4nB7sKq1Lw9dTzR2mFh6cYp3JgA8eUo5iXtG0Q, environment: production }
mail: { url: 'file:mails', from: no-reply@example.com }
stateful: ['*.example.com']
guard:
  rules:
    - { name: admin, hosts: [wiki.example.com], paths: [/admin, /admin/*], roles: [admin] }
    - { name: open, hosts: [wiki.example.com], paths: [/public/*], access: public }
    - { name: rest, hosts: ['*.example.com'] }
`)

/** Where a sign-in may lead: a path of svc, or a service that a rule names. */
export function redirect(data: Buffer): void {
  const text = data.toString('utf8')
  const path = localPath(text)
  if (path !== null) {
    assert.equal(new URL(path, 'https://auth.example.com').origin, 'https://auth.example.com')
    assert.doesNotMatch(path, /[\r\n]/)
  }
  const target = returnTarget(guarded, text)
  if (target === null || target === path) return
  const { protocol, hostname, username } = new URL(target)
  assert.equal(protocol, 'https:')
  // A dot at the end names the same host.
  assert.match(hostname, /\.example\.com\.?$/)
  assert.equal(username, '')
}

/** `X-Forwarded-For`, whose last hop is the peer that the proxy saw. */
export function forwarded(data: Buffer): void {
  const headers: Record<string, string> = { 'x-forwarded-for': data.toString('latin1') }
  normaliseForwardedFor({ headers } as never)
  const hops = (headers['x-forwarded-for'] ?? '').split(', ').filter((hop) => hop !== '')
  for (const hop of hops) {
    assert.notEqual(isIP(hop), 0, hop)
    const address = clientAddress({ ip: hop })
    assert.equal(clientAddress({ ip: address }), address, 'the canonical form is stable')
    assert.ok(limitedAddress(address).length <= 64 && networkOf(address).length <= 64)
  }
}

/** The request that a proxy describes to the guard: method, scheme, host and URI on a line each. */
export function guard(data: Buffer): void {
  const [method = '', proto = '', host = '', uri = ''] = linesOf(data)
  const headers = {
    'x-forwarded-method': method,
    'x-forwarded-proto': proto,
    'x-forwarded-host': host,
    'x-forwarded-uri': uri,
  }
  const original = expecting([HttpError], () => originalRequest({ headers, method: 'GET' }, null))
  if (!original) return
  const rule = expecting([HttpError], () => ruleFor(original, () => '192.0.2.1', guarded.guard.rules))
  if (rule?.name !== 'open') return
  // No service may read the path of a public rule as one of the protected pages.
  let path = original.path
  for (let times = 0; times < 3; times++) {
    const { pathname } = new URL(path.replaceAll('\\', '/').replace(/^\/+/, '/'), 'https://wiki.example.com')
    assert.doesNotMatch(pathname.toLowerCase(), /^\/+admin(\/|$|;)/, original.path)
    try {
      path = decodeURIComponent(pathname)
    } catch {
      return
    }
  }
}

const app = fastify()
await app.register(fastifyCookie)
const cookies = new Cookies({ current: () => guarded } as never, app)

/** The `Cookie` header. */
export function cookie(data: Buffer): void {
  const header = data.toString('latin1')
  const { values, prefixes } = cookies.parse(header)
  for (const name of Object.keys(values)) {
    const prefix = prefixes.get(name)
    assert.ok(prefix !== undefined && header.includes(prefix + name), 'a cookie that was sent, with its prefix')
  }
}

/** The `Authorization` header. */
export function bearer(data: Buffer): void {
  const header = data.toString('latin1')
  const text = bearerOf(header)
  if (text === null) return
  assert.ok(header.includes(text) && text === text.trim() && !text.includes(','))
  isJwt(text)
  const key = parseToken(text)
  if (key?.id !== undefined && key?.id !== null) assert.ok(key.id >= 0n && key.id < 2n ** 63n)
  if (key) assert.match(key.hash, /^[0-9a-f]{64}$/)
}

/** A DPoP proof. No random text proves anything. */
export async function dpop(data: Buffer): Promise<void> {
  const verifier = new ProofVerifier({ origin: 'https://api.example.com' }, () => 1_795_000_000_000)
  const [proof = '', path = ''] = linesOf(data)
  const isProved = await verifier.proves({ proofs: [proof], method: 'GET', path }, 'token', 'thumbprint')
  assert.equal(isProved, false)
}

/** The configuration file. */
export function yaml(data: Buffer): void {
  expecting([ConfigError], () => config(data.toString('utf8')))
}

/** The `claims` parameter. */
export function claims(data: Buffer): void {
  let parsed: unknown
  try {
    parsed = JSON.parse(data.toString('utf8'))
  } catch {
    return
  }
  if (typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed))
    expecting([TypeError], () => checkAcrClaim(parsed))
}

/** The filter of a SCIM list, and the path of a SCIM change. */
export function scim(data: Buffer): void {
  const text = data.toString('utf8')
  const user = { userName: 'ada', emails: [{ value: 'ada@example.com', primary: true }], active: true, meta: {} }
  const filter = expecting([ScimHttpError], () => listFilter(text))
  const matches = filter && expecting([ScimHttpError], () => filter.matches(user))
  if (matches !== null) assert.equal(typeof matches, 'boolean')
  for (const operation of [
    { op: 'replace', path: text, value: 'x' },
    { op: 'remove', path: text },
    { op: 'add', value: { [text]: 'x' } },
  ])
    expecting([ScimHttpError], () => patched(structuredClone(user) as never, { Operations: [operation] }))
  assert.deepEqual(Object.keys(Object.prototype), [], 'no change reaches the prototype of objects')
}

/** User exports of other servers. */
export function imports(data: Buffer): void {
  const text = data.toString('utf8')
  for (const users of [auth0Users, autheliaUsers, keycloakUsers, (given: string) => firebaseUsers(given, null)])
    for (const user of expecting([FileError], () => users(text)) ?? []) assert.equal(typeof user, 'object')
  expecting([FileError], () => hashParameters(text))
}

/** The cursor of a list of events. */
export function cursor(data: Buffer): void {
  const text = data.toString('utf8')
  const found = cursorOf(text)
  if (found) assert.ok(cursorText({ createdAt: new Date(found.at), id: found.id } as never).length <= text.length)
}
