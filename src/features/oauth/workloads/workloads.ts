import { existsSync, readFileSync } from 'node:fs'
import type { FastifyInstance } from 'fastify'
import { decodeJwt, errors, type JWTPayload, jwtVerify } from 'jose'
import { useOnce } from '../../../auth/access/used-once.ts'
import type { Config } from '../../../platform/config/schema.ts'
import { platformNameOf, platformOf } from '../../../platform/config/sections/federated.ts'
import { AddressRanges } from '../../../platform/http/addresses.ts'
import { type OutboundFetch, outboundFetch } from '../../../platform/http/outbound.ts'
import { tracedFetch } from '../../../platform/observability/tracing/traced-fetch.ts'
import type { RegisteredClient } from '../clients/clients.ts'
import { IssuerKeys } from './issuer-keys.ts'
import { matches } from './pattern.ts'

declare module '../../../auth/access/used-once.ts' {
  interface UsedOncePurposes {
    WorkloadToken: true
  }
}

type Federated = RegisteredClient['federated'][number]

/** svc does not accept the token of a workload. The message is for the log: it names what differs. */
export class WorkloadRefused extends Error {}

/** Signing algorithms of platforms. All are asymmetric. */
const algorithms = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA']

/** Maximum length of a token. */
const maxLength = 16_384

/** How old a token may be, in milliseconds. */
const defaultMaxAge = 3_600_000

/** Accepted difference between clocks, in seconds. */
const clockSkew = 30

type Parts = Pick<FastifyInstance, 'config' | 'clock' | 'database' | 'tracing'>

/** Authenticates clients by the tokens of their platforms (RFC 7523, with the workload as subject). */
export class Workloads {
  readonly #parts: Parts
  /** By entry of the configuration, so that a changed entry reads its keys again. */
  readonly #keys = new WeakMap<Federated, IssuerKeys>()

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** Returns the subject of a valid token of one of the client's platforms. Throws `WorkloadRefused` for any other. */
  async subjectOf(client: RegisteredClient, token: string): Promise<string> {
    const claims = token.length > maxLength ? {} : unverified(token)
    const candidates = client.federated.filter((one) => isIssuerOf(one, claims))
    if (candidates.length === 0) {
      const known = client.federated.map((one) => issuerOf(one) ?? one.subject).join(', ')
      throw new WorkloadRefused(`its issuer is ${shown(claims.iss)}, and the client trusts ${known}`)
    }
    let reason = ''
    for (const one of candidates) {
      try {
        return await this.#verify(one, client, token)
      } catch (error) {
        if (!(error instanceof WorkloadRefused)) throw error
        reason ||= error.message
      }
    }
    throw new WorkloadRefused(reason)
  }

  async #verify(one: Federated, client: RegisteredClient, token: string): Promise<string> {
    const now = this.#parts.clock.now()
    const { payload } = await jwtVerify(token, this.#keysOf(one, client).find, {
      algorithms,
      clockTolerance: clockSkew,
      currentDate: new Date(now),
      requiredClaims: ['sub', 'exp', 'aud'],
    }).catch((error: unknown) => {
      throw new WorkloadRefused(refusalOf(error))
    })
    const audience = one.audience ?? this.#parts.config.current().app.url
    checkClaims(one, payload, { audience, now })
    if (platformOf(platformNameOf(one)).isFresh && !(await this.#isFirstUse(token, payload))) {
      throw new WorkloadRefused('it was used before, and this platform makes a new token for each request')
    }
    return String(payload.sub)
  }

  #isFirstUse(token: string, { exp = 0 }: JWTPayload): Promise<boolean> {
    // Without the signature: some algorithms have several for one content.
    const content = token.slice(0, token.lastIndexOf('.'))
    return useOnce(this.#parts.database, 'WorkloadToken', content, (exp + clockSkew) * 1000)
  }

  #keysOf(one: Federated, client: RegisteredClient): IssuerKeys {
    const known = this.#keys.get(one)
    if (known) return known
    const { config, clock, tracing } = this.#parts
    const platform = platformOf(platformNameOf(one))
    const isAllowed = isAllowedFor(config.current(), client, platform.isPrivate === true && one.jwks_uri === null)
    // Reads the file each time, because clusters replace their authorities.
    const fetch: OutboundFetch = (input, init) => {
      const file = one.ca_file ?? existing(platform.caFile)
      return outboundFetch(
        () => config.current().outbound,
        isAllowed,
        file === null ? {} : { ca: readFileSync(file) },
      )(input, init)
    }
    const isElsewhere = one.jwks_uri !== null || ![null, platform.issuer].includes(one.issuer)
    const location = {
      issuer: issuerOf(one),
      jwksUri: one.jwks_uri ?? (one.issuer === null ? (platform.jwksUri ?? null) : null),
      // The token of svc's own pod is for its own cluster.
      tokenFile: one.token_file ?? (isElsewhere ? null : existing(platform.tokenFile)),
    }
    const made = new IssuerKeys(location, tracedFetch(fetch, tracing, false), () => clock.now())
    this.#keys.set(one, made)
    return made
  }
}

