import { HttpError } from '../../../platform/errors.ts'
import { requireFewFields } from '../../../platform/http/bodies.ts'

const unreadable = (): HttpError => new HttpError(400, 'malformed_body', 'The request body cannot be read.')

/**
 * Returns the body as form text, from a form or a flat JSON object of strings. `resource` may be a list (RFC 8707
 * section 2). In JSON, the fields in `lists` are arrays of strings. Returns null for other types, which the library
 * rejects.
 */
export function formOf(
  body: Buffer,
  contentType: string | undefined,
  { takesJson, lists = [] }: { takesJson: boolean; lists?: readonly string[] },
): string | null {
  const type = contentType?.split(';')[0]?.trim().toLowerCase()
  if (type === 'application/x-www-form-urlencoded') {
    const form = body.toString()
    requireFewFields(form)
    return form
  }
  if (!takesJson || type !== 'application/json') return null
  let fields: unknown
  try {
    fields = JSON.parse(body.toString())
  } catch {
    throw unreadable()
  }
  if (typeof fields !== 'object' || fields === null || Array.isArray(fields)) throw unreadable()
  const form = new URLSearchParams()
  for (const [name, value] of Object.entries(fields)) {
    if (lists.includes(name)) {
      if (!Array.isArray(value) || value.length === 0 || !value.every((item) => typeof item === 'string')) {
        throw new HttpError(400, 'malformed_body', `${name} must be an array of strings with at least one element.`)
      }
      for (const item of value) form.append(`${name}[]`, item)
      continue
    }
    for (const one of name === 'resource' && Array.isArray(value) ? value : [value]) {
      if (typeof one !== 'string') throw unreadable()
      form.append(name, one)
    }
  }
  return form.toString()
}
