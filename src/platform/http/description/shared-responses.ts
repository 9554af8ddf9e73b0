import type { TSchema } from '../../json-schema.ts'

/** A response that several operations refer to by its name. */
export interface SharedResponse<Schema extends TSchema = TSchema> {
  name: string
  description: string
  schema: Schema
  /** Media types with their schemas, if there are several. */
  content?: object
  headers?: Readonly<Record<string, object>>
}

/** A response of the document. */
export interface Described {
  description: string
  content?: Readonly<Record<string, { schema?: { title?: string } }>>
}

const mark = /^#(\w+) (.*)$/s

/** Returns the schema of a shared response. Its marked description names it until `shareResponses` moves it. */
export const sharedResponse = <Schema extends TSchema>({
  name,
  description,
  schema,
  headers,
  content,
}: SharedResponse<Schema>): Schema => ({
  ...schema,
  ...(content ? { content } : {}),
  ...(headers ? { headers } : {}),
  'x-response-description': `#${name} ${description}`,
})

/** Moves marked responses to `shared`, by name, and returns references to them. */
export const shareResponses = (
  responses: Readonly<Record<string, Described>>,
  shared: Record<string, object>,
): Record<string, object> =>
  Object.fromEntries(
    Object.entries(responses).map(([status, response]) => {
      const [, name = '', description] = mark.exec(response.description) ?? []
      if (name === '') return [status, response]
      shared[name] = { ...response, description }
      return [status, { $ref: `#/components/responses/${name}` }]
    }),
  )

/** Marks the responses that several operations repeat, with the title of their schema. */
export function markRepeated(all: readonly Readonly<Record<string, Described>>[]): void {
  const uses = new Map<string, Described[]>()
  for (const response of all.flatMap((responses) => Object.values(responses))) {
    const key = JSON.stringify(response)
    uses.set(key, [...(uses.get(key) ?? []), response])
  }
  for (const repeated of uses.values()) {
    const name = repeated[0]?.content?.['application/json']?.schema?.title
    if (repeated.length < 2 || !name) continue
    for (const response of repeated) {
      if (!mark.test(response.description)) response.description = `#${name} ${response.description}`
    }
  }
}
