// Writes config/svc.schema.json, by which editors complete and check config/svc.yaml.
// With --check it writes nothing and fails when the file is stale.
import { readFileSync, writeFileSync } from 'node:fs'
import { configSchema } from '../src/config/schema.ts'

const file = new URL('../config/svc.schema.json', import.meta.url)

// Any value may be written as ${NAME}, whatever it must be in the end.
const substitution = { type: 'string', pattern: '\\$\\{' }

function forEditors(schema) {
  const { required, properties, patternProperties, items, description, ...rest } = schema
  const open = {
    ...(description && { description: described(schema) }),
    ...rest,
    ...(properties && { properties: mapValues(properties, forEditors) }),
    ...(patternProperties && { patternProperties: mapValues(patternProperties, forEditors) }),
    ...(items && { items: forEditors(items) }),
  }
  // A key with a default may be left out, and a section whose keys are all commented out is empty.
  const needed = (required ?? []).filter((key) => !('default' in (properties?.[key] ?? {})))
  if (needed.length > 0) open.required = needed
  if (schema.type === 'object') return 'default' in schema ? { ...open, type: ['object', 'null'] } : open
  const types = [schema.type ?? []].flat()
  if (types.includes('string') && !schema.pattern && !schema.enum && !schema.format) return open
  const { description: text, default: fallback, ...strict } = open
  return {
    ...(text && { description: text }),
    ...('default' in schema && { default: fallback }),
    anyOf: [strict, substitution],
  }
}

function described(schema) {
  const reload =
    schema['x-svc-reload'] === 'restart'
      ? 'A change needs a restart.'
      : 'A change takes effect when the file is read again.'
  return schema['x-svc-reload'] ? `${schema.description} ${reload}` : schema.description
}

function mapValues(object, change) {
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [key, change(value)]))
}

const schema = forEditors(JSON.parse(JSON.stringify(configSchema)))
const text = `${JSON.stringify({ $schema: 'http://json-schema.org/draft-07/schema#', ...schema, type: 'object' }, null, 2)}\n`

if (process.argv.includes('--check')) {
  let current = ''
  try {
    current = readFileSync(file, 'utf8')
  } catch {}
  if (current !== text) {
    console.error('config/svc.schema.json is stale: run npm run config:schema')
    process.exitCode = 1
  }
} else {
  writeFileSync(file, text)
}
