import { type Host, keysOf, patternKey } from './host-pattern.ts'
import { parsePath } from './path-pattern.ts'
import { readingsOf, UnreadablePath } from './path-readings.ts'

/** What a rule says about the requests it is for. Null matches everything. */
export interface RulePattern {
  readonly hosts: readonly string[] | null
  readonly paths: readonly string[] | null
  readonly methods: readonly string[] | null
}

/** A request to another service. */
export interface Target {
  method: string
  host: Host
  /** As the client sent it, without the query. */
  path: string
}

/** Rules by path segment. */
class PathTree {
  readonly #children = new Map<string, PathTree>()
  #any: PathTree | null = null
  /** Indexes of the rules whose pattern ends here, ascending. */
  readonly #exact: number[] = []
  readonly #prefix: number[] = []

  add(segments: readonly (string | null)[], isPrefix: boolean, rule: number): void {
    const [first, ...others] = segments
    if (first === undefined) (isPrefix ? this.#prefix : this.#exact).push(rule)
    else this.#child(first).add(others, isPrefix, rule)
  }

  /** Returns the lowest index below `best` that matches and fits, or `best`. */
  first(segments: readonly string[], at: number, fits: (rule: number) => boolean, best: number): number {
    let found = lowest(this.#prefix, fits, best)
    const segment = segments[at]
    const isEnd = segment === undefined || (segment === '' && at === segments.length - 1)
    if (isEnd) found = lowest(this.#exact, fits, found)
    if (segment === undefined) return found
    found = this.#children.get(segment)?.first(segments, at + 1, fits, found) ?? found
    return segment === '' ? found : (this.#any?.first(segments, at + 1, fits, found) ?? found)
  }

  #child(segment: string | null): PathTree {
    if (segment === null) {
      this.#any ??= new PathTree()
      return this.#any
    }
    const child = this.#children.get(segment) ?? new PathTree()
    this.#children.set(segment, child)
    return child
  }
}

const lowest = (rules: readonly number[], fits: (rule: number) => boolean, best: number): number =>
  rules.find((rule) => rule < best && fits(rule)) ?? best

/** The rules for one host pattern; once as written, and once in lower case. */
interface HostTrees {
  exact: PathTree
  lowerCase: PathTree
}

/** Key of the rules without hosts. */
const everyHost = ''

/** Compiled rules: a lookup takes about the same time for one rule and for a thousand. */
export class RuleSet<Rule extends RulePattern> {
  readonly #rules: readonly Rule[]
  readonly #methods: readonly (ReadonlySet<string> | null)[]
  readonly #hosts = new Map<string, HostTrees>()

  constructor(rules: readonly Rule[]) {
    this.#rules = rules
    this.#methods = rules.map(({ methods }) => methods && new Set(methods))
    for (const [index, { hosts, paths }] of rules.entries()) {
      for (const host of hosts?.map(patternKey) ?? [everyHost]) {
        for (const path of paths ?? ['/*']) this.#add(host, path, index)
      }
    }
  }

  /**
   * Returns the first rule that matches the target and that `admits` accepts, or null. Throws UnreadablePath if servers
   * could read the path in ways that match different rules. Letter case counts as such a difference, because some
   * servers ignore it.
   */
  find({ method, host, path }: Target, admits: (rule: Rule) => boolean = () => true): Rule | null {
    const fits = (index: number): boolean => {
      const rule = this.#rules[index]
      return rule !== undefined && (this.#methods[index]?.has(method) ?? true) && admits(rule)
    }
    const trees = [...keysOf(host), everyHost].flatMap((key) => this.#hosts.get(key) ?? [])
    const found = new Set<number>()
    for (const reading of readingsOf(path)) {
      const segments = reading.split('/').slice(1)
      const lowerCase = reading.toLowerCase().split('/').slice(1)
      found.add(trees.reduce((best, tree) => tree.exact.first(segments, 0, fits, best), Number.POSITIVE_INFINITY))
      found.add(trees.reduce((best, tree) => tree.lowerCase.first(lowerCase, 0, fits, best), Number.POSITIVE_INFINITY))
    }
    const [index = Number.POSITIVE_INFINITY, ...others] = found
    if (others.length > 0) throw new UnreadablePath('matches different rules, depending on how a server reads it')
    return this.#rules[index] ?? null
  }

  #add(host: string, path: string, index: number): void {
    const trees = this.#hosts.get(host) ?? { exact: new PathTree(), lowerCase: new PathTree() }
    this.#hosts.set(host, trees)
    const { segments, isPrefix } = parsePath(path)
    trees.exact.add(segments, isPrefix, index)
    trees.lowerCase.add(
      segments.map((segment) => segment?.toLowerCase() ?? null),
      isPrefix,
      index,
    )
  }
}
