import { type Document, isAlias, isMap, isScalar, isSeq, LineCounter, type Node, type Pair, parseDocument } from 'yaml'
import { type Finding, type Path, pointer } from './findings.ts'
import { type Env, substitute } from './substitute.ts'

/** What a YAML text holds, and where each value of it stands. */
export interface Source {
  value: unknown
  /** Line by JSON pointer. */
  lines: Map<string, number>
  /** Pointers of texts that came, wholly or in part, from the environment. */
  substituted: Set<string>
  findings: Finding[]
  /** What is wrong with the YAML itself; nothing else can be said then. */
  syntax: { line: number; message: string }[]
}

const MAX_DEPTH = 32

/** Reads a YAML text, with `${NAME}` replaced; it never throws. */
export function readDocument(text: string, env: Env): Source {
  const counter = new LineCounter()
  // Duplicate keys are told here, with their path; the library's pretty errors would quote the text, secrets and all.
  const document = parseDocument(text, { lineCounter: counter, uniqueKeys: false, prettyErrors: false })
  const reader = new Reader(document, counter, env)
  const syntax = document.errors.map(({ code, message, pos }) => ({
    line: counter.linePos(pos[0]).line,
    message: `not valid YAML: ${code === 'UNEXPECTED_TOKEN' ? 'something unexpected stands here' : unquoted(message)}`,
  }))
  const value = syntax.length > 0 ? undefined : reader.read(document.contents, [])
  return { value, lines: reader.lines, substituted: reader.substituted, findings: reader.findings, syntax }
}

/** What a library message says before it begins to quote the text. */
function unquoted(message: string): string {
  return message.replace(/[:\n].*$/s, '').replace(/sequence .*$/, 'sequence')
}

class Reader {
  readonly lines = new Map<string, number>()
  readonly substituted = new Set<string>()
  readonly findings: Finding[] = []
  readonly #document: Document.Parsed
  readonly #counter: LineCounter
  readonly #env: Env

  constructor(document: Document.Parsed, counter: LineCounter, env: Env) {
    this.#document = document
    this.#counter = counter
    this.#env = env
  }

  read(node: Node | null, path: Path): unknown {
    if (path.length > MAX_DEPTH) return this.#refuse(path, 'must not be nested this deep')
    const line = this.#lineOf(node)
    if (line !== undefined && !this.lines.has(pointer(path))) this.lines.set(pointer(path), line)
    if (isAlias(node)) return this.read(node.resolve(this.#document) ?? null, path)
    if (isMap(node)) return this.#mapping(node.items as Pair<Node, Node | null>[], path)
    if (isSeq(node)) return node.items.map((item, index) => this.read(item as Node, [...path, index]))
    if (!isScalar(node)) return undefined
    if (typeof node.value === 'string') return this.#text(node.value, path)
    // A key with nothing after it is not set; an explicit null is a value.
    if (node.value === null && !node.source) return undefined
    return node.value
  }

  #mapping(pairs: readonly Pair<Node, Node | null>[], path: Path): unknown {
    const entries = new Map<string, unknown>()
    for (const { key, value } of pairs) {
      const name = isScalar(key) ? String(key.value) : '?'
      const here = [...path, name]
      const line = this.#lineOf(key) ?? 0
      if (entries.has(name)) {
        const first = this.lines.get(pointer(here))
        this.lines.set(pointer(here), line)
        this.#refuse(here, `must be given once only (first on line ${first})`)
        continue
      }
      this.lines.set(pointer(here), line)
      entries.set(name, this.read(value, here))
    }
    return Object.fromEntries([...entries].filter(([, value]) => value !== undefined))
  }

  #text(written: string, path: Path): string {
    const { text, changed, problems } = substitute(written, this.#env)
    if (changed) this.substituted.add(pointer(path))
    for (const problem of problems) this.#refuse(path, problem)
    return text
  }

  #refuse(path: Path, message: string): undefined {
    this.findings.push({ path, message })
  }

  #lineOf(node: Node | null): number | undefined {
    return node?.range ? this.#counter.linePos(node.range[0]).line : undefined
  }
}
