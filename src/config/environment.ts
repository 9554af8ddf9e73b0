import { type Path, pointer } from './findings.ts'
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

/** The environment variables that override the file. */
export const VARIABLES: readonly Variable[] = [
  { name: 'PORT', path: ['server', 'port'], read: asIs },
  { name: 'DATABASE_URL', path: ['database', 'url'], read: asIs },
  { name: 'REDIS_URL', path: ['redis', 'url'], read: asIs },
  { name: 'SVC_SECRET', path: ['app', 'secret'], read: (text) => (text === '' ? undefined : commaList(text)) },
  // An empty list is meaningful: only app.url itself is stateful then.
  { name: 'SVC_STATEFUL_DOMAINS', path: ['stateful'], read: commaList },
]

/** Overrides the file's values with those of the environment. */
export function overlay(value: unknown, env: Env): Overlay {
  if (value !== undefined && !isMapping(value)) return { value, names: new Map() }
  const root: Record<string, unknown> = { ...value }
  const names = new Map<string, string>()
  for (const { name, path, read } of VARIABLES) {
    const given = env[name]
    const set = given === undefined ? undefined : read(given)
    if (set === undefined) continue
    place(root, path, set)
    names.set(pointer(path as Path), name)
  }
  return { value: root, names }
}

function place(root: Record<string, unknown>, [section, key]: Variable['path'], value: unknown): void {
  if (key === undefined) root[section] = value
  else {
    const current = root[section]
    // Keeps a section that is not a mapping, so that validation reports it.
    if (current === undefined || isMapping(current)) root[section] = { ...current, [key]: value }
  }
}
