import { resolve as absolute, dirname, join } from 'node:path'
import type { Problem } from './config-error.ts'
import { readDocument, type Source } from './document.ts'
import { fileReason } from './file-reason.ts'
import { filesOf, type MatchedFile } from './files.ts'
import { type Finding, type Path, pointer, printed } from './findings.ts'
import type { Env } from './substitute.ts'
import { isMapping } from './walk.ts'

/** Where a value is written. */
export interface Place {
  file: string
  line: number
}

/** All files of a configuration, as one value. */
export interface Sources {
  value: unknown
  /** Places of values by JSON pointer. */
  places: Map<string, Place>
  /** JSON pointers of texts that contain values from the environment. */
  substituted: Set<string>
  findings: Finding[]
  /** Problems whose place is known, such as duplicate keys. */
  problems: Problem[]
  /** YAML syntax errors. If there are any, svc checks nothing else. */
  syntax: Problem[]
  /** Names of the files besides the main one. */
  others: string[]
}

interface Given {
  text: string
  /** Name of the main file. */
  file: string
  env: Env
  cwd: string
  read: (path: string) => string
}

/** Lists that several files share. Any other key belongs to one file. */
const shared = ['clients', 'webhooks']

/** Reads the main file and the files that it names. */
export function readSources({ text, file, env, cwd, read }: Given): Sources {
  const reader = new SourceReader(env)
  reader.add(readDocument(text, env), file)
  const { value } = reader.all
  if (!isMapping(value)) return reader.all
  const folder = dirname(file)
  const known = new Set([absolute(cwd, file)])
  for (const [index, name] of textsOf(value.include).entries()) {
    const named = absolute(folder, name) === name ? name : join(folder, name)
    const path = absolute(cwd, named)
    if (known.has(path)) reader.refuse(['include', index], `must be unique (found "${name}" twice, or this file)`)
    else reader.open(['include', index], `the file ${named}`, () => reader.include(read(path), named))
    known.add(path)
  }
  const directory = value.clients_directory
  if (typeof directory === 'string' && directory !== '') {
    const named = absolute(folder, directory) === directory ? directory : join(folder, directory)
    reader.open(['clients_directory'], `the directory ${named}`, () => {
      const files: MatchedFile[] = JSON.parse(read(filesOf(absolute(cwd, named))))
      for (const { name, problem } of files) {
        const each = join(named, name)
        if (problem !== null) reader.report({ file: each, line: 0 }, problem)
        else
          reader.open(['clients_directory'], `the file ${each}`, () => reader.client(read(absolute(cwd, each)), each))
      }
    })
  }
  return reader.all
}

const textsOf = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((item): item is string => typeof item === 'string' && item !== '') : []

class SourceReader {
  readonly all: Sources = {
    value: undefined,
    places: new Map(),
    substituted: new Set(),
    findings: [],
    problems: [],
    syntax: [],
    others: [],
  }
  readonly #env: Env

  constructor(env: Env) {
    this.#env = env
  }

  /** Runs `read`, and reports a file that cannot be read. */
  open(path: Path, what: string, read: () => void): void {
    try {
      read()
    } catch (error) {
      this.refuse(path, `${what} cannot be read (${fileReason(error)})`)
    }
  }

  refuse(path: Path, message: string): void {
    this.all.findings.push({ path, message })
  }

  report({ file, line }: Place, message: string, path: Path = []): void {
    this.all.problems.push({ file, line, key: printed(path), message })
  }

  /** Adds the lines, variables and problems of a file. `move` returns the path of a value in the whole configuration. */
  add(source: Source, file: string, move = (path: Path): Path => path): void {
    const moved = (place: string) => pointer(move(stepsOf(place)))
    for (const [place, line] of source.lines) {
      // If several files have the same section, the place of the first one counts.
      const where = moved(place)
      if (!this.all.places.has(where)) this.all.places.set(where, { file, line })
    }
    for (const place of source.substituted) this.all.substituted.add(moved(place))
    for (const { path, message } of source.findings) this.refuse(move(path), message)
    for (const { path, line, message } of source.duplicates) this.report({ file, line }, message, move(path))
    for (const problem of source.syntax) this.all.syntax.push({ file, key: '', ...problem })
    this.all.value ??= source.value
  }

  /** Merges a file of `include`. */
  include(text: string, file: string): void {
    const source = readDocument(text, this.#env)
    this.all.others.push(file)
    const { value } = source
    if (value !== undefined && !isMapping(value)) {
      this.report({ file, line: 1 }, 'must be a mapping of sections')
      return
    }
    const root = this.all.value as Record<string, unknown>
    const lengths = new Map(shared.map((key) => [key, Array.isArray(root[key]) ? root[key].length : 0]))
    const lineOf = (path: Path) => source.lines.get(pointer(path)) ?? 1
    for (const key of ['include', 'clients_directory']) {
      if (value?.[key] === undefined) continue
      this.report({ file, line: lineOf([key]) }, 'is allowed only in the main file', [key])
      delete value[key]
    }
    this.all.value = this.#merged(root, value ?? {}, [], { file, lineOf })
    this.add(source, file, ([section, index, ...rest]) =>
      shared.includes(String(section)) && index !== undefined
        ? [section as string, Number(index) + (lengths.get(String(section)) ?? 0), ...rest]
        : [section, index, ...rest].filter((step) => step !== undefined),
    )
  }

  /** Adds the clients of a file of `clients_directory`. */
  client(text: string, file: string): void {
    const source = readDocument(text, this.#env)
    this.all.others.push(file)
    const { value } = source
    const root = this.all.value as Record<string, unknown>
    const before = root.clients ?? []
    const isList = Array.isArray(value)
    if (source.syntax.length === 0 && !isList && !isMapping(value)) {
      const message = value == null ? 'the file is empty' : 'must be a client or a list of clients'
      this.report({ file, line: 1 }, message)
      return
    }
    if (!Array.isArray(before)) return
    for (const place of source.substituted) {
      const path = stepsOf(place)
      if (path.at(-1) === 'secret') continue
      // Other teams write these files, and the names and URLs of a client are public: they could reveal any variable.
      this.report(
        { file, line: source.lines.get(place) ?? 1 },
        'must not refer to the environment; only secret may',
        path,
      )
    }
    this.add(source, file, (path) => {
      const [index, ...rest] = path
      return isList && index !== undefined
        ? ['clients', Number(index) + before.length, ...rest]
        : ['clients', before.length, ...path]
    })
    this.all.value = { ...root, clients: [...before, ...[value].flat()] }
  }

  /** Returns two values of one path as one. */
  #merged(
    first: unknown,
    second: unknown,
    path: Path,
    from: { file: string; lineOf: (path: Path) => number },
  ): unknown {
    if (isMapping(first) && isMapping(second)) {
      const both = Object.entries(second).map(([key, value]) => [
        key,
        Object.hasOwn(first, key) ? this.#merged(first[key], value, [...path, key], from) : value,
      ])
      return { ...first, ...Object.fromEntries(both) }
    }
    if (path.length === 1 && shared.includes(String(path[0])) && Array.isArray(first) && Array.isArray(second)) {
      return [...first, ...second]
    }
    const known = this.all.places.get(pointer(path))
    const place = { file: from.file, line: from.lineOf(path) }
    this.report(place, `is a duplicate key (first in ${known?.file}:${known?.line}); remove one of them`, path)
    return first
  }
}

const stepsOf = (place: string): string[] =>
  place
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
