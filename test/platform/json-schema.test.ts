// engine: none
import tap from 'tap'
import TypeBox from 'typebox'
import { Type } from '../../src/platform/json-schema.ts'

type Builders = typeof Type

const options = { description: 'A value.', default: 1, title: 'Value', 'x-svc-kind': 'text' }

const builds: Record<string, (type: Builders) => unknown> = {
  'text without options': (type) => type.String(),
  'text with options': (type) => type.String(options),
  'a boolean': (type) => type.Boolean(options),
  'an integer': (type) => type.Integer(options),
  'a number': (type) => type.Number(options),
  null: (type) => type.Null(options),
  never: (type) => type.Never(options),
  'an unknown value': (type) => type.Unknown(options),
  'an array': (type) => type.Array(type.String(), { ...options, minItems: 1 }),
  'an array of arrays': (type) => type.Array(type.Array(type.Integer())),
  'a union': (type) => type.Union([type.String(), type.Null()], options),
  'a literal text': (type) => type.Literal('a', options),
  'a literal number': (type) => type.Literal(1),
  'a literal boolean': (type) => type.Literal(true),
  'an enumeration': (type) => type.Enum(['a', 'b'], options),
  'an unsafe schema': (type) => type.Unsafe<string | null>({ type: ['string', 'null'], ...options }),
  'an object without properties': (type) => type.Object({}),
  'an object': (type) => type.Object({ name: type.String(), id: type.Integer(options) }, options),
  'an object of optional properties': (type) => type.Object({ name: type.Optional(type.String(options)) }),
  'an object with some optional properties': (type) =>
    type.Object({ a: type.Optional(type.Null()), b: type.Null(), c: type.Optional(type.Object({ d: type.Null() })) }),
  'an object that shares optional properties': (type) => {
    const { properties } = type.Object({ a: type.Optional(type.Null()), b: type.Null() })
    return type.Object({ ...properties, c: type.Optional(properties.b), d: type.Optional(properties.a) })
  },
  'an optional schema that was changed': (type) =>
    type.Object({ a: { ...type.Optional(type.String()), description: 'Copied, so required.' } }),
  'a schema that was made optional elsewhere': (type) => {
    const name = type.String()
    return [type.Object({ name: type.Optional(name) }), type.Object({ name })]
  },
  'a record of any names': (type) => type.Record(type.String(), type.Integer(), options),
  'a record of names with a pattern': (type) => type.Record(type.String({ pattern: '^[a-z]+$' }), type.Null(), options),
}

for (const [name, build] of Object.entries(builds)) {
  tap.test(`builds the schema that TypeBox builds: ${name}`, async (t) => {
    t.equal(JSON.stringify(build(Type)), JSON.stringify(build(TypeBox)))
  })
}
