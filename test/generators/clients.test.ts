// engine: none
import { execFile } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { startWithAda } from '../support/listening.ts'
import { temporaryDirectory } from '../support/process.ts'
import { type ApiTools, apiTools, hasRuntimes } from './tools.ts'

const root = resolve(import.meta.dirname, '../..')
const tools = apiTools()

if (!tools) {
  const line = 'THE CLIENT GENERATORS ARE NOT INSTALLED (npm run api:tools): NO CLIENT WAS GENERATED'
  process.stderr.write(`*** ${line} ***\n`)
  t.notOk(process.env.CI && hasRuntimes(), line)
} else {
  generateClients(tools)
}

function generateClients({ packages, python, openApiGenerator, javaLibraries }: ApiTools): void {
  const folder = temporaryDirectory(t)
  const description = join(folder, 'openapi.json')

  /** Runs a program and returns its output. A failure has the output in its message. */
  async function run(program: string, args: string[], options: { cwd?: string; env?: object } = {}): Promise<string> {
    const env = { ...process.env, ...options.env }
    const settings = { cwd: options.cwd ?? folder, env, maxBuffer: 100_000_000 }
    const { stdout, stderr } = await promisify(execFile)(program, args, settings).catch((error) => {
      throw new Error(`${program} ${args.join(' ')}\n${error.stdout}${error.stderr}`)
    })
    return `${stdout}${stderr}`
  }
  const runPackage = (name: string, script: string, args: string[]) =>
    run(process.execPath, [join(packages, name, script), ...args])
  const read = (file: string) => readFileSync(join(folder, file), 'utf8')
  const filesIn = (target: string, end: string) =>
    readdirSync(join(folder, target), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith(end))
      .map((file) => join(target, file))

  /** Compiles TypeScript as strictly as a new project does. */
  async function compile(file: string): Promise<void> {
    const compilerOptions = {
      noEmit: true,
      strict: true,
      target: 'es2022',
      module: 'esnext',
      moduleResolution: 'bundler',
      lib: ['es2022', 'dom', 'dom.iterable'],
      types: [],
    }
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: [file] }))
    await run(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', 'tsconfig.json'])
  }

  const generate = async (generator: string): Promise<void> => {
    const args = ['generate', '-i', description, '-g', generator, '-o', generator]
    // Generates once and exits, so a quick start matters more than optimised code.
    await run('java', ['-XX:TieredStopAtLevel=1', '-jar', openApiGenerator, ...args])
  }

  t.before(async () => {
    const svc = await startWithAda(t)
    const answer = await fetch(`${svc.url}/openapi.json`)
    writeFileSync(description, await answer.text())
    await svc.stop()
  })

  t.test('passes the lint of Redocly', async () => {
    await runPackage('@redocly/cli', 'bin/cli.js', ['lint', description])
  })

  t.test('gives openapi-typescript types that compile, in 58 lines per operation', async (t) => {
    await runPackage('openapi-typescript', 'bin/cli.js', [description, '-o', 'types.d.ts'])
    await compile('types.d.ts')
    const types = read('types.d.ts')
    const lines = types.split('\n').length - 1
    const { paths } = JSON.parse(read('openapi.json'))
    const count = Object.values<object>(paths).reduce((sum, methods) => sum + Object.keys(methods).length, 0)
    // 6,000 lines for the 102 operations that svc had when the limit was set.
    t.ok(lines <= 58 * count, `${lines} lines for ${count} operations`)
    t.notMatch(types, /: any\b/)
  })

  t.test('gives @hey-api/openapi-ts a client that compiles', async (t) => {
    await runPackage('@hey-api/openapi-ts', 'bin/run.js', ['-i', description, '-o', 'hey', '--no-log-file'])
    await compile('hey/index.ts')
    t.match(read('hey/sdk.gen.ts'), /export const login = /)
  })

  t.test('gives openapi-python-client modules that import', async (t) => {
    // The generator knows only common media types.
    const overrides = {
      'application/statuslist+jwt': 'text/plain',
      'image/vnd.microsoft.icon': 'application/octet-stream',
      'application/x-ndjson': 'application/octet-stream',
      'application/jsonl': 'application/octet-stream',
    }
    writeFileSync(join(folder, 'python.yaml'), `content_type_overrides: ${JSON.stringify(overrides)}\n`)
    const args = ['generate', '--path', description, '--output-path', 'svc_client', '--meta', 'none']
    args.push('--config', 'python.yaml')
    const env = { PATH: `${join(python, '..')}:${process.env.PATH}` }
    const output = await run(python, ['-m', 'openapi_python_client', ...args], { env })
    t.notMatch(output, /warning/i)
    const modules = filesIn('svc_client', '.py').map((file) =>
      file.replace(/(\/__init__)?\.py$/, '').replaceAll('/', '.'),
    )
    writeFileSync(join(folder, 'import_all.py'), modules.map((name) => `import ${name}\n`).join(''))
    await run(python, ['import_all.py'])
    t.match(read('svc_client/models/user.py'), /email_verified_at: datetime\.datetime \| None/)
  })

  t.test('gives OpenAPI Generator a TypeScript client that compiles', async (t) => {
    await generate('typescript-fetch')
    await compile('typescript-fetch/index.ts')
    t.match(read('typescript-fetch/apis/SessionsApi.ts'), /async login\(/)
  })

  t.test('gives OpenAPI Generator a Go client that compiles', async (t) => {
    await generate('go')
    // Its tests need a package that the client does not need.
    rmSync(join(folder, 'go', 'test'), { recursive: true })
    const cwd = join(folder, 'go')
    await run('go', ['mod', 'edit', '-droprequire=github.com/stretchr/testify'], { cwd })
    const env = { GOFLAGS: '-mod=mod -buildvcs=false', CGO_ENABLED: '0' }
    await run('go', ['build', '-gcflags=all=-N -l', './...'], { cwd, env })
    t.match(read('go/api_sessions.go'), /\) Login\(/)
  })

  t.test('gives OpenAPI Generator a Java client that compiles', async (t) => {
    await generate('java')
    mkdirSync(join(folder, 'classes'))
    const sources = filesIn('java/src/main', '.java')
    await run('javac', ['-nowarn', '-proc:none', '-d', 'classes', '-cp', javaLibraries, ...sources])
    t.match(read('java/src/main/java/org/openapitools/client/api/SessionsApi.java'), / login\(/)
  })
}
