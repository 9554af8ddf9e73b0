import { isDeepStrictEqual } from 'node:util'
import { childSchema, isMapping, type Schema } from './walk.ts'

/** Keys that are validated but do nothing yet; whoever builds the feature deletes its lines. */
const NOT_BUILT = ['webhooks']

/** One warning for each key that is set to something other than its default and that nothing uses yet. */
export function notBuiltWarnings(given: unknown, schema: Schema): string[] {
  return NOT_BUILT.filter((key) => {
    const steps = key.split('.')
    const value = steps.reduce<unknown>((part, step) => (isMapping(part) ? part[step] : undefined), given)
    const keySchema = steps.reduce<Schema | undefined>((part, step) => part && childSchema(part, step), schema)
    return value !== undefined && !isDeepStrictEqual(value, keySchema?.default)
  }).map((key) => `${key} is set, but this version does not use it yet`)
}
