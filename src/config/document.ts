import { isAlias, isMap, isScalar, isSeq, LineCounter, type Node, type Pair, parseDocument } from 'yaml'
import { type Finding, type Path, pointer } from './findings.ts'
import { type Env, maskReferences, substitute, unmaskReferences } from './substitute.ts'

/** What a YAML text holds, and where each value of it stands. */
export interface Source {
  value: unknown
  /** Line by JSON pointer. */
  lines: Map<string, number>
  /** Pointers of texts that came, wholly or in part, from the environment. */
  substituted: Set<string>
  findings: Finding[]
  /** Keys that stand twice, each with its own line. */
  duplicates: (Finding & { line: number })[]
  /** What is wrong with the YAML itself; nothing else can be said then. */
  syntax: { line: number; message: string }[]
}

/** Reads a YAML text, with `${NAME}` replaced. */
export function readDocument(text: string, env: Env): Source {
  const counter = new LineCounter()
  // Duplicate keys are told here, with their path; the library's pretty errors would quote the text, secrets and all.
  const options = { lineCounter: counter, uniqueKeys: false, prettyErrors: false }
  const document = parseDocument(maskReferences(text), options)
  const reader = new Reader(counter, env)
  const syntax = document.errors.map((error) => ({
    line: counter.linePos(error.pos[0]).line,
    message: `is not valid YAML: ${WITHOUT_QUOTES[error.code] ?? error.message}`,
  }))
  const value = syntax.length > 0 ? undefined : reader.read(document.contents, [])
  return { value, ...reader.seen, syntax }
}

/** Library messages that would repeat what stands in the file, secrets and all. */
const WITHOUT_QUOTES: Readonly<Record<string, string>> = {
  UNEXPECTED_TOKEN: 'something unexpected stands here',
  BAD_DQ_ESCAPE: 'a text in double quotes holds an unknown escape sequence',
}

class Reader {
  readonly seen: Omit<Source, 'value' | 'syntax'> = {
    lines: new Map(),
    substituted: new Set(),
    findings: [],
    duplicates: [],
  }
  readonly #counter: LineCounter
  readonly #env: Env

  constructor(counter: LineCounter, env: Env) {
    this.#counter = counter
    this.#env = env
  }

  read(node: Node | null, path: Path): unknown {
    const place = pointer(path)
    if (!this.seen.lines.has(place)) this.seen.lines.set(place, this.#lineOf(node))
    if (isAlias(node)) return this.#refuse(path, 'must not be an alias: write the value out')
    if (isMap(node)) return this.#mapping(node.items as Pair<Node, Node | null>[], path)
    if (isSeq(node)) return node.items.map((item, index) => this.read(item as Node, [...path, index]) ?? null)
    if (!isScalar(node)) return undefined
    if (typeof node.value === 'string') return this.#text(unmaskReferences(node.value), path)
    // A key with nothing after it is not set; an explicit null is a value.
    return node.value === null && !node.source ? undefined : node.value
  }

  #mapping(pairs: readonly Pair<Node, Node | null>[], path: Path): unknown {
    const entries = new Map<string, unknown>()
    for (const { key, value } of pairs) {
      const name = isScalar(key) ? unmaskReferences(String(key.value)) : '?'
      const here = [...path, name]
      const line = this.#lineOf(key)
      if (entries.has(name)) {
        const first = this.seen.lines.get(pointer(here))
        this.seen.duplicates.push({
          path: here,
          line,
          message: `must be given once only (first on line ${first})`,
        })
        continue
      }
      this.seen.lines.set(pointer(here), line)
      entries.set(name, this.read(value, here))
    }
    return Object.fromEntries([...entries].filter(([, value]) => value !== undefined))
  }

  #text(written: string, path: Path): string {
    const { text, changed, problems } = substitute(written, this.#env)
    if (changed) this.seen.substituted.add(pointer(path))
    for (const problem of problems) this.#refuse(path, problem)
    // No path, URL or header can hold one, and each would fail in its own way.
    if (text.includes('\0')) this.#refuse(path, 'must not contain a NUL character')
    return text.replaceAll('\0', '')
  }

  #refuse(path: Path, message: string): undefined {
    this.seen.findings.push({ path, message })
  }

  #lineOf(node: Node | null): number {
    return this.#counter.linePos(node?.range?.[0] ?? 0).line
  }
}
