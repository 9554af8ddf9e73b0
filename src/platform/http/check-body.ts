import type { FastifyRequest } from 'fastify'
import type { Static, TSchema } from '../json-schema.ts'

/** Validates a form with the schema of a JSON route. Throws 422 with the errors of each field. */
export function checkBody<Schema extends TSchema>(
  request: FastifyRequest,
  schema: Schema,
  fields: object,
): Static<Schema> {
  const validate = request.compileValidationSchema(schema)
  const result: unknown = validate(fields)
  if (typeof result === 'object' && result !== null && 'error' in result) throw result.error
  return fields as Static<Schema>
}
