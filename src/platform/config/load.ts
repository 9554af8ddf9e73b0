import { existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { resolve as absolute } from 'node:path'
import { crossFindings } from './checks/checks.ts'
import { clientWarnings } from './checks/client-warnings.ts'
import { guardWarnings } from './checks/guard.ts'
import { documentWarnings } from './checks/sections.ts'
import { themeWarnings } from './checks/theme-contrast.ts'
import { ConfigError, describe, type Problem } from './config-error.ts'
import { convertUnits } from './convert.ts'
import { deepFreeze } from './current.ts'
import { overlay } from './environment.ts'
import { fileReason } from './file-reason.ts'
import { readSource } from './files.ts'
import { areRelated, type Finding, type Path, type PlaceOf, pointer, printed } from './findings.ts'
import { productionFindings, unstatedEnvironment } from './production.ts'
import { resolveConfig } from './resolve.ts'
import { type Config, rootSchema, type Settings } from './schema.ts'
import { settle } from './settle.ts'
import { type Place, readSources } from './sources.ts'
import type { Env } from './substitute.ts'
import { createValidator } from './validate.ts'
import { warningsOf } from './warnings.ts'

/** The configuration without `SVC_CONFIG`: the first of these that exists. */
const defaultFiles = ['svc.yaml', 'config/svc.yaml']

/** Returns the configuration file, which need not exist, and whether `SVC_CONFIG` names it. */
function configFile(env: Env, cwd: string): { file: string; isNamed: boolean } {
  if (env.SVC_CONFIG) return { file: env.SVC_CONFIG, isNamed: true }
  const found = defaultFiles.find((file) => existsSync(absolute(cwd, file)))
  return { file: found ?? 'config/svc.yaml', isNamed: false }
}

/** Reads a text file by absolute path. */
export type ReadFile = (path: string) => string

interface Options {
  env?: Env
  /** Base directory of relative paths. */
  cwd?: string
  /** Overrides the configured file. */
  file?: string | undefined
  read?: ReadFile
}

/** The loaded snapshot, its file and its warnings. */
export interface Loaded {
  config: Config
  /** The settings that the snapshot was derived from. */
  settings: Settings
  /** File name as given, or null without a file. */
  file: string | null
  /** Whether the file is empty. */
  isEmpty: boolean
  placeOf: PlaceOf
  /** Where a value was set; null for a default. */
  originOf: (path: Path) => Origin | null
  /** Names of the files besides the main one. */
  others: string[]
  warnings: string[]
}

/** Where a value was set: in a file, perhaps with variables, or by an environment variable. */
type Origin = (Place & { usesEnvironment: boolean }) | { variable: string }

const validate = await createValidator(rootSchema)

/** Loads the configuration from the environment and the file it names. Throws a ConfigError with all problems. */
export function loadConfig(options: Options = {}): Loaded {
  const { env = process.env, cwd = process.cwd(), read = readSource } = options
  const { file, isNamed } = options.file === undefined ? configFile(env, cwd) : { file: options.file, isNamed: true }
  const found = readText(file, (path) => read(absolute(cwd, path)), isNamed)
  const text = found ?? ''
  const parsed = parseConfig({ text, file, env, cwd, read })
  return { ...parsed, file: found === null ? null : file, isEmpty: text.trim() === '' }
}

/** Returns the absolute path of the configuration file, which need not exist. */
export const configPath = (env: Env = process.env, cwd = process.cwd()): string =>
  absolute(cwd, configFile(env, cwd).file)

/** Returns the directory of the control sockets: `SVC_RUN_DIR`, or one of this user for temporary files. */
export const runDirectory = (env: Env = process.env): string =>
  absolute(env.SVC_RUN_DIR || `${tmpdir()}/svc-${process.getuid?.() ?? 0}`)

/** Returns the keys of a Laravel application to import from, and the password of its database, from the environment. */
export const importSecrets = (env: Env = process.env): { appKey: string | null; password: string | null } => ({
  appKey: env.LARAVEL_APP_KEY || null,
  password: env.MYSQL_PWD || null,
})

/** Returns whether to send traces, from OpenTelemetry's variables. Throws a ConfigError if they are invalid. */
export function wantsTraces(env: Env = process.env): boolean {
  if (env.OTEL_SDK_DISABLED?.toLowerCase() === 'true' || env.OTEL_TRACES_EXPORTER === 'none') return false
  const keys = ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'OTEL_EXPORTER_OTLP_ENDPOINT'].filter((key) => env[key])
  const unusable = keys.filter((key) => !/^https?:$/.test(URL.parse(env[key] ?? '')?.protocol ?? ''))
  const message = 'must be the http or https URL of a collector'
  if (unusable.length > 0)
    throw new ConfigError(unusable.map((key) => ({ file: 'environment', line: 0, key, message })))
  return keys.length > 0
}

/** A configuration text and everything that its meaning depends on. */
interface Given {
  text: string
  file: string
  env: Env
  cwd: string
  read?: ReadFile
}

