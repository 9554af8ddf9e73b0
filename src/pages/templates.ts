import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { Eta, type TemplateFunction } from 'eta'

interface Cached {
  mtime: number
  render: (data: object) => string
}

const builtIn = join(import.meta.dirname, '..', 'templates', 'pages')

/** Templates of the operator's directory over the built-in ones, file by file; reloaded when a file changes. */
export class Templates {
  readonly #eta = new Eta({ autoEscape: true })
  readonly #cache = new Map<string, Cached>()

  /** Renders a template. If the operator's template is broken, renders the built-in one and calls `onBroken`. */
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

  /** Returns the compiled template of a file, or null. */
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
