import type { Config } from '../../platform/config/schema.ts'
import { HttpError } from '../../platform/errors.ts'
import { UnreadablePath } from '../../platform/guard-rules/path-readings.ts'
import { RuleSet } from '../../platform/guard-rules/rule-set.ts'
import { AddressRanges } from '../../platform/http/addresses.ts'
import type { OriginalRequest } from './original-request.ts'

export type Rule = Config['guard']['rules'][number]

interface Compiled {
  set: RuleSet<Rule>
  networks: ReadonlyMap<Rule, AddressRanges>
}

/** Compiled once per configuration. */
const compiled = new WeakMap<readonly Rule[], Compiled>()

function compile(rules: readonly Rule[]): Compiled {
  let found = compiled.get(rules)
  if (!found) {
    const networks = rules.flatMap((rule) => (rule.networks ? [[rule, new AddressRanges(rule.networks)] as const] : []))
    found = { set: new RuleSet(rules), networks: new Map(networks) }
    compiled.set(rules, found)
  }
  return found
}

/**
 * Returns the named rule, otherwise the first that matches the request, or null. `addressOf` is called only for rules with
 * `networks`. Throws 400 for an unknown name, and for a request that servers may read as matching different rules.
 */
export function ruleFor(
  original: OriginalRequest,
  addressOf: () => string,
  rules: readonly Rule[],
  name?: string,
): Rule | null {
  if (name !== undefined) {
    const named = rules.find((rule) => rule.name === name)
    if (!named) throw new HttpError(400, 'invalid_original_request', 'No rule has this name.')
    return named
  }
  const { set, networks } = compile(rules)
  const admits = (rule: Rule): boolean => networks.get(rule)?.has(addressOf()) ?? true
  const { host, path } = original
  const [rule, ...others] = original.methods.map((method) => readable(() => set.find({ method, host, path }, admits)))
  if (others.some((other) => other !== rule))
    throw new HttpError(400, 'invalid_original_request', 'The method and its override match different rules.')
  return rule ?? null
}

function readable<Found>(find: () => Found): Found {
  try {
    return find()
  } catch (error) {
    if (!(error instanceof UnreadablePath)) throw error
    throw new HttpError(400, 'invalid_original_request', `The path ${error.message}.`, { cause: error })
  }
}
