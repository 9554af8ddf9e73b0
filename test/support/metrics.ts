/** What a process tells Prometheus, read from the text format. */
export class Scrape {
  readonly text: string
  /** Name → type. */
  readonly types: ReadonlyMap<string, string>
  readonly #lines: readonly string[]

  constructor(text: string) {
    this.text = text
    this.#lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
    this.types = new Map([...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = '', type = '']) => [name, type]))
  }

  /** Asks the process on this port. */
  static async of(port: number): Promise<Scrape> {
    return new Scrape(await (await fetch(`http://127.0.0.1:${port}/metrics`)).text())
  }

  /** The sum of the samples of this name that have these labels; null when there is none. */
  value(name: string, labels: Record<string, string> = {}): number | null {
    const wanted = Object.entries(labels).map(([label, value]) => `${label}="${value}"`)
    const found = this.#lines.filter((line) => {
      const [, own, inside = ''] = /^([^{ ]+)(?:\{(.*)\})? \S+$/.exec(line) ?? []
      return own === name && wanted.every((pair) => inside.split(/,(?=\w+=")/).includes(pair))
    })
    return found.length === 0 ? null : found.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
  }

  /** The different values that a label has in samples of this name. */
  valuesOf(name: string, label: string): string[] {
    const texts = this.#lines.filter((line) => line.startsWith(`${name}{`))
    return [...new Set(texts.map((line) => new RegExp(`[{,]${label}="([^"]*)"`).exec(line)?.[1] ?? ''))].sort()
  }
}
