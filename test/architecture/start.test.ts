// engine: none
import { dirname, join, normalize } from 'node:path'
import t from 'tap'
import { code, sources } from '../support/sources.ts'

/** Modules that many servers never need. Loading all of them at the start would cost 100 ms and 15 MB. */
const onFirstUse = [
  // Hashing threads load these. Native code takes several megabytes in each thread.
  '@node-rs/argon2',
  '@node-rs/bcrypt',
  'oidc-provider',
  '@simplewebauthn/server',
  'nodemailer',
  'ioredis',
  'libsql',
  'mariadb',
  'prom-client',
  '@opentelemetry/sdk-trace-node',
  // An import of these also loads Node's implementation of fetch.
  'node:http',
  'node:https',
]

/** Modules that a file imports for values when it loads: neither types nor `import()`. */
function loadedBy(text: string): string[] {
  const statements = code(text).matchAll(/^(?:import|export) (?!type )(?:([^'";]*?) from )?'([^']+)'/gm)
  return [...statements]
    .filter(([, names = '']) => !/^\{(\s*type [^,}]+,?)+\s*\}$/.test(names))
    .map(([, , module = '']) => module)
}

t.test('loads large modules on first use instead of at the start', async (t) => {
  t.same(loadedBy("import { type A } from 'a'\nimport type B from 'b'\nimport C, { type D } from 'c'"), ['c'])
  const files = new Map(sources.map(({ file, text }) => [file, text]))
  const importer = new Map<string, string>([['process/serve.ts', 'process/start.ts']])
  const found = new Map<string, string>()
  for (const [file] of importer) {
    for (const module of loadedBy(files.get(file) ?? '')) {
      const target = module.startsWith('.') ? normalize(join(dirname(file), module)) : module
      if (onFirstUse.includes(target)) found.set(target, file)
      else if (files.has(target) && !importer.has(target)) importer.set(target, file)
    }
  }
  t.ok(importer.size > 300, 'the modules of a start are found')
  const path = (file: string): string =>
    file === 'process/start.ts' ? file : `${path(importer.get(file) ?? 'process/start.ts')} > ${file}`
  t.same(
    [...found].map(([module, file]) => `${module}: ${path(file)}`),
    [],
  )
})
