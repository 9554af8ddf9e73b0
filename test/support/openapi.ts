type Json = Record<string, unknown>

/** An OpenAPI document with every reference replaced by its target. */
export function dereferenced<Document extends object>(document: Document): Document {
  const at = (path: string): unknown =>
    path
      .slice(2)
      .split('/')
      .reduce<unknown>((part, key) => (part as Json)[key], document)
  const visit = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(visit)
    if (typeof value !== 'object' || value === null) return value
    const { $ref } = value as { $ref?: unknown }
    if (typeof $ref === 'string') return visit(at($ref))
    return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, visit(part)]))
  }
  return visit(document) as Document
}
