// engine: none
import SerializerSelector from '@fastify/fast-json-stringify-compiler'
import t from 'tap'
import { buildTestApp } from '../../support/app.ts'
import { dereferenced } from '../../support/openapi.ts'

const compile = SerializerSelector()({}, {})

interface Operation {
  responses?: Record<string, { content?: Record<string, { schema?: object }> }>
}

// svc compiles a response schema when it first uses it, so the start does not show a schema that does not compile.
t.test('every response schema of the API description compiles', async (t) => {
  const { app } = await buildTestApp(t)
  const document = (await app.inject('/openapi.json')).json<{ paths: Record<string, Record<string, Operation>> }>()
  const { paths } = dereferenced(document)
  let schemas = 0
  for (const [path, operations] of Object.entries(paths)) {
    for (const [method, { responses = {} }] of Object.entries(operations)) {
      for (const [status, { content = {} }] of Object.entries(responses)) {
        const schema = content['application/json']?.schema
        if (!schema) continue
        schemas++
        t.doesNotThrow(() => compile({ method, url: path, httpStatus: status, schema }), `${method} ${path} ${status}`)
      }
    }
  }
  t.ok(schemas > 300, `${schemas} schemas`)
})
