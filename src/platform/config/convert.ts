import { toMilliseconds, toRate } from './units.ts'
import { mapValue, type Schema } from './walk.ts'

/** Converts durations and rates from text to numbers, where the schema marks them. */
export function convertUnits(value: unknown, schema: Schema): unknown {
  return mapValue(value, schema, (part, partSchema) => {
    const unit = partSchema['x-svc-unit']
    if (typeof part === 'number' && unit) return toMilliseconds(`${part}${unit}`)
    // YAML 1.1, which Helm uses, reads off as false.
    if (part === false && partSchema['x-svc-off']) return 0
    if (typeof part !== 'string') return part
    if (partSchema['x-svc-kind'] === 'duration') return toMilliseconds(part)
    if (partSchema['x-svc-kind'] === 'rate') return toRate(part)
    return part
  })
}
