// Finds the breaking changes between what is public in two versions, as docs/versioning.md defines them.

/** Methods of a path, without its shared parts. */
const methods = ['get', 'post', 'put', 'patch', 'delete']

/** Schemas deeper than this are recursive. */
const maxDepth = 12

/** Restrictions of a value. A stricter restriction in the second description breaks requests. */
const limits = {
  maxLength: (before, after) => after < (before ?? Number.POSITIVE_INFINITY),
  maxItems: (before, after) => after < (before ?? Number.POSITIVE_INFINITY),
  maximum: (before, after) => after < (before ?? Number.POSITIVE_INFINITY),
  minLength: (before, after) => after > (before ?? 0),
  minItems: (before, after) => after > (before ?? 0),
  minimum: (before, after) => after > (before ?? Number.NEGATIVE_INFINITY),
  pattern: (before, after) => after !== before,
  format: (before, after) => after !== before,
}

/** Returns a sentence for each breaking change. */
export function breakingChanges(before, after) {
  return [
    ...apiChanges(before.api, after.api),
    ...inputChanges(before.configuration, after.configuration, 'configuration'),
    ...commandChanges(before.commands, after.commands),
    ...without(before.events, new Set(after.events)).map((name) => `event ${name}: removed`),
    ...answerChanges(before.webhooks, after.webhooks, 'webhook message'),
    ...metricChanges(before.metrics, after.metrics),
  ]
}

/** Changes of the API. Each sentence begins with its operation. */
function apiChanges(before, after) {
  const found = []
  for (const [path, operations] of Object.entries(before.paths)) {
    for (const method of methods.filter((name) => operations[name])) {
      const name = `${method.toUpperCase()} ${path}`
      const now = after.paths[path]?.[method]
      if (!now) found.push(`${name}: removed`)
      else
        found.push(
          ...operationChanges(operations[method], now, { before, after }).map((change) => `${name}: ${change}`),
        )
    }
  }
  return found
}

const inputChanges = (before, after, place) =>
  requestChanges(resolved(before, before), resolved(after, after), place).filter(isFirst)

function commandChanges(before, after) {
  return Object.entries(before).flatMap(([name, { arguments: words, options, aliases }]) => {
    const now = after[name]
    const place = `command ${name}`
    if (!now) return [`${place}: removed`]
    const changedOptions = Object.entries(options).flatMap(([option, kind]) => {
      if (!now.options[option]) return [`${place}: --${option} removed`]
      return now.options[option] === kind ? [] : [`${place}: --${option} is now a ${now.options[option]}`]
    })
    const required = now.arguments.filter((word) => !word.startsWith('[') && !words.includes(word))
    return [
      ...changedOptions,
      ...without(aliases, new Set(now.aliases)).map((alias) => `${place}: the alias ${alias} removed`),
      ...(now.arguments.length < words.length ? [`${place}: an argument removed`] : []),
      ...required.map((word) => `${place}: <${word}> is required`),
    ]
  })
}

function metricChanges(before, after) {
  return Object.entries(before).flatMap(([name, { type, labels }]) => {
    const now = after[name]
    if (!now) return [`metric ${name}: removed`]
    return [
      ...(now.type === type ? [] : [`metric ${name}: is now a ${now.type}`]),
      ...without(labels, new Set(now.labels)).map((label) => `metric ${name}: the label ${label} removed`),
    ]
  })
}

const isFirst = (change, at, all) => all.indexOf(change) === at

function operationChanges(old, now, documents) {
  const before = resolved(old, documents.before)
  const after = resolved(now, documents.after)
  return [
    ...(before.operationId === after.operationId
      ? []
      : [`operation id changed from ${before.operationId} to ${after.operationId}`]),
    ...securityChanges(before.security ?? [], after.security ?? []),
    ...parameterChanges(before.parameters ?? [], after.parameters ?? []),
    ...bodyChanges(before.requestBody, after.requestBody),
    ...Object.entries(before.responses).flatMap(([status, response]) =>
      after.responses[status]
        ? responseChanges(response, after.responses[status]).map((change) => `response ${status} ${change}`)
        : [`response ${status} removed`],
    ),
  ]
}

/** An operation without requirements is public. */
function securityChanges(before, after) {
  const names = (requirement) => Object.keys(requirement).sort().join(' and ')
  const accepted = new Set(after.map(names))
  if (accepted.size === 0) return []
  if (before.length === 0) return ['authentication is required']
  return before
    .map(names)
    .flatMap((name) => (accepted.has(name) ? [] : [`authentication by ${name || 'nothing'} removed`]))
}

function parameterChanges(before, after) {
  const find = (list, { name, in: place }) => list.find((each) => each.name === name && each.in === place)
  return [
    ...before.flatMap((old) => {
      const now = find(after, old)
      const name = `parameter ${old.name} (${old.in})`
      if (!now) return [`${name} removed`]
      return [
        ...(now.required && !old.required ? [`${name} is required`] : []),
        ...requestChanges(old.schema ?? {}, now.schema ?? {}, name),
      ]
    }),
    ...after.flatMap((now) =>
      now.required && !find(before, now) ? [`parameter ${now.name} (${now.in}) is new and required`] : [],
    ),
  ]
}