/** The operator wrote the URLs, but a public name may lead to a private address. */
function isAllowedFor({ outbound }: Config, client: RegisteredClient, isPrivate: boolean) {
  const ranges = new AddressRanges(outbound.allow_private)
  return (address: string) => isPrivate || client.allow_private_addresses || ranges.has(address)
}

const existing = (file: string | undefined): string | null => (file !== undefined && existsSync(file) ? file : null)

function issuerOf({ issuer, platform, token_file }: Federated): string | null {
  if (issuer !== null) return issuer
  const { tokenFile, issuer: usual = null } = platformOf(platform)
  const file = tokenFile === undefined ? null : (token_file ?? existing(tokenFile))
  // The issuer of a cluster differs between distributions. The token for its API names it.
  return (file === null ? null : issuerIn(file)) ?? usual
}

function issuerIn(file: string): string | null {
  try {
    return decodeJwt(readFileSync(file, 'utf8').trim()).iss ?? null
  } catch {
    return null
  }
}

/** JWT-SVIDs need no issuer (JWT-SVID section 3): their subject names the trust domain. */
function isIssuerOf(one: Federated, { iss, sub }: JWTPayload): boolean {
  const issuer = issuerOf(one)
  if (issuer !== null) return iss === issuer
  const domain = /^spiffe:\/\/[^/*]+\//.exec(`${one.subject}/`)?.[0]
  return domain !== undefined && typeof sub === 'string' && sub.startsWith(domain)
}

function unverified(token: string): JWTPayload {
  try {
    return decodeJwt(token)
  } catch {
    throw new WorkloadRefused('it is not a JWT')
  }
}

function checkClaims(one: Federated, claims: JWTPayload, { audience, now }: { audience: string; now: number }): void {
  const { aud, sub, iat, exp = 0 } = claims
  // A service among several audiences could pass the token on.
  const [only, ...others] = [aud].flat()
  if (only !== audience || others.length > 0) throw new WorkloadRefused(`aud is ${shown(aud)} instead of ${audience}`)
  const maxAge = one.max_age ?? platformOf(platformNameOf(one)).maxAge ?? defaultMaxAge
  // Without a time of issue, the rest of its lifetime is the only limit.
  const age = typeof iat === 'number' ? now - iat * 1000 : exp * 1000 - now
  if (age > maxAge + clockSkew * 1000) throw new WorkloadRefused(`it is older than ${maxAge / 1000} seconds (max_age)`)
  if (age < -clockSkew * 1000) throw new WorkloadRefused('iat is in the future')
  if (typeof sub !== 'string' || !matches(one.subject, sub)) {
    throw new WorkloadRefused(`sub is ${shown(sub)} instead of ${one.subject}`)
  }
  for (const [name, wanted] of Object.entries(one.claims)) {
    const value = claims[name]
    const isRight = typeof wanted === 'string' ? typeof value === 'string' && matches(wanted, value) : value === wanted
    if (!isRight) throw new WorkloadRefused(`${name} is ${shown(value)} instead of ${wanted}`)
  }
}

function refusalOf(error: unknown): string {
  if (error instanceof errors.JWTExpired) return 'it has expired'
  if (error instanceof errors.JWSSignatureVerificationFailed) return 'its signature is invalid'
  if (error instanceof errors.JWKSNoMatchingKey) return 'its issuer has no such key'
  if (error instanceof errors.JOSEAlgNotAllowed) return 'its algorithm is not accepted'
  return error instanceof Error ? error.message : String(error)
}

/** A claim in the log. */
const shown = (value: unknown): string => JSON.stringify(value)?.slice(0, 300) ?? 'missing'
