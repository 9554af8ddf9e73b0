import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { Eta, type TemplateFunction } from 'eta'

interface Cached {
  mtime: number
  render: (data: object) => string
}

const builtIn = join(import.meta.dirname, '..', 'templates', 'pages')

/** Templates of a directory of the operator's over svc's own, file by file; each is read again when its file changes. */
export class Templates {
  readonly #eta = new Eta({ autoEscape: true })
  readonly #cache = new Map<string, Cached>()

  /**
   * Fills a template. One of the operator's that is broken never costs the visitor a page: the built-in one takes its
   * place, and `onBroken` is told.
   */
  render(
    file: string,
    data: object,
    overrides: string | null,
    onBroken: (error: unknown, path: string) => void,
  ): string {
    if (overrides !== null) {
      const path = join(overrides, file)
      try {
        const override = this.#load(path)
        if (override) return override(data)
      } catch (error) {
        onBroken(error, path)
      }
    }
    const own = this.#load(join(builtIn, file))
    if (!own) throw new Error(`There is no template ${file}.`)
    return own(data)
  }

  /** The template of a file, or null where there is none. */
  #load(path: string): Cached['render'] | null {
    const mtime = statSync(path, { throwIfNoEntry: false })?.mtimeMs
    if (mtime === undefined) return null
    const cached = this.#cache.get(path)
    if (cached?.mtime === mtime) return cached.render
    const render = this.#compile(path)
    this.#cache.set(path, { mtime, render })
    return render
  }

  #compile(path: string): Cached['render'] {
    const source = readFileSync(path, 'utf8')
    if (!path.endsWith('.eta')) return () => source
    const template: TemplateFunction = this.#eta.compile(source)
    return (data) => this.#eta.render(template, data)
  }
}
