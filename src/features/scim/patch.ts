import { patchBodyValidation, type ScimPatch, type ScimResource, scimPatch } from 'scim-patch'
import { invalidValue, ScimHttpError } from './errors.ts'
import { attribute, plain, type Resource } from './user-resource.ts'

/** Maximum number of operations in a request. */
const maxOperations = 1_000

const core = /^urn:ietf:params:scim:schemas:core:2\.0:(?:User|Group):/i

/** Attributes that clients can change. */
const own = ['username', 'externalid', 'name', 'displayname', 'active', 'emails', 'members']

/** Other attributes and extensions. Clients send them anyway, and RFC 7644 lets svc ignore them. */
const isForeign = (path: string): boolean => !own.includes(path.split(/[.[]/)[0]?.toLowerCase() ?? '')

/**
 * Names that would change the prototypes of objects. Control characters too, because the parser of filters in paths takes
 * exponential time for line breaks after a quote.
 */
const unsafe = /__proto__|\bconstructor\b|\bprototype\b|\p{Cc}/u

/** Maximum length of a path, because the library splits it in quadratic time. */
const maxPath = 2_000

const isUnsafe = (path: string): boolean => path.length > maxPath || unsafe.test(path)

const hasUnsafeKey = (value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  Object.entries(value).some(([key, part]) => isUnsafe(key) || hasUnsafeKey(part))

interface Operation {
  op: string
  path?: string
  value?: unknown
}

/** Reads the operations of a body (RFC 7644 section 3.5.2). Throws 400 for an invalid one. */
function operationsIn(body: unknown): Operation[] {
  const given = attribute(body, 'Operations')
  if (!Array.isArray(given) || given.length === 0)
    throw new ScimHttpError(400, 'Operations must be a list.', 'invalidSyntax')
  if (given.length > maxOperations) throw invalidValue(`Operations must have at most ${maxOperations} entries.`)
  return given.flatMap((one) => {
    const op = plain(attribute(one, 'op')).toLowerCase()
    const path = attribute(one, 'path')
    const value = attribute(one, 'value')
    if (!['add', 'remove', 'replace'].includes(op))
      throw new ScimHttpError(400, 'op must be add, remove or replace.', 'invalidSyntax')
    if (path !== undefined && path !== null && typeof path !== 'string')
      throw new ScimHttpError(400, 'path must be a text.', 'invalidPath')
    if (isUnsafe(path ?? '') || hasUnsafeKey(value)) throw new ScimHttpError(400, 'The path is invalid.', 'invalidPath')
    const text = (path ?? '').replace(core, '')
    if (text !== '' && isForeign(text)) return []
    if (op === 'remove' && text === '') throw new ScimHttpError(400, 'A removal needs a path.', 'noTarget')
    return [
      { op, ...(text === '' ? {} : { path: text }), ...(value === undefined ? {} : { value: cleaned(value, text) }) },
    ]
  })
}

/** The value without what clients must not change, and without foreign attributes. */
function cleaned(value: unknown, path: string): unknown {
  if (path !== '' || typeof value !== 'object' || value === null || Array.isArray(value)) return value
  const entries = Object.entries(value).map(([key, part]) => [key.replace(core, ''), part] as const)
  return Object.fromEntries(entries.filter(([key]) => !isForeign(key)))
}

/** Entra removes members by a list, where the path of RFC 7644 has a filter. */
const removesMembers = ({ op, path, value }: Operation): boolean =>
  op === 'remove' && path?.toLowerCase() === 'members' && value !== undefined

/** Returns the resource after the operations of a body. Throws 400 if one of them cannot be applied. */
export function patched(resource: Resource, body: unknown): unknown {
  let result: Record<string, unknown> = structuredClone(resource)
  for (const operation of operationsIn(body)) {
    if (removesMembers(operation)) {
      const gone = new Set([operation.value].flat().map((one) => plain(attribute(one, 'value') ?? one)))
      result.members = [result.members ?? []].flat().filter((one) => !gone.has(plain(attribute(one, 'value'))))
    } else result = applied(result, operation)
  }
  return result
}

function applied(resource: Record<string, unknown>, operation: Operation): Record<string, unknown> {
  try {
    // Sound: the library checks the operation itself.
    const patch = { schemas: ['urn:ietf:params:scim:api:messages:2.0:PatchOp'], Operations: [operation] } as ScimPatch
    patchBodyValidation(patch)
    return scimPatch<typeof resource & ScimResource>(resource as typeof resource & ScimResource, patch.Operations, {
      mutateDocument: true,
    })
  } catch (error) {
    const detail = `${operation.op} ${operation.path ?? ''} cannot be applied.`.replace('  ', ' ')
    const type = /path/i.test(String(error))
      ? 'invalidPath'
      : /target/i.test(String(error))
        ? 'noTarget'
        : 'invalidValue'
    throw new ScimHttpError(400, detail, type)
  }
}
