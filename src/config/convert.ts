import { toMilliseconds, toRate } from './units.ts'
import { mapValue, type Schema } from './walk.ts'

/** Turns the texts of durations and rates into numbers, wherever the schema says that they are such. */
export function convertUnits(value: unknown, schema: Schema): unknown {
  return mapValue(value, schema, (part, partSchema) => {
    if (typeof part !== 'string') return part
    if (partSchema['x-svc-kind'] === 'duration') return toMilliseconds(part)
    if (partSchema['x-svc-kind'] === 'rate') return toRate(part)
    return part
  })
}
