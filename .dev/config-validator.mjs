// The validator of the configuration as code, because compiling its schema takes a tenth of svc's start.
import { _ } from 'ajv'
import standaloneCode from 'ajv/dist/standalone/index.js'
import { compileSchema } from '../src/platform/config/compile-schema.ts'
import { digestOf } from '../src/platform/config/schema-digest.ts'

export function validatorOf(schema) {
  const { ajv, validate } = compileSchema(schema, { source: true, formats: _`formats` })
  return `// Written by npm run config:schema from the schema of the configuration.
// @ts-nocheck

/** Digest of the schema. */
export const digest = '${digestOf(schema)}'

/** Returns the function that Ajv compiled. */
export function createValidate({ formats, toMilliseconds, require }) {
const module = {}
${standaloneCode.default(ajv, validate)}
return module.exports
}
`
}
