import { BlockList, isIPv6 } from 'node:net'
import { coversHost } from './host-pattern.ts'
import { coversPath, parsePath } from './path-pattern.ts'
import type { RulePattern } from './rule-set.ts'

interface Matched extends RulePattern {
  /** Address ranges of the clients; null for all. */
  readonly networks: readonly string[] | null
}

/** Returns each rule that no request reaches, with the earlier rule that matches all its requests, by index. */
export function hiddenRules(rules: readonly Matched[]): { rule: number; by: number }[] {
  return rules.flatMap((rule, index) => {
    const by = rules.slice(0, index).findIndex((earlier) => covers(earlier, rule))
    return by < 0 ? [] : [{ rule: index, by }]
  })
}

const covers = (first: Matched, second: Matched): boolean =>
  all(first.hosts, second.hosts, coversHost) &&
  all(first.paths, second.paths ?? ['/*'], (one, two) => coversPath(parsePath(one), parsePath(two))) &&
  all(first.methods, second.methods, (one, two) => one === two) &&
  all(first.networks, second.networks, coversNetwork)

/** Tests whether each of the second patterns is covered by one of the first; null covers everything. */
function all(
  first: readonly string[] | null,
  second: readonly string[] | null,
  covered: (one: string, two: string) => boolean,
): boolean {
  if (first === null) return true
  return second?.every((two) => first.some((one) => covered(one, two))) ?? false
}

function coversNetwork(one: string, two: string): boolean {
  const [first, second] = [range(one), range(two)]
  if (first.family !== second.family || first.prefix > second.prefix) return false
  const list = new BlockList()
  list.addSubnet(first.address, first.prefix, first.family)
  return list.check(second.address, second.family)
}

function range(text: string) {
  const [address = '', prefix] = text.split('/')
  const family = isIPv6(address) ? ('ipv6' as const) : ('ipv4' as const)
  return { address, prefix: Number(prefix ?? (family === 'ipv6' ? 128 : 32)), family }
}
