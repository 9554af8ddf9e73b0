import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'

interface Kind {
  group: string
  version: string
  kind: string
}

type Schema = Record<string, unknown>

interface Sources {
  /** The OpenAPI description of Kubernetes. */
  openApi: string
  /** Definitions of custom resources. */
  customResources: string[]
  target: string
}

/** Makes JSON schemas for kubeconform, one file for each kind. They are strict: an unknown key is an error. */
export function writeSchemas({ openApi, customResources, target }: Sources): void {
  mkdirSync(target, { recursive: true })
  const { definitions } = JSON.parse(readFileSync(openApi, 'utf8')) as { definitions: Record<string, Schema> }
  for (const [name, definition] of Object.entries(definitions)) {
    const [kind, ...others] = (definition['x-kubernetes-group-version-kind'] ?? []) as Kind[]
    // Several groups: types that every group shares, such as DeleteOptions.
    if (!kind || others.length > 0) continue
    const needed = [...reachable(definitions, name)].map((one) => [one, special[one] ?? strictly(definitions[one])])
    write(target, kind, { $ref: `#/definitions/${name}`, definitions: Object.fromEntries(needed) })
  }
  for (const file of customResources) {
    const { group, names, versions } = parse(readFileSync(file, 'utf8')).spec
    for (const { name, schema } of versions) {
      write(target, { group, version: name, kind: names.kind }, strictly(schema.openAPIV3Schema))
    }
  }
}

/** By the name that kubeconform expects (`{{.ResourceKind}}{{.KindSuffix}}`). */
function write(target: string, { group, version, kind }: Kind, schema: unknown): void {
  const name = [kind, group.split('.')[0], version].filter((part) => part !== '').join('-')
  writeFileSync(join(target, `${name.toLowerCase()}.json`), JSON.stringify(schema))
}

/** A definition and all definitions that it refers to, directly or indirectly. */
function reachable(definitions: Record<string, Schema>, name: string, found = new Set<string>()): Set<string> {
  if (found.has(name)) return found
  found.add(name)
  for (const [, other = ''] of JSON.stringify(definitions[name]).matchAll(/"#\/definitions\/([^"]+)"/g)) {
    reachable(definitions, other, found)
  }
  return found
}

/** Values that are described as strings and may also be numbers. */
const special: Record<string, Schema> = Object.fromEntries(
  ['api.resource.Quantity', 'util.intstr.IntOrString'].map((name) => [
    `io.k8s.apimachinery.pkg.${name}`,
    { type: ['string', 'number'] },
  ]),
)

function strictly(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(strictly)
  if (typeof schema !== 'object' || schema === null) return schema
  const given = schema as Schema
  const strict = Object.fromEntries(Object.entries(given).map(([key, value]) => [key, strictly(value)]))
  // The `properties` of a schema, as opposed to a property with that name.
  const isClosed =
    given.type === 'object' &&
    typeof given.properties === 'object' &&
    !('additionalProperties' in given) &&
    !given['x-kubernetes-preserve-unknown-fields']
  return isClosed ? { ...strict, additionalProperties: false } : strict
}
