import { isDeepStrictEqual } from 'node:util'
import { childSchema, isMapping, type Schema } from './walk.ts'

/** Keys that are validated but have no effect yet. Remove a key here when its feature is added. */
const NOT_BUILT = ['webhooks']

/** Returns a warning for each such key that differs from its default. */
export function notBuiltWarnings(given: unknown, schema: Schema): string[] {
  return NOT_BUILT.filter((key) => {
    const steps = key.split('.')
    const value = steps.reduce<unknown>((part, step) => (isMapping(part) ? part[step] : undefined), given)
    const keySchema = steps.reduce<Schema | undefined>((part, step) => part && childSchema(part, step), schema)
    return value !== undefined && !isDeepStrictEqual(value, keySchema?.default)
  }).map((key) => `${key} is set, but has no effect in this version`)
}
