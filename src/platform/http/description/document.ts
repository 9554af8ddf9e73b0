import { optionalBody } from './described-schemas.ts'
import { exampleOf } from './examples.ts'
import { nameSchemas } from './named-schemas.ts'
import { type Described, markRepeated, shareResponses } from './shared-responses.ts'
import { tags } from './tags.ts'

/** The document that @fastify/swagger makes of the routes. */
export interface SwaggerDocument {
  info: object
  paths?: Record<string, Record<string, Operation>>
  components: { securitySchemes: object }
}

interface Operation {
  tags: string[]
  parameters?: { name: string }[]
  requestBody?: { required?: boolean; content?: Content }
  responses: Record<string, Described & { content?: Content }>
}

type Content = Record<string, { schema?: { [optionalBody]?: boolean }; example?: unknown; examples?: object }>

export const xsrfHeaderName = 'X-XSRF-TOKEN'

const xsrfParameter = {
  name: xsrfHeaderName,
  in: 'header',
  required: false,
  // The description is in the schema, so that generators do not repeat it in each operation.
  schema: {
    type: 'string',
    description:
      'The value of the cookie `XSRF-TOKEN`. Required with a session, unless the page is on the same origin.',
  },
}

/** Shares what operations repeat: responses, schemas and the CSRF header. */
export function completeDocument({ paths = {}, components, ...described }: SwaggerDocument): object {
  const responses: Record<string, object> = {}
  const operations = Object.values(paths).flatMap((methods) => Object.values(methods))
  for (const operation of operations) {
    nameExamples(operation)
    markOptional(operation)
  }
  const used = new Set(operations.flatMap((operation) => operation.tags))
  markRepeated(operations.map((operation) => operation.responses))
  return nameSchemas({
    ...described,
    tags: tags.filter(({ name }) => used.has(name)),
    paths: mapValues(paths, (methods) => mapValues(methods, (operation) => referToShared(operation, responses))),
    components: { ...components, parameters: { XsrfToken: xsrfParameter }, responses },
  })
}

/** Replaces shared responses, which it collects in `shared`, and the CSRF header by references. */
const referToShared = ({ responses, parameters, ...operation }: Operation, shared: Record<string, object>): object => ({
  ...operation,
  ...(parameters
    ? {
        parameters: parameters.map((each) =>
          each.name === xsrfHeaderName ? { $ref: '#/components/parameters/XsrfToken' } : each,
        ),
      }
    : {}),
  responses: shareResponses(responses, shared),
})

/** Marks optional bodies as not required. @fastify/swagger requires every body. */
function markOptional({ requestBody }: Operation): void {
  for (const { schema } of Object.values(requestBody?.content ?? {})) {
    if (requestBody && schema?.[optionalBody]) requestBody.required = false
    if (schema) delete schema[optionalBody]
  }
}

/** Gives JSON bodies and responses an example, in a map that generators do not repeat in comments. */
function nameExamples({ requestBody, responses }: Operation): void {
  for (const { content = {} } of [requestBody ?? {}, ...Object.values(responses)]) {
    for (const [type, media] of Object.entries(content)) {
      const { example = type === 'application/json' ? exampleOf(media.schema) : undefined } = media
      delete media.example
      if (example !== undefined && !media.examples) media.examples = { default: { value: example } }
    }
  }
}

const mapValues = <Value, Result>(object: Readonly<Record<string, Value>>, change: (value: Value) => Result) =>
  Object.fromEntries(Object.entries(object).map(([key, value]) => [key, change(value)]))
