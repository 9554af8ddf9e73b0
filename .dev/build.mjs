// npm run build: bundles src and its packages into dist for the image, if something changed since the last build. A few
// files instead of 1,600 start with a fifth less processor time and need 20 MB less memory.
import { createHash } from 'node:crypto'
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, extname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build, transformSync } from 'esbuild'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const source = join(root, 'src')
/** What a build for `npm run bench:savings` leaves out. */
const without = process.env.SVC_WITHOUT ?? ''
const target = without ? join(root, `dist.without-${without}`) : join(root, 'dist')
const stamp = join(target, '.stamp')

/** Packages that load files of their own, such as native code and threads, or that not every installation has. */
const external = ['@fastify/otel', '@node-rs/*', '@opentelemetry/*', 'libsql', 'mariadb', 'piscina']

/** CommonJS packages that svc loads on first use. Bundled, they would lose the names that they export. */
const externalCommonJs = ['ioredis', 'pino-pretty']

/** Packages whose errors have the name of something else in the bundle. Renamed, they would have another type in the log. */
const keepsNames = /[\\/]node_modules[\\/](@prisma[\\/]client-runtime-utils|pg-protocol)[\\/].*js$/

const hashingThread = 'src/auth/sign-in/hashing-worker.ts'

const sources = filesIn(source)
const inputs = createHash('sha256')
for (const file of [join(root, '.dev/build.mjs'), join(root, 'package-lock.json'), ...sources]) {
  const { mtimeMs, size } = statSync(file)
  inputs.update(`${relative(root, file)}\0${mtimeMs}\0${size}\0`)
}
const wanted = inputs.digest('hex')

async function bundle() {
  process.stderr.write('building\n')
  // Beside dist, so that a server that is running, or starting at the same time, never sees an incomplete build.
  const fresh = `${target}.${process.pid}`
  try {
    await compile(fresh)
    copyOtherFiles(fresh)
    writeFileSync(join(fresh, '.stamp'), wanted)
    rmSync(target, { recursive: true, force: true })
    renameSync(fresh, target)
  } catch (error) {
    rmSync(fresh, { recursive: true, force: true })
    // Another process may have finished the same build a moment earlier.
    if (!isBuilt()) throw error
  }
}

/** Keeps the names of functions, and so readable stack traces. The source maps lead to the lines in src. */
async function compile(outdir) {
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: ['src/main.ts', 'src/cli.ts', hashingThread],
    outbase: 'src',
    outdir,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node24',
    minifyWhitespace: true,
    define: { 'globalThis.svcWithout': JSON.stringify(without) },
    // The packages in the image have their licenses.
    legalComments: 'none',
    sourcemap: true,
    sourcesContent: false,
    metafile: true,
    external: [...external, ...externalCommonJs],
    banner: { js: "import{createRequire as requireOf}from'node:module';const require=requireOf(import.meta.url);" },
    plugins: [ownLocations, ownNames, compilerAsFile],
    logLevel: 'warning',
  })
  check(metafile)
}

/** Throws if the bundle would behave differently from the modules. */
function check({ inputs, outputs }) {
  const imported = Object.entries(inputs).flatMap(([file, { imports }]) => (file.startsWith('src/') ? imports : []))
  for (const { kind, path } of imported) {
    if (kind === 'dynamic-import' && inputs[path]?.format === 'cjs') {
      throw new Error(
        `${path} is CommonJS and loaded on first use: add its package to externalCommonJs in .dev/build.mjs`,
      )
    }
  }
  for (const [file, { entryPoint, inputs: parts }] of Object.entries(outputs)) {
    if (!file.endsWith('.js')) continue
    if (entryPoint === hashingThread && Object.keys(parts).length > 1)
      throw new Error(`${file} contains other modules, which would look for their files beside it.`)
    const text = readFileSync(join(root, file), 'utf8')
    const [, renamed] = /\b(\w+Error)\d+=class\b[^{]*\{(?!static\{__name\()/.exec(text) ?? []
    if (renamed)
      throw new Error(`The bundle renames the class ${renamed}: add its package to keepsNames in .dev/build.mjs`)
  }
}

/** Sets the names of classes and functions in these packages explicitly, so that a bundle can rename their variables. */
const ownNames = {
  name: 'own-names',
  setup(builder) {
    builder.onLoad({ filter: keepsNames }, ({ path }) => {
      const options = { keepNames: true, sourcefile: path, sourcemap: 'inline' }
      return { contents: transformSync(readFileSync(path, 'utf8'), options).code, loader: 'js' }
    })
  },
}

/** Bundled modules find the files beside them, such as templates, where `copyOtherFiles` puts them. */
const ownLocations = {
  name: 'own-locations',
  setup(builder) {
    builder.onLoad({ filter: /\.ts$/ }, ({ path }) => {
      const text = readFileSync(path, 'utf8')
      if (!path.startsWith(source) || !text.includes('import.meta.')) return null
      const module = relative(source, path).replaceAll('\\', '/').replace(/\.ts$/, '.js')
      // All output files are at the top of dist, except the hashing thread, which contains no other module.
      const contents = text
        .replaceAll('import.meta.url', `new URL('./${module}', import.meta.url).href`)
        .replaceAll('import.meta.dirname', `(import.meta.dirname + '/${dirname(module)}')`)
      return { contents, loader: 'ts' }
    })
  },
}

/**
 * Reads the query compiler of Prisma from its file when the client decodes it. As part of the bundle, its text of 2 MB would
 * stay in memory several times. `Buffer.from` takes the value of an object, so nothing keeps the text afterwards.
 */
const compilerAsFile = {
  name: 'compiler-as-file',
  setup(builder) {
    builder.onLoad({ filter: /query_compiler_small_bg\.\w+\.wasm-base64\.mjs$/ }, ({ path }) => {
      const name = `@prisma/client/runtime/${basename(path)}`
      const contents = `import { readFileSync } from 'node:fs'
        const file = new URL(import.meta.resolve('${name}'))
        export const wasm = { valueOf: () => readFileSync(file, 'latin1').split('"')[1] }`
      return { contents, loader: 'js' }
    })
  },
}

function copyOtherFiles(folder) {
  for (const file of sources) {
    if (extname(file) === '.ts') continue
    const copy = join(folder, relative(source, file))
    mkdirSync(dirname(copy), { recursive: true })
    cpSync(file, copy)
  }
  chmodSync(join(folder, 'cli.js'), 0o755)
}

function isBuilt() {
  return existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted
}

function filesIn(folder) {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => !entry.name.startsWith('.'))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => (entry.isDirectory() ? filesIn(join(folder, entry.name)) : [join(folder, entry.name)]))
}

if (!isBuilt()) await bundle()
