import { BlockList, isIPv6 } from 'node:net'
import { coveringKeys, patternKey } from './host-pattern.ts'
import { coversPath, type PathPattern, parsePath } from './path-pattern.ts'
import type { RulePattern } from './rule-set.ts'

interface Matched extends RulePattern {
  /** Address ranges of the clients; null for all. */
  readonly networks: readonly string[] | null
}

/** A rule with its patterns parsed once, because each rule is compared with all before it. */
interface Parsed {
  hosts: readonly { key: string; covering: ReadonlySet<string> }[] | null
  paths: readonly PathPattern[] | null
  methods: readonly string[] | null
  networks: readonly Network[] | null
}

interface Network {
  address: string
  prefix: number
  family: 'ipv4' | 'ipv6'
}

/** Returns each rule that no request reaches, with the earlier rule that matches all its requests, by index. */
export function hiddenRules(rules: readonly Matched[]): { rule: number; by: number }[] {
  const parsed = rules.map(parse)
  return parsed.flatMap((second, rule) => {
    const by = parsed.findIndex((first, index) => index < rule && covers(first, second))
    return by < 0 ? [] : [{ rule, by }]
  })
}

const parse = ({ hosts, paths, methods, networks }: Matched): Parsed => ({
  hosts: hosts?.map((host) => ({ key: patternKey(host), covering: new Set(coveringKeys(host)) })) ?? null,
  paths: paths?.map(parsePath) ?? null,
  methods,
  networks: networks?.map(parseNetwork) ?? null,
})

const everyPath = [parsePath('/*')]

const covers = (first: Parsed, second: Parsed): boolean =>
  all(first.paths, second.paths ?? everyPath, coversPath) &&
  all(first.hosts, second.hosts, (one, two) => two.covering.has(one.key)) &&
  all(first.methods, second.methods, (one, two) => one === two) &&
  all(first.networks, second.networks, coversNetwork)

/** Tests whether each of the second patterns is covered by one of the first; null covers everything. */
function all<Pattern>(
  first: readonly Pattern[] | null,
  second: readonly Pattern[] | null,
  covered: (one: Pattern, two: Pattern) => boolean,
): boolean {
  if (first === null) return true
  return second?.every((two) => first.some((one) => covered(one, two))) ?? false
}

function coversNetwork(first: Network, second: Network): boolean {
  if (first.family !== second.family || first.prefix > second.prefix) return false
  const list = new BlockList()
  list.addSubnet(first.address, first.prefix, first.family)
  return list.check(second.address, second.family)
}

function parseNetwork(text: string): Network {
  const [address = '', prefix] = text.split('/')
  const family = isIPv6(address) ? 'ipv6' : 'ipv4'
  return { address, prefix: Number(prefix ?? (family === 'ipv6' ? 128 : 32)), family }
}
