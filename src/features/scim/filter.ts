import { type Filter, parse, filter as testerOf } from 'scim2-parse-filter'
import { canonicalEmail } from '../../identity/user.ts'
import { ScimHttpError } from './errors.ts'
import type { UserKey } from './store.ts'

/** Maximum length of a filter, so that parsing takes a bounded time. */
const maxLength = 2_000

/** A parsed filter of a list. */
export interface ListFilter {
  matches(resource: object): boolean
  /** A value that every match has, and that an index finds; null without one. */
  key: UserKey | null
  /** Whether it looks at the members of groups. */
  readsMembers: boolean
}

const urn = /urn:ietf:params:scim:schemas:core:2\.0:(?:User|Group):/gi

/** Attributes whose values are case-sensitive (RFC 7643 section 7, `caseExact`). */
const caseExact: readonly string[] = ['id', 'externalid', 'meta']

const isCaseExact = (path: string): boolean => caseExact.includes(path.split('.')[0] ?? '')

/** The filter with values in lower case where case does not matter, and with the attribute that `emails` alone stands for. */
function folded(given: Filter): Filter {
  if ('filters' in given) return { ...given, filters: given.filters.map(folded) }
  if ('filter' in given) return { ...given, filter: folded(given.filter) }
  if ('valFilter' in given) return { ...given, valFilter: folded(given.valFilter) }
  const path = given.attrPath.toLowerCase()
  const attrPath = ['emails', 'members', 'groups'].includes(path) && given.op !== 'pr' ? `${path}.value` : path
  if (!('compValue' in given)) return { ...given, attrPath }
  const { compValue } = given
  const isText = typeof compValue === 'string' && !isCaseExact(path)
  const isAddress = isText && given.op === 'eq' && attrPath.startsWith('emails')
  const value = isAddress ? canonicalEmail(compValue) : isText ? compValue.toLowerCase() : compValue
  return { ...given, attrPath, compValue: value }
}

/** A resource with texts in lower case where case does not matter. */
const foldedResource = (value: unknown, path = ''): unknown => {
  if (typeof value === 'string') return value.toLowerCase()
  if (Array.isArray(value)) return value.map((one) => foldedResource(one, path))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, part]) => [
      key,
      path === '' && isCaseExact(key.toLowerCase()) ? part : foldedResource(part, key),
    ]),
  )
}

/** Parses a filter (RFC 7644 section 3.4.2.2). Throws 400 `invalidFilter`. */
export function listFilter(text: string): ListFilter {
  if (text.length > maxLength) throw invalidFilter(`The filter is longer than ${maxLength} characters.`)
  // JSON, the syntax of values, allows them only as escapes. The parser takes exponential time for line breaks after a quote.
  if (/\p{Cc}/u.test(text)) throw invalidFilter('The filter contains a control character, such as a line break.')
  let parsed: Filter
  try {
    parsed = parse(text.replace(urn, ''))
  } catch {
    throw notAFilter()
  }
  const test = testerOf(folded(parsed))
  return {
    matches(resource) {
      try {
        return test(foldedResource(resource))
      } catch {
        // The parser accepts some filters that the library cannot evaluate.
        throw notAFilter()
      }
    },
    key: keyIn(parsed),
    readsMembers: /members/i.test(text),
  }
}

const notAFilter = () =>
  invalidFilter('The filter is invalid. Expected an expression such as userName eq "ada@example.com".')

const invalidFilter = (detail: string): ScimHttpError => new ScimHttpError(400, detail, 'invalidFilter')

const indexed: readonly string[] = [
  'id',
  'username',
  'externalid',
  'emails',
  'emails.value',
] satisfies UserKey['attribute'][]

/** The comparison by an indexed attribute that a filter requires. */
function keyIn(given: Filter): UserKey | null {
  if (given.op === 'and' && 'filters' in given) return given.filters.map(keyIn).find((key) => key !== null) ?? null
  if (given.op !== 'eq' || !('compValue' in given) || typeof given.compValue !== 'string') return null
  const attribute = given.attrPath.toLowerCase()
  // Sound: the list has the type's values.
  return indexed.includes(attribute) ? { attribute: attribute as UserKey['attribute'], value: given.compValue } : null
}
