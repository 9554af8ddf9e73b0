import type { Finding, Path } from './findings.ts'
import { durationText, toMilliseconds } from './units.ts'
import { isMapping, mapValue, type Schema } from './walk.ts'

/** Former spellings in a configuration: keys with a new name, and numbers in place of durations. */
interface FormerSpellings {
  /** Keys that are set under both names. */
  conflicts: Finding[]
  /** The current spelling of each. */
  hints: Finding[]
  /** Former and current path of each renamed key. */
  renamed: { from: Path; to: Path }[]
}

/** Former keys of a section that have a value, each with its current name. */
const formerKeysOf = (section: Record<string, unknown>, { properties = {} }: Schema): [string, string, Schema][] =>
  Object.entries(properties).flatMap(([key, schema]) => {
    const replacement = schema['x-svc-replacement']
    return replacement !== undefined && section[key] !== undefined ? [[key, replacement, schema]] : []
  })

/** Finds former spellings in a configuration before its defaults are filled in. */
export function findFormerSpellings(value: unknown, schema: Schema): FormerSpellings {
  const found: FormerSpellings = { conflicts: [], hints: [], renamed: [] }
  const hint = (path: Path, key: string, amount: number, unit: string) => {
    const text = durationText(toMilliseconds(`${amount}${unit}`))
    found.hints.push({ path, message: `this spelling is deprecated; write ${key}: ${text}` })
  }
  mapValue(value, schema, (part, partSchema, path) => {
    const unit = partSchema['x-svc-unit']
    if (unit && !partSchema['x-svc-replacement'] && Number.isSafeInteger(part)) {
      hint(path, String(path.at(-1)), Number(part), unit)
    }
    if (!isMapping(part)) return part
    for (const [key, replacement, { 'x-svc-unit': unit = 's' }] of formerKeysOf(part, partSchema)) {
      const [from, to] = [
        [...path, key],
        [...path, replacement],
      ]
      if (part[replacement] === undefined) {
        found.renamed.push({ from, to })
        if (Number.isSafeInteger(part[key])) hint(from, replacement, Number(part[key]), unit)
      } else {
        found.conflicts.push({
          path: from,
          message: `was replaced by ${replacement}, which is also set; remove ${key}`,
        })
        found.conflicts.push({ path: to, message: `cannot be combined with ${key}, its former name; remove ${key}` })
      }
    }
    return part
  })
  return found
}

/** Moves the values of former keys of a section to the keys that replace them. */
export function withReplacements(value: unknown, schema: Schema): unknown {
  if (!isMapping(value)) return value
  const former = formerKeysOf(value, schema)
  if (former.length === 0) return value
  const moved = former.map(([key, replacement, { 'x-svc-unit': unit }]) => [replacement, `${value[key]}${unit}`])
  const names = former.map(([key]) => key)
  const kept = Object.entries(value).filter(([key]) => !names.includes(key))
  return Object.fromEntries([...kept, ...moved])
}
