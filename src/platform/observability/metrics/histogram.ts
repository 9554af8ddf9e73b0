/** Escapes a label value (Prometheus exposition format 0.0.4). */
const escaped = (value: string): string => value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')

/** Observations of one label set; `counts` has one more entry than there are bounds. */
interface Series {
  labels: string
  names: Record<string, string>
  counts: number[]
  sum: number
}

/**
 * A histogram with minimal cost per request: plain numbers, formatted on demand. The one of prom-client builds and
 * sorts a key per observation, which costs many times as much.
 */
export class Histogram {
  readonly #name: string
  readonly #help: string
  readonly #labels: readonly string[]
  readonly #bounds: readonly number[]
  readonly #series = new Map<string, Series>()

  constructor(name: string, help: string, labels: readonly string[], bounds: readonly number[]) {
    this.#name = name
    this.#help = help
    this.#labels = labels
    this.#bounds = bounds
  }

  /** Counts a value; labels are in the order of their names. */
  observe(value: number, ...labels: string[]): void {
    const key = labels.join('\n')
    let series = this.#series.get(key)
    if (!series) {
      const pairs = this.#labels.map((name, index) => `${name}="${escaped(labels[index] ?? '')}",`)
      const names = Object.fromEntries(this.#labels.map((name, index) => [name, labels[index] ?? '']))
      series = { labels: pairs.join(''), names, counts: new Array(this.#bounds.length + 1).fill(0), sum: 0 }
      this.#series.set(key, series)
    }
    let place = 0
    while (value > (this.#bounds[place] ?? Number.POSITIVE_INFINITY)) place++
    series.counts[place] = (series.counts[place] ?? 0) + 1
    series.sum += value
  }

  /** Returns all observations in the form of prom-client, which merges those of several processes. */
  toMetric() {
    const values = [...this.#series.values()].flatMap(({ names, counts, sum }) => {
      let total = 0
      const buckets = counts.map((count, place) => {
        total += count
        const le = String(this.#bounds[place] ?? '+Inf')
        return { metricName: `${this.#name}_bucket`, labels: { ...names, le }, value: total }
      })
      const rest = { _sum: sum, _count: total }
      const sums = Object.entries(rest).map(([suffix, value]) => {
        return { metricName: `${this.#name}${suffix}`, labels: names, value }
      })
      return [...buckets, ...sums]
    })
    return { name: this.#name, help: this.#help, type: 'histogram', aggregator: 'sum' as const, values }
  }

  /** Formats all observations for Prometheus. */
  toString(): string {
    const lines = [`# HELP ${this.#name} ${this.#help}`, `# TYPE ${this.#name} histogram`]
    for (const { labels, counts, sum } of this.#series.values()) {
      let total = 0
      for (const [place, count] of counts.entries()) {
        total += count
        lines.push(`${this.#name}_bucket{${labels}le="${this.#bounds[place] ?? '+Inf'}"} ${total}`)
      }
      const own = labels === '' ? '' : `{${labels.slice(0, -1)}}`
      lines.push(`${this.#name}_sum${own} ${sum}`, `${this.#name}_count${own} ${total}`)
    }
    return `${lines.join('\n')}\n`
  }
}