/** Parses and validates a configuration text, with the environment, into a frozen snapshot. */
export function parseConfig({ text, file, env, cwd, read = readSource }: Given): Omit<Loaded, 'file' | 'isEmpty'> {
  const source = readSources({ text, file, env, cwd, read })
  if (source.syntax.length > 0) throw new ConfigError(source.syntax, /^\s+environment:\s*["']?production/m.test(text))
  const { value: raw, names } = overlay(source.value, env)
  const settled = settle(
    raw,
    rootSchema,
    (place) => source.substituted.has(place) || isUnder(place, names),
    (path) => read(absolute(cwd, path)),
  )
  const validated = validate(settled.value ?? {})
  const settings = deepFreeze(convertUnits(validated.value, rootSchema) as Settings)
  const placeOf: PlaceOf = (path) => {
    const found = source.places.get(pointer(path))
    return found ? { line: found.line, file: found.file === file ? null : found.file } : null
  }
  const config = deepFreeze(resolveConfig(settings, cwd, placeOf))
  const unread = [...source.findings, ...settled.findings]
  // An unreadable value is reported once, without the errors that follow from it.
  const broken = [...unread, ...unrelated(validated.findings, unread)]
  const between = [...unstatedEnvironment(settings), ...findingsOf(config)]
  const findings = [...broken, ...withoutEffects(unrelated(between, broken), broken)]
  const places = { file, places: source.places, names }
  const problems = [...findings.map((finding) => toProblem(finding, places)), ...source.problems]
  if (problems.length > 0)
    throw new ConfigError(inOrder(problems, [file, ...source.others]), config.app.environment === 'production')
  const hints = [
    ...clientWarnings(config),
    ...documentWarnings(config),
    ...guardWarnings(config),
    ...themeWarnings(config),
  ].map((finding) => toProblem(finding, places))
  const warnings = inOrder(hints, [file, ...source.others]).map(describe)
  const originOf = (path: Path): Origin | null => {
    const place = pointer(path)
    const variable = [...names].find(([name]) => isUnder(place, new Map([[name, '']])))?.[1]
    if (variable !== undefined) return { variable }
    const found = source.places.get(place)
    const isIn = (each: string) => each === place || each.startsWith(`${place}/`)
    return found ? { ...found, usesEnvironment: [...source.substituted].some(isIn) } : null
  }
  return {
    config,
    settings,
    placeOf,
    originOf,
    others: source.others,
    warnings: [...warnings, ...warningsOf(config)],
  }
}

/** Sorts problems by file and line. */
const inOrder = (problems: readonly Problem[], files: readonly string[]): Problem[] =>
  problems.toSorted((one, other) => files.indexOf(one.file) - files.indexOf(other.file) || one.line - other.line)

/** Returns problems between keys that are valid on their own. */
export const findingsOf = (config: Config): Finding[] => [...crossFindings(config), ...productionFindings(config)]

/** Returns the text of the file, or null if an optional file does not exist. */
function readText(file: string, read: ReadFile, isNeeded: boolean): string | null {
  try {
    return read(file)
  } catch (error) {
    if (!isNeeded && error instanceof Error && 'code' in error && error.code === 'ENOENT') return null
    const message = `the configuration file cannot be read (${fileReason(error)})`
    throw new ConfigError([{ file, line: 0, key: '', message }])
  }
}

/** Drops findings whose path equals, contains or is within the path of another finding, which probably caused them. */
function unrelated(findings: readonly Finding[], others: readonly Finding[]): Finding[] {
  const places = others.map(({ path }) => pointer(path))
  return findings.filter(({ path }) => !places.some((place) => areRelated(place, pointer(path))))
}

/** Drops findings that name the key of another finding, such as `app.url`, because they may follow from it. */
function withoutEffects(findings: readonly Finding[], causes: readonly Finding[]): Finding[] {
  const keys = causes.filter(({ path }) => path.length > 1).map(({ path }) => printed(path))
  return findings.filter(({ message }) => !keys.some((key) => message.includes(key)))
}

function isUnder(place: string, names: ReadonlyMap<string, string>): boolean {
  return [...names.keys()].some((name) => place === name || place.startsWith(`${name}/`))
}

/** Places of values by JSON pointer: in files, and variables of the environment. */
interface Places {
  file: string
  places: ReadonlyMap<string, Place>
  names: ReadonlyMap<string, string>
}

function toProblem({ path, message, first }: Finding, { file, places, names }: Places): Problem {
  const known = first && places.get(pointer(first))
  const text = known ? `${message} (first in ${known.file}:${known.line})` : message
  // A missing key is reported at the nearest enclosing position.
  for (let length = path.length; length >= 0; length--) {
    const place = pointer(path.slice(0, length))
    const name = names.get(place)
    if (name !== undefined) return { file: 'environment', line: 0, key: name, message: text }
    const found = places.get(place)
    if (found !== undefined) return { ...found, key: printed(path), message: text }
  }
  return { file, line: 1, key: printed(path), message: text }
}
