import { readFileSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import { Eta } from 'eta'

/** A template that cannot be read or rendered. */
class TemplateError extends Error {
  constructor(path: string, cause: unknown) {
    super(`The template ${path} cannot be rendered: ${cause instanceof Error ? cause.message : String(cause)}`, {
      cause,
    })
  }
}

interface Compiled {
  /** Identifies the content of the file. */
  version: string
  render(data: object): string
}

interface Options {
  /** Directory whose files replace the built-in ones; null for none. */
  directory: string | null
  /** Called if a file of the directory cannot be rendered. The built-in one is then used. Without it, `render` throws. */
  onInvalid?: (error: TemplateError) => void
}

/** Templates of one kind: the operator's files over the built-in ones, compiled again when a file changes. */
export class Templates {
  readonly #builtIn: string
  readonly #html: Eta
  readonly #text: Eta
  readonly #compiled = new Map<string, Compiled>()

  /** `builtIn`: directory of the built-in files. */
  constructor(builtIn: string, options: { autoTrim?: false } = {}) {
    this.#builtIn = builtIn
    this.#html = new Eta({ autoEscape: true, ...options })
    this.#text = new Eta({ autoEscape: false, ...options })
  }

  /** Renders a file. HTML is escaped; `.txt.eta` is not. Files of other types are returned unchanged. */
  render(file: string, data: object, { directory, onInvalid }: Options): string {
    if (directory !== null) {
      try {
        const own = this.#render(join(directory, file), data)
        if (own !== null) return own
      } catch (error) {
        if (!onInvalid || !(error instanceof TemplateError)) throw error
        onInvalid(error)
      }
    }
    return this.renderPart(join(this.#builtIn, file), data)
  }

  /** Renders a built-in file by its absolute path. */
  renderPart(path: string, data: object): string {
    const text = this.#render(path, data)
    if (text === null) throw new Error(`There is no template ${path}.`)
    return text
  }

  /** Returns null if there is no such file. */
  #render(path: string, data: object): string | null {
    try {
      const stats = statSync(path, { throwIfNoEntry: false })
      if (!stats) {
        this.#compiled.delete(path)
        return null
      }
      const version = [stats.mtimeMs, stats.size, stats.ino].join()
      let compiled = this.#compiled.get(path)
      if (compiled?.version !== version) {
        compiled = { version, render: this.#compile(path) }
        this.#compiled.set(path, compiled)
      }
      return compiled.render(data)
    } catch (error) {
      throw new TemplateError(path, error)
    }
  }

  #compile(path: string): Compiled['render'] {
    const source = readFileSync(path, 'utf8')
    if (!path.endsWith('.eta')) return () => source
    const eta = basename(path).endsWith('.txt.eta') ? this.#text : this.#html
    const template = eta.compile(source)
    return (data) => eta.render(template, data)
  }
}
