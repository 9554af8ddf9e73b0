// The schema of the Helm chart's values, with the configuration's keys and types in `config`. svc checks the rest.

// Any value except a section may be written as ${NAME}, whatever its type.
const substitution = '\\$\\{'

/** The chart builds addresses from this value, so it must not contain ${NAME}. */
const publicUrl = { type: 'string', pattern: '^https?://[^/]+$' }

export function chartSchemaOf(configuration, chart) {
  const config = { ...structureOf(configuration), type: 'object' }
  config.properties.app.properties.url = publicUrl
  return `${JSON.stringify({ ...chart, properties: { ...chart.properties, config } }, null, 2)}\n`
}

/** Keys, types and choices of a schema. No key is required here, because another file or the environment may set it. */
function structureOf({ type, properties, patternProperties, additionalProperties, items, enum: values }) {
  if (values) return { anyOf: [{ enum: values }, { type: 'string', pattern: substitution }] }
  return {
    ...(type !== undefined && typeOf([type].flat())),
    ...(properties && { properties: mapEntries(properties, (key, value) => [key, structureOf(value)]) }),
    // Helm's regular expressions have no look-ahead.
    ...(patternProperties && {
      patternProperties: mapEntries(patternProperties, (pattern, value) => [
        pattern.replace(/\(\?!.*?\)/g, ''),
        structureOf(value),
      ]),
    }),
    ...(additionalProperties !== undefined && { additionalProperties }),
    ...(items && { items: structureOf(items) }),
  }
}

function typeOf(types) {
  // A section whose keys are all comments is null.
  if (types.includes('object')) return { type: [...new Set([...types, 'null'])] }
  if (types.includes('string')) return { type: types.length === 1 ? 'string' : types }
  return { type: [...types, 'string'], pattern: substitution }
}

const mapEntries = (object, change) =>
  Object.fromEntries(Object.entries(object).map(([key, value]) => change(key, value)))
