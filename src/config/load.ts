import { existsSync, readFileSync } from 'node:fs'
import { resolve as absolute } from 'node:path'
import { crossFindings } from './checks/checks.ts'
import { ConfigError, type Problem } from './config-error.ts'
import { convertUnits } from './convert.ts'
import { deepFreeze } from './current.ts'
import { readDocument } from './document.ts'
import { overlay } from './environment.ts'
import { areRelated, type Finding, pointer, printed } from './findings.ts'
import { notBuiltWarnings } from './not-built.ts'
import { productionFindings } from './production.ts'
import { resolveConfig } from './resolve.ts'
import { type Config, configSchema, type Settings } from './schema.ts'
import { settle } from './settle.ts'
import type { Env } from './substitute.ts'
import { createValidator } from './validate.ts'
import type { Schema } from './walk.ts'

const DEFAULT_FILE = 'config/svc.yaml'

interface Options {
  env?: Env
  /** Relative paths of the configuration are resolved against it. */
  cwd?: string
}

/** What was loaded: a frozen snapshot, the file it came from, and what an operator should know. */
export interface Loaded {
  config: Config
  /** The file's name as it was given; null when there is none. */
  file: string | null
  warnings: string[]
}

const schema = configSchema as unknown as Schema
const validate = createValidator(schema)

/** Loads the configuration from the environment and the file it names; throws a ConfigError with everything wrong. */
export function loadConfig({ env = process.env, cwd = process.cwd() }: Options = {}): Loaded {
  const named = env.SVC_CONFIG || undefined
  const file = named ?? (existsSync(absolute(cwd, DEFAULT_FILE)) ? DEFAULT_FILE : null)
  const { config, warnings } = parseConfig({
    text: file === null ? '' : readText(file, cwd),
    file: file ?? DEFAULT_FILE,
    env,
    cwd,
  })
  return { config, file, warnings }
}

/** The level of the log, from `LOG_LEVEL`; an unknown one is `info`. */
export function logLevel(env: Env = process.env): string {
  const level = env.LOG_LEVEL ?? ''
  return ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'].includes(level) ? level : 'info'
}

/** The text of a configuration file and everything else that its meaning depends on. */
interface Given {
  text: string
  file: string
  env: Env
  cwd: string
}

/** Turns the text of a configuration file and an environment into a frozen snapshot. */
export function parseConfig({ text, file, env, cwd }: Given): Omit<Loaded, 'file'> {
  const source = readDocument(text, env)
  if (source.syntax.length > 0) throw new ConfigError(source.syntax.map((problem) => ({ file, key: '', ...problem })))
  const { value: raw, names } = overlay(source.value, env)
  const settled = settle(raw, schema, (place) => source.substituted.has(place) || isUnder(place, names), cwd)
  const validated = validate(settled.value ?? {})
  const config = deepFreeze(resolveConfig(convertUnits(validated.value, schema) as Settings, cwd))
  const unread = [...source.findings, ...settled.findings]
  // What could not be read is told as that, not also as what is missing because of it.
  const broken = [...unread, ...unrelated(validated.findings, unread)]
  const findings = [...broken, ...unrelated([...crossFindings(config), ...productionFindings(config)], broken)]
  const place = { file, lines: source.lines, names }
  const problems = [
    ...findings.map((finding) => toProblem(finding, place)),
    ...source.duplicates.map(({ path, line, message }) => ({ file, line, key: printed(path), message })),
  ]
  if (problems.length > 0) throw new ConfigError(problems.sort((first, second) => first.line - second.line))
  return { config, warnings: [...portWarnings(config), ...notBuiltWarnings(settled.value, schema)] }
}

/** A port of its own needs an address of its own: links and the same-origin pages would lead elsewhere. */
function portWarnings({ app, server }: Config): string[] {
  if (app.url !== schema.properties?.app?.properties?.url?.default || server.port === 0) return []
  if (String(server.port) === new URL(app.url).port) return []
  return [`app.url is still ${app.url}, but svc listens on port ${server.port}: set app.url to what browsers use`]
}

function readText(file: string, cwd: string): string {
  try {
    return readFileSync(absolute(cwd, file), 'utf8')
  } catch (error) {
    const reason = error instanceof Error && 'code' in error ? error.code : error
    throw new ConfigError([{ file, line: 0, key: '', message: `the configuration file cannot be read (${reason})` }])
  }
}

/** Those findings that do not merely follow from others about the same place. */
function unrelated(findings: readonly Finding[], others: readonly Finding[]): Finding[] {
  const places = others.map(({ path }) => pointer(path))
  return findings.filter(({ path }) => !places.some((place) => areRelated(place, pointer(path))))
}

function isUnder(place: string, names: ReadonlyMap<string, string>): boolean {
  return [...names.keys()].some((name) => place === name || place.startsWith(`${name}/`))
}

/** Where values were written: lines of the file, and variables of the environment, by JSON pointer. */
interface Places {
  file: string
  lines: ReadonlyMap<string, number>
  names: ReadonlyMap<string, string>
}

function toProblem({ path, message }: Finding, { file, lines, names }: Places): Problem {
  // The nearest place that exists: a missing key is told where its section stands.
  for (let length = path.length; length >= 0; length--) {
    const place = pointer(path.slice(0, length))
    const name = names.get(place)
    if (name !== undefined) return { file: 'environment', line: 0, key: name, message }
    const line = lines.get(place)
    if (line !== undefined) return { file, line, key: printed(path), message }
  }
  return { file, line: 1, key: printed(path), message }
}
