type Json = Record<string, unknown>

/** Keyword: the schema that the API description has instead, where svc accepts more than clients should send. */
export const apiSchema = 'x-api-schema'

/** Keyword: a field that the API description requires. svc reports its absence as the error of another field. */
export const apiRequired = 'x-api-required'

/** Keyword: a body that a request may leave out. */
export const optionalBody = 'x-optional-body'

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null

const properties = (schema: unknown): [string, Json][] => Object.entries(Object(Object(schema).properties))

/** Returns the schema of a response as clients read it. */
export function describeOutput(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(describeOutput)
  if (!isObject(schema)) return schema
  return (
    schema[apiSchema] ?? Object.fromEntries(Object.entries(schema).map(([key, part]) => [key, describeOutput(part)]))
  )
}

/** Returns the schema of a body or of parameters as clients read it: svc ignores undeclared fields. */
export function describeInput(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(describeInput)
  if (!isObject(schema)) return schema
  const { additionalProperties, [apiSchema]: instead, [apiRequired]: _, ...own } = schema
  if (isObject(instead)) return { ...(own.description ? { description: own.description } : {}), ...instead }
  const required = properties(schema).flatMap(([name, field]) => (field[apiRequired] ? [name] : []))
  return {
    ...Object.fromEntries(
      Object.entries(own)
        .filter(([key]) => !key.startsWith('x-'))
        .map(([key, part]) => [key, describeInput(part)]),
    ),
    ...(required.length > 0 ? { required: [...new Set([...((own.required as string[]) ?? []), ...required])] } : {}),
    ...(isObject(additionalProperties) ? { additionalProperties: describeInput(additionalProperties) } : {}),
  }
}
