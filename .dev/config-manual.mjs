// Generates the commented configuration file from the schema.
import { stringify } from 'yaml'

const width = 120

const introduction = `# yaml-language-server: $schema=./svc.schema.json
#
# The reference of the configuration. svc does not read it: copy what you need to your own file. svc reads the file that
# SVC_CONFIG names, otherwise svc.yaml or config/svc.yaml in its working directory.
# Developers of svc: \`npm run config:schema\` generates this file from the descriptions in src/platform/config/sections.
#
# It lists every key. Keys without a # in front have their default value, so this file behaves like an empty one. Keys
# behind a # have no default, or one that depends on other keys; they show an example. [restart] marks keys whose change
# needs a restart. Every other change takes effect when you save the file or send SIGHUP: docs/reload.md.
#
# Relative paths start at svc's working directory.
#
# Values
#   Durations       30s, 15m, 2h, 30d. Seconds, minutes, hours, days.
#   Environment     \${NAME} or \${NAME:-default}, anywhere in a value. A variable that is not set and has no default is
#                   an error. Write $\${ for a literal \${. Some variables override a key; the comment above it names
#                   them. SVC_SECRET and SVC_STATEFUL_DOMAINS are comma-separated lists.
#   Secrets         can be in a file: { file: /run/secrets/name }. svc removes one newline at the end. This also works
#                   for the URLs of the database, Redis and mail, which contain passwords.
#   Empty           a key without a value counts as not set. null is a value.
#
# An invalid file stops the start with exit code 78. svc prints every error with its line and key. An invalid reload
# changes nothing, and svc logs the errors.
`

/** The whole file. \`variables\` override keys of the file. */
export function manualOf(schema, variables) {
  const names = new Map(variables.map(({ name, path }) => [path.join('.'), name]))
  const sections = Object.entries(schema.properties).map(([key, section]) =>
    linesOf(key, section, '', names).join('\n'),
  )
  return `${[introduction, ...sections].join('\n').trimEnd()}\n`
}

function linesOf(key, schema, indent, names, path = key, isRequired = false) {
  const comment = commentOf(schema, indent, names.get(path))
  if (isSection(schema)) {
    const keys = Object.entries(schema.properties)
    const inner = keys.flatMap(([name, child]) => linesOf(name, child, `${indent}  `, names, `${path}.${name}`))
    return [...comment, `${indent}${key}:`, ...inner, ...(indent === '' ? [''] : [])]
  }
  if (schema.properties && !schema['x-svc-fileable'] && !schema.examples) {
    const inner = Object.entries(schema.properties).flatMap(([name, child]) =>
      linesOf(name, child, `${indent}#   `, names, '', schema.required?.includes(name) && !('default' in child)),
    )
    return [...comment, `${indent}# ${key}:`, ...inner]
  }
  const entry = schema.items?.properties ? schema.items : Object.values(schema.patternProperties ?? {})[0]
  const below = [...keysOf(entry, Boolean(schema.items), indent), ...examplesOf(schema, indent)]
  const [example] = schema.examples ?? []
  const isShown = example === undefined || isRequired
  const line = `${indent}${isShown ? '' : '# '}${key}: ${inline(example ?? schema.default)}`
  return [...comment, line, ...below, ...(indent === '' ? [''] : [])]
}

const isSection = (schema) => schema.properties && 'default' in schema && !schema['x-svc-fileable']

function commentOf(schema, indent, variable) {
  const values = schema.enum?.filter((value) => value !== null)
  const notes = [
    values && `Values: ${values.join(', ')}.`,
    variable && `Environment: ${variable}.`,
    schema['x-svc-reload'] === 'restart' && '[restart]',
  ].filter(Boolean)
  const prefix = `${indent}# `
  return [...wrapped(schema.description, prefix), ...(notes.length > 0 ? wrapped(notes.join(' '), prefix) : [])]
}

/** Explains the keys of an entry of a list or mapping. */
function keysOf(entry, isList, indent) {
  if (!entry?.properties || entry['x-svc-fileable']) return []
  const keys = Object.entries(entry.properties).flatMap(([name, child]) =>
    linesOf(name, child, `${indent}#    `, new Map(), '', entry.required?.includes(name) && !('default' in child)),
  )
  const start = isList ? [] : [`${indent}#  <name>:`]
  if (isList) keys[0] = keys[0].replace(`${indent}#    `, `${indent}#  - `)
  return [...wrapped(entry.description, `${indent}#  # `), ...start, ...keys]
}

function examplesOf({ items, 'x-svc-entries': entries = [] }, indent) {
  return entries.flatMap(({ about, value }) => {
    const lines = items ? block(value) : Object.entries(value).flatMap(([name, inner]) => mapped(name, inner))
    return [
      ...(about ? wrapped(`Example: ${about}`, `${indent}#  # `) : []),
      ...lines.map((line) => `${indent}#  ${line}`),
    ]
  })
}

const block = (value) =>
  Object.entries(value).map(([key, inner], index) => `${index === 0 ? '- ' : '  '}${key}: ${inline(inner)}`)

const mapped = (name, value) =>
  typeof value === 'object'
    ? [`${name}:`, ...Object.entries(value).map(([key, inner]) => `  ${key}: ${inline(inner)}`)]
    : [`${name}: ${inline(value)}`]

/** Writes a value in one line. */
function inline(value) {
  if (Array.isArray(value)) return `[${value.map(inFlow).join(', ')}]`
  if (typeof value === 'object' && value !== null) {
    const pairs = Object.entries(value).map(([key, inner]) => `${key}: ${inFlow(inner)}`)
    return pairs.length === 0 ? '{}' : `{ ${pairs.join(', ')} }`
  }
  return stringify(value, { lineWidth: 0 }).trim()
}

function inFlow(value) {
  if (typeof value === 'object' && value !== null) return inline(value)
  // Quotes are not required for `a:1`, but readers may take it for a mapping.
  if (typeof value === 'string' && value.includes(':')) return JSON.stringify(value)
  return stringify([value], { lineWidth: 0, collectionStyle: 'flow', flowCollectionPadding: false }).trim().slice(1, -1)
}

function wrapped(text, prefix) {
  const lines = ['']
  for (const word of text.split(' ')) {
    const line = lines.at(-1)
    if (line !== '' && prefix.length + line.length + 1 + word.length > width) lines.push(word)
    else lines[lines.length - 1] = line === '' ? word : `${line} ${word}`
  }
  return lines.map((line) => prefix + line)
}
