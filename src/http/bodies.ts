import type { FastifyInstance, FastifyRequest } from 'fastify'
import { HttpError } from '../errors.ts'

/** Fields by name; one of the form `name[]` or `name[0]` gathers a list. */
type Fields = Record<string, string | string[]>

const listItem = /^(.+?)\[\d{0,3}\]$/

/** Form and multipart fields as the object that a JSON body would have been; no name reaches a prototype. */
function fieldsOf(entries: Iterable<[string, unknown]>): Fields {
  const fields: Fields = Object.create(null)
  for (const [name, value] of entries) {
    const item = listItem.exec(name)?.[1]
    const key = item ?? name
    // Files are not read on any route.
    if (typeof value !== 'string' || key === '__proto__') continue
    const list = fields[key]
    if (item === undefined) fields[key] = value
    else if (Array.isArray(list)) list.push(value)
    else fields[key] = [value]
  }
  return fields
}

/** Reads JSON (an empty body counts as none), form and multipart bodies; everything else is 415. */
export function addBodyParsers(app: FastifyInstance): void {
  const parseJson = app.getDefaultJsonParser('error', 'error')
  app.removeContentTypeParser(['application/json', 'text/plain'])
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (request, body, done) => {
    if (body === '') done(null, undefined)
    else void parseJson(request, String(body), done)
  })
  app.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, (_request, body, done) =>
    done(null, fieldsOf(new URLSearchParams(String(body)))),
  )
  app.addContentTypeParser(
    'multipart/form-data',
    { parseAs: 'buffer' },
    async (request: FastifyRequest, body: Buffer) => {
      const type = request.headers['content-type'] ?? ''
      try {
        return fieldsOf(await new Response(new Uint8Array(body), { headers: { 'content-type': type } }).formData())
      } catch (cause) {
        throw new HttpError(400, 'malformed_body', 'The multipart body cannot be read.', { cause })
      }
    },
  )
}
