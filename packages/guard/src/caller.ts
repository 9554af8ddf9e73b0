import type { Challenges } from './errors.ts'

/** Who acts for a user with an exchanged token (RFC 8693 section 4.1). */
export interface Actor {
  /** The `client_id` of an agent, or the id of a user. */
  id: string
  /** For whom the actor itself acts; null if it acts for the user directly. */
  actor: Actor | null
}

/** What a verified credential says. */
export interface CallerFacts {
  id: string
  kind: 'jwt' | 'token'
  abilities: readonly string[]
  role: string | null
  email: string | null
  name: string | null
  actor: Actor | null
  expiresAt: number | null
  keyThumbprint: string | null
  claims: Readonly<Record<string, unknown>>
}

/** Returns the challenges of the guard that authenticated a caller. */
export let challengesOf: (caller: Caller) => Challenges

/** The authenticated caller of a request. */
export class Caller implements CallerFacts {
  readonly #challenges: Challenges
  /** The user's id, or the `client_id` of a machine. A `client_id` never consists of digits only. */
  readonly id: string
  /** `jwt` for an access token, `token` for an API token. */
  readonly kind: 'jwt' | 'token'
  readonly abilities: readonly string[]
  /** Null for a machine, and if the API does not receive roles. */
  readonly role: string | null
  /** The address, if it is verified and the credential includes it. */
  readonly email: string | null
  /** The user's name, if the access token includes it. */
  readonly name: string | null
  /** The agent that acts for the user; null for a user or a machine that acts alone. */
  readonly actor: Actor | null
  /** Unix seconds; null for no expiry. */
  readonly expiresAt: number | null
  /** Thumbprint (RFC 7638) of the key that the request proved to have; null for a bearer token. */
  readonly keyThumbprint: string | null
  /** All claims of the access token, or the introspection response. */
  readonly claims: Readonly<Record<string, unknown>>

  static {
    challengesOf = (caller) => caller.#challenges
  }

  constructor(facts: CallerFacts, challenges: Challenges) {
    this.#challenges = challenges
    this.id = facts.id
    this.kind = facts.kind
    this.abilities = facts.abilities
    this.role = facts.role
    this.email = facts.email
    this.name = facts.name
    this.actor = facts.actor
    this.expiresAt = facts.expiresAt
    this.keyThumbprint = facts.keyThumbprint
    this.claims = facts.claims
  }

  /** Whether the caller is a user of svc. Otherwise it is a machine. */
  get isUser(): boolean {
    return /^\d+$/.test(this.id)
  }

  /** Whether the caller has the ability. The ability `*` includes all of them. */
  can(ability: string): boolean {
    return this.abilities.includes(ability) || this.abilities.includes('*')
  }
}

const text = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null)

/** Reads the claims of a JWT and of an introspection response. Returns null if they do not describe a caller. */
export function readClaims(kind: CallerFacts['kind'], claims: Record<string, unknown>): CallerFacts | null {
  const { sub, exp, cnf, scope, abilities } = claims
  const id = text(sub)
  const keyThumbprint = cnf === undefined ? null : text(Object(cnf).jkt)
  // Another confirmation than the thumbprint of a key is one that the guard cannot check.
  if (id === null || (cnf !== undefined && keyThumbprint === null)) return null
  if (exp !== undefined && exp !== null && !Number.isFinite(exp)) return null
  const actor = readActor(claims.act)
  if (actor === undefined) return null
  const names = kind === 'token' && abilities !== undefined ? abilities : scopesOf(scope)
  if (!Array.isArray(names) || !names.every((name) => typeof name === 'string')) return null
  return {
    id,
    kind,
    abilities: Object.freeze([...names]),
    role: text(claims.role),
    email: claims.email_verified === true ? text(claims.email) : null,
    // The introspection of an API token returns the name of the token.
    name: kind === 'jwt' ? text(claims.name) : null,
    actor,
    expiresAt: typeof exp === 'number' ? exp : null,
    keyThumbprint,
    claims: Object.freeze(claims),
  }
}

/** Maximum number of actors in a token of svc. */
const maxActors = 3

/** Reads the claim `act`; null without one, and undefined if it is malformed. */
function readActor(act: unknown, depth = 1): Actor | null | undefined {
  if (act === undefined || act === null) return null
  if (typeof act !== 'object' || depth > maxActors) return undefined
  const { sub, act: next } = act as { sub?: unknown; act?: unknown }
  const id = text(sub)
  const actor = readActor(next, depth + 1)
  return id === null || actor === undefined ? undefined : Object.freeze({ id, actor })
}

function scopesOf(scope: unknown): string[] | null {
  if (scope === undefined) return []
  return typeof scope === 'string' ? scope.split(' ').filter((name) => name !== '') : null
}
