type Json = Record<string, unknown>

/** Example values of fields that many schemas have, by name. Others come from the type, or from `examples` of a schema. */
const byName: Readonly<Record<string, unknown>> = {
  email: 'ada@example.com',
  name: 'Ada Example',
  password: 'correct horse battery',
  password_confirmation: 'correct horse battery',
  current_password: 'correct horse',
  code: '123456',
  recovery_code: null,
  device_name: "Ada's phone",
  token_name: 'Reporting',
  token: '1|kq3Zt0bXr8',
  message: 'Done.',
  role: 'user',
  url: 'https://id.example/next',
  redirect: 'https://app.example/',
  type: 'public-key',
}

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null

/** Returns an example of a schema: its own, or one that the fields make. */
export function exampleOf(schema: unknown, name = ''): unknown {
  if (!isObject(schema)) return null
  const { examples, type, format, items, properties, anyOf, maxLength } = schema
  if (Array.isArray(examples)) return examples[0]
  if (Array.isArray(anyOf)) return exampleOf(anyOf[0], name)
  const [first] = [type].flat()
  if (isObject(properties))
    return Object.fromEntries(Object.entries(properties).map(([key, field]) => [key, exampleOf(field, key)]))
  if (first === 'array') return [exampleOf(items, name)]
  if (first === 'integer' || first === 'number') return 1
  if (first === 'boolean') return true
  if (first === 'object') return {}
  if (maxLength === 0) return ''
  if (format === 'date-time') return '2026-11-22T09:30:00.000000Z'
  if (format === 'date') return '2036-11-22'
  if (format === 'uri') return 'https://id.example/'
  return byName[name] === undefined ? name || 'text' : byName[name]
}
