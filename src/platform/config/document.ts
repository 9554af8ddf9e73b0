import { isAlias, isMap, isScalar, isSeq, LineCounter, type Node, type Pair, parseDocument } from 'yaml'
import { type Finding, type Path, pointer } from './findings.ts'
import { type Env, maskReferences, substitute, unmaskReferences } from './substitute.ts'

/** A parsed YAML text and the positions of its values. */
export interface Source {
  value: unknown
  /** Line by JSON pointer. */
  lines: Map<string, number>
  /** JSON pointers of texts that contain values from the environment. */
  substituted: Set<string>
  findings: Finding[]
  /** Duplicate keys, each with its line. */
  duplicates: (Finding & { line: number })[]
  /** YAML syntax errors. If there are any, svc checks nothing else. */
  syntax: { line: number; message: string }[]
}

/** Parses a YAML text after replacing `${NAME}`. */
export function readDocument(text: string, env: Env): Source {
  const counter = new LineCounter()
  // svc reports duplicate keys itself, with their path. The library's pretty errors would quote the text, including
  // secrets.
  const options = { lineCounter: counter, uniqueKeys: false, prettyErrors: false }
  const document = parseDocument(maskReferences(text), options)
  const reader = new Reader(counter, env)
  const errors = document.errors.map((error) => ({
    line: counter.linePos(error.pos[0]).line,
    message: `is not valid YAML: ${OWN_MESSAGES[error.code] ?? error.message}`,
  }))
  // The parser often reports one mistake several times.
  const syntax = errors.filter(({ line }, index) => errors.findIndex((other) => other.line === line) === index)
  const value = syntax.length > 0 ? undefined : reader.read(document.contents, [])
  return { value, ...reader.seen, syntax }
}

/** Replaces library messages that would quote the file, including secrets, or that do not say what to change. */
const OWN_MESSAGES: Readonly<Record<string, string>> = {
  TAB_AS_INDENT: 'a tab indents this line; use spaces',
  BLOCK_AS_IMPLICIT_KEY:
    'this line or the line above has the wrong indentation, or a text with a colon needs quotation marks',
  UNEXPECTED_TOKEN: 'unexpected token',
  BAD_DQ_ESCAPE: 'unknown escape sequence in a double-quoted string',
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
    if (isAlias(node)) return this.#refuse(path, 'must not be an alias; repeat the value')
    if (isMap(node)) return this.#mapping(node.items as Pair<Node, Node | null>[], path)
    if (isSeq(node)) return node.items.map((item, index) => this.read(item as Node, [...path, index]) ?? null)
    if (!isScalar(node)) return undefined
    if (typeof node.value === 'string') return this.#text(unmaskReferences(node.value), path)
    // `key:` without a value means that the key is not set. `key: null` sets it to null.
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
          message: `is a duplicate key (first on line ${first}); remove one of them`,
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
    // Paths, URLs and headers cannot contain NUL, and each would fail differently.
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
