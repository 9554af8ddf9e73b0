/** The metrics of a process, read from the text format. */
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

  /** Scrapes the process on this port. */
  static async of(port: number): Promise<Scrape> {
    return new Scrape(await (await fetch(`http://127.0.0.1:${port}/metrics`)).text())
  }

  /** The sum of the samples with this name and these labels; null if there are none. */
  value(name: string, labels: Record<string, string> = {}): number | null {
    const wanted = Object.entries(labels).map(([label, value]) => `${label}="${value}"`)
    const found = this.#lines.filter((line) => {
      const [, own, inside = ''] = /^([^{ ]+)(?:\{(.*)\})? \S+$/.exec(line) ?? []
      return own === name && wanted.every((pair) => inside.split(/,(?=\w+=")/).includes(pair))
    })
    return found.length === 0 ? null : found.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
  }

  /** The different values of a label in samples with this name. */
  valuesOf(name: string, label: string): string[] {
    const texts = this.#lines.filter((line) => line.startsWith(`${name}{`))
    return [...new Set(texts.map((line) => new RegExp(`[{,]${label}="([^"]*)"`).exec(line)?.[1] ?? ''))].sort()
  }
}
