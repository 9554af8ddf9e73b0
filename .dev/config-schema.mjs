// Writes config/reference.yaml, config/svc.schema.json, which editors use for it, docs/configuration.md, the part `config` of
// the Helm chart's schema, and the validator. With --check it writes nothing and fails if one of them is stale.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { VARIABLES } from '../src/platform/config/environment.ts'
import { configSchema, rootSchema } from '../src/platform/config/schema.ts'
import { chartSchemaOf } from './chart-schema.mjs'
import { manualOf } from './config-manual.mjs'
import { referenceOf } from './config-reference.mjs'
import { validatorOf } from './config-validator.mjs'

// Any value may be written as ${NAME}, whatever its type.
const substitution = { type: 'string', pattern: '\\$\\{' }

function forEditors(schema) {
  const { required, properties, patternProperties, items, description, 'x-svc-entries': _, ...rest } = schema
  const open = {
    ...(description && { description: described(schema) }),
    ...rest,
    ...(properties && { properties: mapValues(properties, forEditors) }),
    ...(patternProperties && { patternProperties: mapValues(patternProperties, forEditors) }),
    ...(items && { items: forEditors(items) }),
  }
  // A key with a default is optional. A section whose keys are all commented out is null.
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

const plain = JSON.parse(JSON.stringify(configSchema))
const schema = { $schema: 'http://json-schema.org/draft-07/schema#', ...forEditors(plain), type: 'object' }
const chart = 'helm/svc/values.schema.json'
const files = {
  'config/reference.yaml': manualOf(plain, VARIABLES),
  'config/svc.schema.json': `${JSON.stringify(schema, null, 2)}\n`,
  'docs/configuration.md': referenceOf(plain),
  'src/platform/generated/config-validator.ts': validatorOf(rootSchema),
  [chart]: chartSchemaOf(plain, JSON.parse(readFileSync(new URL(`../${chart}`, import.meta.url), 'utf8'))),
}

for (const [path, text] of Object.entries(files)) {
  const file = new URL(`../${path}`, import.meta.url)
  if (!process.argv.includes('--check')) writeFileSync(file, text)
  else if (!existsSync(file) || readFileSync(file, 'utf8') !== text) {
    console.error(`${path} is stale: run npm run config:schema`)
    process.exitCode = 1
  }
}
