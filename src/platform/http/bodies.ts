import type { FastifyInstance, FastifyRequest } from 'fastify'
import { HttpError } from '../errors.ts'

/** Media type of HTML forms. */
export const formType = 'application/x-www-form-urlencoded'

/** Fields by name. `name[]` and `name[0]` collect a list. */
type Fields = Record<string, string | string[]>

const listItem = /^(.+?)\[\d{0,3}\]$/

/** Maximum number of fields of a form. Each costs more than its bytes. */
const maxFields = 1_000

/** Throws 400 for a form with too many fields, before it is parsed. */
export function requireFewFields(form: string): void {
  let fields = 1
  for (let at = form.indexOf('&'); at >= 0; at = form.indexOf('&', at + 1)) fields++
  if (fields > maxFields) throw new HttpError(400, 'malformed_body', `A form can have at most ${maxFields} fields.`)
}

/** Converts form and multipart fields to the object that a JSON body would contain; ignores `__proto__`. */
function fieldsOf(entries: Iterable<[string, unknown]>): Fields {
  const fields: Fields = Object.create(null)
  for (const [name, value] of entries) {
    const item = listItem.exec(name)?.[1]
    const key = item ?? name
    // No route accepts files.
    if (typeof value !== 'string' || key === '__proto__') continue
    const list = fields[key]
    if (item === undefined) fields[key] = value
    else if (Array.isArray(list)) list.push(value)
    else fields[key] = [value]
  }
  return fields
}

const notJson = (cause: Error): HttpError =>
  new HttpError(400, 'malformed_body', 'The request body is not valid JSON.', { cause })

/** Parses JSON (an empty body is no body), form and multipart bodies. Other types get 415. */
export function addBodyParsers(app: FastifyInstance): void {
  const parseJson = app.getDefaultJsonParser('error', 'error')
  app.removeContentTypeParser(['application/json', 'text/plain'])
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (request, body, done) => {
    if (body === '') done(null, undefined)
    else void parseJson(request, String(body), (error, value) => done(error && notJson(error), value))
  })
  app.addContentTypeParser(formType, { parseAs: 'string' }, async (_request: FastifyRequest, body: string) => {
    requireFewFields(body)
    return fieldsOf(new URLSearchParams(body))
  })
  app.addContentTypeParser(
    'multipart/form-data',
    { parseAs: 'buffer' },
    async (request: FastifyRequest, body: Buffer) => {
      const type = request.headers['content-type'] ?? ''
      try {
        return fieldsOf(await new Response(new Uint8Array(body), { headers: { 'content-type': type } }).formData())
      } catch (cause) {
        throw new HttpError(400, 'malformed_body', 'The multipart body is invalid.', { cause })
      }
    },
  )
}