function bodyChanges(before, after) {
  if (!before) return after?.required ? ['a request body is required'] : []
  if (!after) return ['the request body removed']
  return [
    ...(after.required && !before.required ? ['the request body is required'] : []),
    ...Object.entries(before.content).flatMap(([type, { schema = {} }]) =>
      after.content[type]
        ? requestChanges(schema, after.content[type].schema ?? {}, 'request')
        : [`request ${type} removed`],
    ),
  ].filter(isFirst)
}

function responseChanges(before, after) {
  return [
    ...Object.keys(before.headers ?? {}).flatMap((name) => (after.headers?.[name] ? [] : [`header ${name} removed`])),
    ...Object.entries(before.content ?? {}).flatMap(([type, { schema = {} }]) =>
      after.content?.[type] ? answerChanges(schema, after.content[type].schema ?? {}, type) : [`${type} removed`],
    ),
  ]
}

const typesOf = ({ type, const: value, enum: values }) =>
  new Set(type ? [type].flat() : (values ?? (value === undefined ? [] : [value])).map((each) => typeof each))

const valuesOf = ({ const: value, enum: values }) => values ?? (value === undefined ? null : [value])

const without = (list, others) => [...list].filter((each) => !others.has(each))

/** Changes of what a client may send. */
function requestChanges(before, after, place, depth = 0) {
  if (depth > maxDepth) return []
  const [types, now] = [typesOf(before), typesOf(after)]
  const lost = now.size === 0 ? [] : types.size === 0 ? ['any'] : without(types, now)
  const values = valuesOf(after)
  const lostValues = values && without(valuesOf(before) ?? ['other values'], new Set(values))
  const required = without(new Set(after.required ?? []), new Set(before.required ?? []))
  return [
    ...lost
      .filter((type) => type !== 'integer' || !now.has('number'))
      .map((type) => `${place} no longer accepts the type ${type}`),
    ...(lostValues ?? []).map((value) => `${place} no longer accepts ${JSON.stringify(value)}`),
    ...Object.entries(limits).flatMap(([limit, isStricter]) =>
      after[limit] !== undefined && isStricter(before[limit], after[limit]) ? [`${place} has a stricter ${limit}`] : [],
    ),
    ...required.map((name) => `${place}.${name} is required`),
    ...fieldChanges(before, after, place, requestChanges, depth),
  ]
}

/** Changes of what a client gets. New fields and values are allowed. */
function answerChanges(before, after, place, depth = 0) {
  if (depth > maxDepth) return []
  const gained = without(typesOf(after), typesOf(before))
  const [types, now] = [typesOf(before), typesOf(after)]
  const optional = without(new Set(before.required ?? []), new Set(after.required ?? []))
  return [
    ...(types.size > 0 && now.size === 0 ? [`${place} can have any type`] : []),
    ...(types.size > 0
      ? gained
          .filter((type) => type !== 'integer' || !types.has('number'))
          .map((type) => `${place} can have the type ${type}`)
      : []),
    ...optional.filter((name) => after.properties?.[name]).map((name) => `${place}.${name} can be absent`),
    ...fieldChanges(before, after, place, answerChanges, depth),
  ]
}

/** Changes of the properties, the items and the values of maps. */
function fieldChanges(before, after, place, compare, depth) {
  const [properties, now] = [before.properties ?? {}, after.properties ?? {}]
  return [
    ...Object.keys(properties).flatMap((name) =>
      now[name] ? compare(properties[name], now[name], `${place}.${name}`, depth + 1) : [`${place}.${name} removed`],
    ),
    ...(before.items && after.items ? compare(before.items, after.items, `${place}[]`, depth + 1) : []),
    ...(isSchema(before.additionalProperties) && isSchema(after.additionalProperties)
      ? compare(before.additionalProperties, after.additionalProperties, `${place}.*`, depth + 1)
      : []),
    ...['anyOf', 'oneOf', 'allOf'].flatMap((key) => {
      const [old, parts] = [before[key] ?? [], after[key] ?? []]
      if (old.length !== parts.length) return [`${place} has other alternatives`]
      return old.flatMap((part, at) => compare(part, parts[at], place, depth + 1))
    }),
  ]
}

const isSchema = (value) => typeof value === 'object' && value !== null

/** A part of a document with its references replaced. */
function resolved(value, document, depth = 0) {
  if (Array.isArray(value)) return value.map((part) => resolved(part, document, depth + 1))
  if (!isSchema(value) || depth > 4 * maxDepth) return value
  if (typeof value.$ref === 'string') {
    const target = value.$ref
      .slice(2)
      .split('/')
      .reduce((part, key) => part[key.replaceAll('~1', '/').replaceAll('~0', '~')], document)
    return resolved(target, document, depth + 1)
  }
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, resolved(part, document, depth + 1)]))
}
