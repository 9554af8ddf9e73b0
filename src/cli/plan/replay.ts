import { batchesSince, type RecordedDecision } from '../../features/decision-log/store.ts'
import { decideAgain } from '../../features/forward-auth/decide-again.ts'
import type { GuardFacts } from '../../features/forward-auth/recorded-decision.ts'
import { Registry } from '../../features/oauth/clients/clients.ts'
import { knownScopes } from '../../features/oauth/clients/scopes.ts'
import { decideTokensAgain } from '../../features/oauth/protocol/decide-tokens-again.ts'
import type { TokenFacts } from '../../features/oauth/protocol/recorded-tokens.ts'
import { signInRefusal } from '../../features/oauth/sign-in-refusal.ts'
import { type PlaceOf, placeText } from '../../platform/config/findings.ts'
import type { Config } from '../../platform/config/schema.ts'
import type { Database } from '../../platform/database/database.ts'
import { withoutControls } from '../../platform/http/formats.ts'
import { maxUsers } from './affected.ts'

/** Recorded decisions that would be different, and equal in what changes. */
export interface Flip {
  /** `guard` or `token`. */
  kind: RecordedDecision['kind']
  /** Rule or client, with its line. */
  before: string
  after: string
  /** Status and error code; `depends on the credential` if svc did not look at it. */
  verdict_before: string
  verdict_after: string
  /** Number of decisions. */
  count: number
  /** The last of them: its method and URL, or its client and scopes. */
  example: string
  /** Ids of the users, at most 20. */
  users: number[]
}

/** What a replay found. */
export interface Replay {
  decisions: number
  /** Decisions that svc did not record, because there were too many, or that no secret decrypts. */
  missing: number
  /** Decisions that the active configuration makes in another way than the one at that time. */
  changed_before: number
  flips: Flip[]
}

/** A verdict, and what caused it. */
interface Cause {
  verdict: string
  /** Rule or client. */
  name: string
}

const unknown = 'depends on the credential'

/** Makes recorded decisions again under one configuration. */
class Decider {
  readonly #config: Config
  readonly #registry: Registry
  readonly #known: ReadonlySet<string>
  readonly #placeOf: PlaceOf
  /** The clients before the change. */
  readonly #before: Registry

  constructor({ config, placeOf }: Candidate, before: Config) {
    this.#config = config
    this.#placeOf = placeOf
    this.#registry = new Registry(config)
    this.#before = new Registry(before)
    this.#known = knownScopes(config)
  }

  async guard(facts: GuardFacts, at: number): Promise<Cause> {
    const checks = {
      isRegistered: (id: string) => this.#registry.has(id),
      signInRefusal: (signIn: Parameters<typeof signInRefusal>[0], ability: string, now: number) =>
        signInRefusal(
          signIn,
          this.#config.guard.step_up.filter((need) => need.ability === ability),
          now,
        ),
    }
    const { rule, verdict } = await decideAgain(facts, this.#config, checks, at)
    const { rules } = this.#config.guard
    if (!rule) return { verdict: verdict ?? unknown, name: `guard.default (${this.#config.guard.default})` }
    const place = rule.place ? `, ${placeText(rule.place)}` : ''
    return { verdict: verdict ?? unknown, name: `${rule.name ?? `guard.rules[${rules.indexOf(rule)}]`}${place}` }
  }

  token(facts: TokenFacts): Cause {
    const verdict = decideTokensAgain(facts, this.#registry, { known: this.#known, before: this.#before }) ?? unknown
    const index = this.#config.clients.findIndex(({ client_id }) => client_id === facts.clientId)
    const place = index < 0 ? null : this.#placeOf(['clients', index])
    return { verdict, name: `client ${facts.clientId}${place ? `, ${placeText(place)}` : ''}` }
  }

  async decide({ kind, facts, at }: RecordedDecision): Promise<Cause> {
    // Sound: the feature of this kind recorded the facts.
    return kind === 'guard' ? this.guard(facts as GuardFacts, at) : this.token(facts as TokenFacts)
  }
}

/** A configuration, and where its file has each value. */
export interface Candidate {
  config: Config
  placeOf: PlaceOf
}

/** Makes the decisions since a time again under both configurations. */
export async function replay(
  database: Database,
  secrets: readonly string[],
  { before, after, since }: { before: Candidate; after: Candidate; since: number },
): Promise<Replay> {
  const [old, next] = [new Decider(before, before.config), new Decider(after, before.config)]
  const found = new Map<string, Flip>()
  const result: Replay = { decisions: 0, missing: 0, changed_before: 0, flips: [] }
  const { stackTraceLimit } = Error
  // Creating the stack traces of a million refusals would take half of the time.
  Error.stackTraceLimit = 0
  try {
    for await (const batch of batchesSince(database, secrets, since)) {
      result.missing += batch?.missed ?? 1
      for (const decision of batch?.decisions ?? []) {
        const [was, is] = [await old.decide(decision), await next.decide(decision)]
        result.decisions += decision.count
        if (was.verdict !== verdictIn(decision) && was.verdict !== unknown) result.changed_before += decision.count
        if (was.verdict !== is.verdict) addFlip(found, decision, was, is)
      }
    }
  } finally {
    Error.stackTraceLimit = stackTraceLimit
  }
  return { ...result, flips: [...found.values()].sort((one, other) => other.count - one.count) }
}

// Sound: the facts of both kinds have a verdict.
const verdictIn = ({ facts }: RecordedDecision): string => (facts as { verdict: string }).verdict

/** Text of a client as one short line. */
const printable = (text: string): string => withoutControls(text).slice(0, 200)

function addFlip(found: Map<string, Flip>, { kind, facts, count }: RecordedDecision, was: Cause, is: Cause): void {
  const key = JSON.stringify([kind, was, is])
  const flip = found.get(key) ?? {
    kind,
    ...{ before: was.name, after: is.name, verdict_before: was.verdict, verdict_after: is.verdict },
    ...{ count: 0, example: '', users: [] },
  }
  found.set(key, flip)
  flip.count += count
  // Sound: as in `Decider.decide`.
  if (kind === 'token') {
    const { clientId, endpoint, scopes, redirectUri = '' } = facts as TokenFacts
    flip.example = printable([endpoint, clientId, ...scopes, redirectUri].filter(Boolean).join(' '))
    return
  }
  const { methods, origin, path, caller } = facts as GuardFacts
  flip.example = printable(`${methods[0]} ${origin}${path}`)
  const id = caller?.user?.id
  if (id !== undefined && flip.users.length < maxUsers && !flip.users.includes(id)) flip.users.push(id)
}
