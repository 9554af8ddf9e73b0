// engine: none
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import t from 'tap'
import { parseDocument, stringify } from 'yaml'
import { loadConfig, parseConfig } from '../../../src/platform/config/load.ts'
import { configSchema } from '../../../src/platform/config/schema.ts'
import { createValidator } from '../../../src/platform/config/validate.ts'
import { isMapping, type Schema } from '../../../src/platform/config/walk.ts'
import { SECRET } from './problems.ts'

const root = new URL('../../../', import.meta.url)
const read = (path: string) => readFileSync(new URL(path, root), 'utf8')
const manual = read('config/reference.yaml')
const schema = configSchema as unknown as Schema

t.test('sets nothing but defaults', (t) => {
  const cwd = new URL('.', root).pathname
  const withManual = loadConfig({ env: { SVC_CONFIG: 'config/reference.yaml' }, cwd })
  const without = parseConfig({ text: '', file: 'svc.yaml', env: {}, cwd })
  t.strictSame(withManual.config, without.config)
  t.strictSame(withManual.warnings, [])
  t.end()
})

t.test('explains every key of the schema in its section', (t) => {
  const parts = manual.split(/^(?=#? ?[a-z0-9_]+:)/m)
  for (const [name, section] of Object.entries(schema.properties ?? {})) {
    const part = parts.find((text) => new RegExp(`^(# )?${name}:`).test(text))
    t.ok(part, name)
    for (const key of keysBelow(section)) t.match(part, new RegExp(`\\b${key}:`), `${name}: ${key}`)
  }
  t.end()
})

t.test('has a comment above every key that is set', (t) => {
  const lines = manual.split('\n')
  for (const [index, line] of lines.entries()) {
    if (/^ *[a-z0-9_]+:/.test(line)) t.match(lines[index - 1], /^ *#/, line)
  }
  t.end()
})

t.test('marks exactly the keys that need a restart', (t) => {
  const marked: string[] = []
  let [section, comment] = ['', '']
  for (const line of manual.split('\n')) {
    const [, indent = '', key = ''] = /^( *)(?:# )?([a-z0-9_]+):(?: |$)/.exec(line) ?? []
    const parent = indent === '' ? schema : schema.properties?.[section]
    if (!parent?.properties?.[key]) comment += line
    else {
      if (indent === '') section = key
      if (comment.includes('[restart]')) marked.push(indent === '' ? key : `${section}.${key}`)
      comment = ''
    }
    if (line === '') comment = ''
  }
  t.strictSame(marked.sort(), restartKeys(schema).sort())
  t.end()
})

t.test('accepts its example entries', (t) => {
  const given = (name: string) => schema.properties?.[name]?.['x-svc-entries']?.map(({ value }) => value) ?? []
  const text = stringify({
    clients: given('clients'),
    scopes: Object.assign({}, ...given('scopes')),
    social: Object.assign({}, ...given('social')),
  })
  const complete = text
    .replaceAll('…', 'text')
    .replaceAll('<64 hexadecimal digits>', '0123456789abcdef'.repeat(4))
    .replaceAll(/file: .*/g, 'file: secret')
  const cwd = t.testdir({ secret: SECRET })
  t.doesNotThrow(() => parseConfig({ text: complete, file: 'svc.yaml', env: {}, cwd }))
  for (const name of ['clients', 'scopes', 'social']) t.ok(given(name).length > 0, name)
  t.end()
})

t.test('shows example values that their keys accept', async (t) => {
  const visit = async (node: Schema, path: readonly string[]) => {
    for (const example of node.examples ?? []) {
      const isPlaceholder = /^…$|</.test(String(example)) || (isMapping(example) && 'file' in example)
      const validate = await createValidator({ type: 'object', properties: { value: node } })
      if (!isPlaceholder) t.strictSame(validate({ value: example }).findings, [], path.join('.'))
    }
    const inner = { ...node.properties, ...node.patternProperties, ...(node.items && { '[]': node.items }) }
    for (const [key, child] of Object.entries(inner)) await visit(child, [...path, key])
  }
  await visit(schema, [])
})

t.test('is generated from the schema, like the schema for editors and the reference', (t) => {
  t.equal(manual.split('\n')[0], '# yaml-language-server: $schema=./svc.schema.json')
  t.match(read('config/examples/full.yaml').split('\n')[0], '$schema=../svc.schema.json')
  t.doesNotThrow(() =>
    execFileSync(process.execPath, ['.dev/config-schema.mjs', '--check'], { cwd: root, stdio: 'pipe' }),
  )
  t.end()
})

t.test('describes the purpose of every key and when a change applies', (t) => {
  const visit = (node: Schema, path: string, isKey: boolean) => {
    t.type(node.description, 'string', path)
    const isSection = node.properties && !node['x-svc-fileable']
    if (isKey && !isSection) t.match(node['x-svc-reload'], /^(live|restart)$/, path)
    if (isSection)
      for (const [key, child] of Object.entries(node.properties ?? {})) visit(child, `${path}.${key}`, true)
    if (node.items?.properties && !node.items['x-svc-fileable']) visit(node.items, `${path}[]`, false)
    for (const child of Object.values(node.patternProperties ?? {})) visit(child, `${path}.*`, false)
  }
  for (const [key, child] of Object.entries(schema.properties ?? {})) visit(child, key, true)
  t.end()
})

t.test('accepts a file that uses every section', (t) => {
  const text = read('config/examples/full.yaml')
  const parts = [text, read('config/examples/webhooks.yaml'), read('config/examples/clients.d/reports.yaml')]
  const names = [...parts.join('').matchAll(/\$\{(\w+)\}/g)].map(([, name = '']) => [name, SECRET] as const)
  const env = { ...Object.fromEntries(names), SVC_CONFIG: 'config/examples/full.yaml' }
  const { config, warnings } = loadConfig({ env, cwd: new URL('.', root).pathname })
  t.equal(config.app.environment, 'production')
  t.equal(config.clients.length, 10)
  t.equal(config.webhooks.length, 2)
  t.same(warnings, [])
  const used = parseDocument(text).toJS() as Record<string, unknown>
  t.strictSame(Object.keys(used).sort(), Object.keys(schema.properties ?? {}).sort())
  for (const name of Object.keys(schema.properties ?? {})) {
    const [given, section] = [used[name], schema.properties?.[name]]
    if (isMapping(given) && section?.properties) {
      t.strictSame(Object.keys(given).sort(), Object.keys(section.properties).sort(), name)
    }
  }
  t.end()
})

function keysBelow(schema: Schema): string[] {
  if (schema['x-svc-fileable']) return []
  const children = [...(schema.items ? [schema.items] : []), ...Object.values(schema.patternProperties ?? {})]
  const own = Object.entries(schema.properties ?? {}).flatMap(([key, child]) => [key, ...keysBelow(child)])
  return [...own, ...children.flatMap(keysBelow)]
}

function restartKeys(schema: Schema, path: readonly string[] = []): string[] {
  const own = schema['x-svc-reload'] === 'restart' ? [path.join('.')] : []
  return [
    ...own,
    ...Object.entries(schema.properties ?? {}).flatMap(([key, child]) => restartKeys(child, [...path, key])),
  ]
}
