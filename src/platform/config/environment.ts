import { type Path, pointer } from './findings.ts'
import { isLoopback } from './hosts.ts'
import { rootSchema } from './schema.ts'
import type { Env } from './substitute.ts'
import { isMapping } from './walk.ts'

interface Overlay {
  /** The file's value, overridden by the environment. */
  value: unknown
  /** Variable name by the JSON pointer of the value it sets. */
  names: Map<string, string>
}

interface Variable {
  name: string
  path: readonly [string, string?]
  read: (text: string) => unknown
}

const asIs = (text: string) => (text === '' ? undefined : text)
const commaList = (text: string) =>
  text
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '')

/** As in other programs, the scheme is optional. */
const proxyUrl = (text: string) => (text === '' || text.includes('://') ? asIs(text) : `http://${text}`)
const spacedList = (text: string) => (text.trim() === '' ? undefined : text.trim().split(/[,\s]+/))

/** The environment variables that override the file. */
export const VARIABLES: readonly Variable[] = [
  { name: 'SVC_URL', path: ['app', 'url'], read: asIs },
  { name: 'PORT', path: ['server', 'port'], read: asIs },
  { name: 'DATABASE_URL', path: ['database', 'url'], read: asIs },
  { name: 'REDIS_URL', path: ['redis', 'url'], read: asIs },
  { name: 'https_proxy', path: ['outbound', 'proxy'], read: proxyUrl },
  { name: 'HTTPS_PROXY', path: ['outbound', 'proxy'], read: proxyUrl },
  { name: 'no_proxy', path: ['outbound', 'no_proxy'], read: spacedList },
  { name: 'NO_PROXY', path: ['outbound', 'no_proxy'], read: spacedList },
  { name: 'LOG_LEVEL', path: ['log', 'level'], read: asIs },
  { name: 'SVC_SECRET', path: ['app', 'secret'], read: (text) => (text === '' ? undefined : commaList(text)) },
  // An empty list is meaningful: only app.url itself is stateful then.
  { name: 'SVC_STATEFUL_DOMAINS', path: ['stateful'], read: commaList },
]

/** Overrides the file's values with those of the environment. */
export function overlay(value: unknown, env: Env): Overlay {
  if (value !== undefined && !isMapping(value)) return { value, names: new Map() }
  const root: Record<string, unknown> = { ...value }
  const names = new Map<string, string>()
  const moved = movedUrl(root, env)
  if (moved !== null) {
    place(root, ['app', 'url'], moved)
    names.set(pointer(['app', 'url']), 'PORT')
  }
  for (const { name, path, read } of VARIABLES) {
    const given = env[name]
    const set = given === undefined ? undefined : read(given)
    if (set === undefined) continue
    place(root, path, set)
    names.set(pointer(path as Path), name)
  }
  return { value: root, names }
}

/**
 * Returns the loopback address of a developer's svc on the port of `PORT`; null if the address does not belong to the port
 * that the variable replaces, for example because a proxy is in front.
 */
function movedUrl(root: Record<string, unknown>, env: Env): string | null {
  const { url = schemaDefault('app', 'url'), environment } = section(root.app)
  const { port = schemaDefault('server', 'port') } = section(root.server)
  if (environment === 'production' || !/^[1-9]\d{0,4}$/.test(env.PORT ?? '') || typeof url !== 'string') return null
  const parsed = URL.parse(url)
  if (parsed?.protocol !== 'http:' || !isLoopback(parsed.hostname) || parsed.port !== String(port)) return null
  parsed.port = env.PORT ?? ''
  return parsed.origin
}

const section = (value: unknown): Record<string, unknown> => (isMapping(value) ? value : {})

const schemaDefault = (name: string, key: string): unknown => rootSchema.properties?.[name]?.properties?.[key]?.default

function place(root: Record<string, unknown>, [section, key]: Variable['path'], value: unknown): void {
  if (key === undefined) root[section] = value
  else {
    const current = root[section]
    // Keeps a section that is not a mapping, so that validation reports it.
    if (current === undefined || isMapping(current)) root[section] = { ...current, [key]: value }
  }
}
