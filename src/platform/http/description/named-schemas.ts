type Json = Record<string, unknown>

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value)

const isName = (title: unknown): title is string => typeof title === 'string' && /^[A-Z][A-Za-z0-9]*$/.test(title)

/** Examples are beside each use, where generators do not repeat them in comments. */
const notInSchemas = ['title', 'examples']

/**
 * Moves each schema with a name as its title (`User`) to `components.schemas` of an OpenAPI document and refers to it from
 * every place that uses it.
 * @throws if two different schemas have the same name
 */
export function nameSchemas<Document extends Json>(document: Document): Document {
  const schemas: Json = {}

  function visit(value: unknown): unknown {
    if (Array.isArray(value)) return value.map(visit)
    if (!isObject(value)) return value
    const { title } = value
    // The title of `info` is the name of the service.
    const isNamed = isName(title) && !('version' in value)
    const parts = Object.entries(value).filter(([key]) => !isNamed || !notInSchemas.includes(key))
    const visited = Object.fromEntries(parts.map(([key, part]) => [key, visit(part)]))
    if (!isNamed) return visited
    const known = schemas[title]
    if (known !== undefined && JSON.stringify(known) !== JSON.stringify(visited)) {
      throw new Error(`Two schemas have the title ${title}. Give one of them another title.`)
    }
    schemas[title] = visited
    return { $ref: `#/components/schemas/${title}` }
  }

  const named = visit(document) as Document & { components?: Json }
  const sorted = Object.fromEntries(Object.entries(schemas).sort(([a], [b]) => (a < b ? -1 : 1)))
  return { ...named, components: { ...named.components, schemas: { ...Object(named.components?.schemas), ...sorted } } }
}
