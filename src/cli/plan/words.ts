import { isDeepStrictEqual } from 'node:util'
import { type Change, textOf } from '../../platform/config/changes.ts'
import { type Path, printed } from '../../platform/config/findings.ts'
import type { Rate } from '../../platform/config/units.ts'
import { isMapping, type Schema } from '../../platform/config/walk.ts'

/** Sections whose entries people call by another word. The path of an entry has as many names. */
const entries: readonly { path: readonly string[]; word: string }[] = [
  { path: ['clients'], word: 'Client' },
  { path: ['social'], word: 'Provider' },
  { path: ['apis'], word: 'API' },
  { path: ['scopes'], word: 'Scope' },
  { path: ['groups', 'names'], word: 'Group' },
  { path: ['users', 'fields'], word: 'User field' },
  { path: ['rate_limits'], word: 'Limit' },
]

/** Says in words what a change does, one sentence for each part. */
export function wordsOf(change: Change): string[] {
  const { path, what, values } = change
  const restart = change.reload === 'restart' ? ' (after a restart)' : ''
  if (values && printed(path) === 'guard.rules') return rulesIn(values).map((words) => `${words}${restart}`)
  return [`${subjectOf(path)} ${values && what === 'changed' ? changed(values) : verbs[what]}${restart}`]
}

const verbs = { added: 'is added', removed: 'is removed', changed: 'changes' }

function subjectOf(path: Path): string {
  for (const { path: section, word } of entries) {
    const [name, ...rest] = path.slice(section.length)
    if (name === undefined || !section.every((step, at) => path[at] === step)) continue
    return [`${word} ${name}${rest.length > 0 ? ':' : ''}`, ...(rest.length > 0 ? [printed(rest)] : [])].join(' ')
  }
  return printed(path)
}

interface Values {
  before: unknown
  after: unknown
  schema: Schema
}

/** The verb of a changed value, and both values. */
function changed({ before, after, schema }: Values): string {
  const both = `${textOf(before, schema)} → ${textOf(after, schema)}`
  if (typeof before === 'boolean' && typeof after === 'boolean') return after ? 'is turned on' : 'is turned off'
  if (Array.isArray(before) && Array.isArray(after)) return changedList(before, after) ?? `changes: ${both}`
  if (schema['x-svc-kind'] === 'rate') return `${looseness(before, after)}: ${both}`
  // 0 is `off`.
  if (schema['x-svc-kind'] === 'duration' && Number(before) > 0 && Number(after) > 0)
    return `becomes ${Number(after) > Number(before) ? 'longer' : 'shorter'}: ${both}`
  if (isMapping(before) && isMapping(after)) return `changes in ${changedKeys(before, after).join(', ')}`
  return `changes: ${both}`
}

const changedKeys = (before: Record<string, unknown>, after: Record<string, unknown>): string[] =>
  [...new Set([...Object.keys(before), ...Object.keys(after)])].filter(
    (key) => !isDeepStrictEqual(before[key], after[key]),
  )

/** The entries of a list of texts that one of both has; null for other lists, and for another order. */
function changedList(before: readonly unknown[], after: readonly unknown[]): string | null {
  if (![...before, ...after].every((one) => typeof one === 'string')) return null
  const added = after.filter((one) => !before.includes(one))
  const removed = before.filter((one) => !after.includes(one))
  const parts = [
    ...(added.length > 0 ? [`gets ${added.join(', ')}`] : []),
    ...(removed.length > 0 ? [`loses ${removed.join(', ')}`] : []),
  ]
  return parts.length > 0 ? parts.join(' and ') : null
}

/** Requests per second; null means no limit. */
const frequency = (value: unknown): number => {
  // Sound: the schema allows only rates and null here.
  const rate = value as Rate | null
  return rate === null ? Number.POSITIVE_INFINITY : rate.max / rate.window
}

const burst = (value: unknown): number => (value as Rate | null)?.max ?? Number.POSITIVE_INFINITY

/** Whether a limit allows more or less; neither, if it allows more at once and less in the long run, or the other way round. */
function looseness(before: unknown, after: unknown): string {
  const [often, atOnce] = [Math.sign(frequency(after) - frequency(before)), Math.sign(burst(after) - burst(before))]
  if (Number.isNaN(often) || often * atOnce < 0 || often === 0) return 'changes'
  return often > 0 ? 'allows more' : 'allows less'
}

/** A rule of the guard in the file. */
type Rule = Readonly<Record<string, unknown>>

const matching = ['hosts', 'paths', 'methods', 'networks'] as const

/** What a rule is called: its name, or the requests that it matches. */
function nameOf(rule: Rule): string {
  if (typeof rule.name === 'string') return rule.name
  const parts = matching.flatMap((key) => (Array.isArray(rule[key]) ? [rule[key].join(' ')] : []))
  return parts.length > 0 ? `for ${parts.join(' ')}` : 'for all requests'
}

const byName = (rules: unknown): Map<string, Rule> => {
  // Sound: the schema allows only a list of rules here.
  const list = (rules ?? []) as readonly Rule[]
  return new Map(list.map((rule) => [nameOf(rule), rule]))
}

function rulesIn({ before, after, schema }: Values): string[] {
  const [old, next] = [byName(before), byName(after)]
  const words: string[] = []
  for (const [name, rule] of next) {
    const known = old.get(name)
    if (!known) words.push(`Guard rule ${name} (${String(rule.access)}) is added`)
    for (const key of known ? changedKeys(known, rule) : []) {
      const child = schema.items?.properties?.[key] ?? {}
      words.push(`Guard rule ${name}: ${key} ${changed({ before: known?.[key], after: rule[key], schema: child })}`)
    }
  }
  for (const name of old.keys()) if (!next.has(name)) words.push(`Guard rule ${name} is removed`)
  const kept = (one: ReadonlyMap<string, Rule>, other: ReadonlyMap<string, Rule>) =>
    [...one.keys()].filter((name) => other.has(name))
  if (!isDeepStrictEqual(kept(old, next), kept(next, old))) words.push('The guard rules are in another order')
  return words.length > 0 ? words : ['guard.rules changes']
}
