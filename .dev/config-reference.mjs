// Generates the configuration reference as Markdown from the schema.

const introduction = `# Configuration reference

Generated from the schema by \`npm run config:schema\`. [\`config/reference.yaml\`](../config/reference.yaml) has the same texts as a
commented file, with examples. svc reads the file that \`SVC_CONFIG\` names, otherwise \`svc.yaml\` or \`config/svc.yaml\`. An invalid
file stops the start with exit code 78 and prints every error with its line.

- Any value can contain \`\${NAME}\` or \`\${NAME:-default}\`. A variable that is not set and has no default is an error.
- Any secret can be \`{ file: /run/secrets/name }\`.
- Environment variables that override the file: \`SVC_URL\` (\`app.url\`), \`PORT\` (\`server.port\`), \`DATABASE_URL\`
  (\`database.url\`), \`REDIS_URL\` (\`redis.url\`), \`SVC_SECRET\` (\`app.secret\`, comma-separated), \`SVC_STATEFUL_DOMAINS\`
  (\`stateful\`, comma-separated), \`LOG_LEVEL\` (\`log.level\`), \`HTTPS_PROXY\` and \`NO_PROXY\` (\`outbound\`). In development, \`PORT\` alone also moves an \`app.url\` such as \`http://localhost:8000\`.
- Durations are \`30s\`, \`15m\`, \`2h\` or \`30d\`.
- *live*: a change takes effect within seconds ([reload.md](reload.md)). *restart*: a change takes effect with the next start.
`

/** The whole document. */
export function referenceOf(schema) {
  const sections = Object.entries(schema.properties).map(
    ([name, section]) => `## ${name}\n\n${sectionText(name, section)}`,
  )
  return `${[introduction, overview(schema), ...sections].join('\n')}`
}

/** A table of the sections, each with the first sentence of its description. */
function overview(schema) {
  const rows = Object.entries(schema.properties).map(([name, { description = '' }]) => {
    const [sentence] = /^.*?\.(?= |$)/s.exec(plain(description)) ?? [description]
    return `| [\`${name}\`](#${name}) | ${sentence.replaceAll('|', '\\|')} |`
  })
  return `| Section | Purpose |\n| --- | --- |\n${rows.join('\n')}\n`
}

function sectionText(name, section) {
  const entry = section.items?.properties ? section.items : Object.values(section.patternProperties ?? {})[0]
  if (section.properties) return `${plain(section.description)}\n\n${table(rowsOf(section))}`
  if (entry?.properties)
    return `${plain(section.description)} ${changeText(section)}${plain(entry.description)}\n\n${table(rowsOf(entry))}`
  return table([row(name, section)])
}

const changeText = (schema) => (schema['x-svc-reload'] ? `Changes: ${schema['x-svc-reload']}. ` : '')

/** A row for each key, including the keys of nested objects. */
function rowsOf({ properties, required = [] }, path = '') {
  const keys = Object.entries(properties)
  return keys.flatMap(([key, schema]) => {
    const inner = isSecret(schema) ? undefined : schema.properties
    const own = row(path + key, schema, required.includes(key) && !('default' in schema))
    return inner ? [own, ...rowsOf(schema, `${path}${key}.`)] : [own]
  })
}

// A secret may be an object that names a file; the reference shows it as one value.
const isSecret = (schema) => Boolean(schema['x-svc-fileable'])

function row(key, schema, isRequired = false) {
  const fallback = 'default' in schema ? code(JSON.stringify(schema.default)) : isRequired ? '**required**' : ''
  return [code(key), fallback, allowed(schema), schema.description ?? '', schema['x-svc-reload'] ?? '']
}

function allowed(schema) {
  const choices = schema.enum ?? schema.items?.enum
  if (choices) return choices.map((choice) => code(String(choice))).join(' ')
  const expected = schema['x-svc-expected'] ?? schema.items?.['x-svc-expected']
  if (isSecret(schema)) return expected ?? 'text, or `{ file }`'
  if (expected) return schema.items ? `a list: ${expected}` : expected
  const { minimum, maximum } = schema
  if (minimum !== undefined) return `${minimum} ${maximum === undefined ? 'or more' : `to ${maximum}`}`
  const types = [schema.type ?? []].flat().filter((type) => type !== 'null')
  return types.map((type) => (type === 'array' ? 'list' : type === 'object' ? 'mapping' : type)).join(' or ')
}

/** Escapes what Markdown would read as an HTML tag. */
const plain = (text) => text.replace(/<(?=[\w. -]+>)/g, '\\<')

const code = (text) => `\`${text}\``

function table(rows) {
  const lines = [['Key', 'Default', 'Value', 'Meaning', 'Change'], ['---', '---', '---', '---', '---'], ...rows]
  return `${lines.map((cells) => `| ${cells.map((cell) => plain(cell.replaceAll('|', '\\|'))).join(' | ')} |`).join('\n')}\n`
}
