import type TypeBox from 'typebox'
import type { TSchema } from 'typebox'

export type { Static, TObject, TProperties, TSchema, TString, TUnsafe } from 'typebox'

type Builders = Pick<
  typeof TypeBox,
  | 'Array'
  | 'Boolean'
  | 'Enum'
  | 'Integer'
  | 'Literal'
  | 'Never'
  | 'Null'
  | 'Number'
  | 'Object'
  | 'Optional'
  | 'Record'
  | 'String'
  | 'Union'
  | 'Unknown'
  | 'Unsafe'
>

/** Properties that `Object` does not list in `required`. */
const optional = new WeakSet<object>()

const requiredOf = (properties: Record<string, object>) => {
  const required = Object.keys(properties).filter((name) => !optional.has(properties[name] as object))
  return required.length > 0 ? { required } : {}
}

/**
 * Builds JSON schemas with the types of TypeBox. The builders of TypeBox are 370 modules, whose loading takes a tenth
 * of the processor time of a start, and svc needs these fifteen. A test compares both.
 */
// Sound: each function returns the schema that the declared one returns, without hidden properties.
export const Type = {
  Array: (items: TSchema, options?: object) => ({ type: 'array', items, ...options }),
  Boolean: (options?: object) => ({ type: 'boolean', ...options }),
  Enum: (values: readonly unknown[], options?: object) => ({ enum: values, ...options }),
  Integer: (options?: object) => ({ type: 'integer', ...options }),
  Literal: (value: unknown, options?: object) => ({ type: typeof value, const: value, ...options }),
  Never: (options?: object) => ({ not: {}, ...options }),
  Null: (options?: object) => ({ type: 'null', ...options }),
  Number: (options?: object) => ({ type: 'number', ...options }),
  Object: (properties: Record<string, object>, options?: object) => ({
    type: 'object',
    ...requiredOf(properties),
    properties,
    ...options,
  }),
  Optional: (schema: object) => {
    const copy = { ...schema }
    optional.add(copy)
    return copy
  },
  Record: (key: { pattern?: string }, value: object, options?: object) => ({
    type: 'object',
    patternProperties: { [key.pattern ?? '^.*$']: value },
    ...options,
  }),
  String: (options?: object) => ({ type: 'string', ...options }),
  Union: (anyOf: readonly object[], options?: object) => ({ anyOf, ...options }),
  Unknown: (options?: object) => ({ ...options }),
  Unsafe: (schema: object) => ({ ...schema }),
} as unknown as Builders
