// npm run api:tools: installs the tools that generate and check clients of the API description, into a cache in the home
// directory. `tools/` pins their versions. It needs Python (with venv) and Maven (with Java).
import { spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { homedir } from 'node:os'
import { basename, dirname, join } from 'node:path'

const manifests = ['package.json', 'package-lock.json', 'requirements.txt', 'pom.xml'].map((name) =>
  join(import.meta.dirname, 'tools', name),
)
const copyDependencies = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies'

const version = manifests.reduce((hash, file) => hash.update(readFileSync(file)), createHash('sha256')).digest('hex')
const cache = process.env.XDG_CACHE_HOME || join(homedir(), '.cache')
const folder = join(cache, 'svc', `api-tools-${version.slice(0, 16)}`)

/** Paths of the installed tools. */
export interface ApiTools {
  /** Folder of the npm packages. */
  packages: string
  /** Python, with openapi-python-client and Schemathesis. */
  python: string
  /** The jar of OpenAPI Generator, and the class path of its Java client. */
  openApiGenerator: string
  javaLibraries: string
}

/** Returns the tools, or undefined if they are not installed. */
export function apiTools(): ApiTools | undefined {
  if (!existsSync(folder)) return undefined
  return {
    packages: join(folder, 'node_modules'),
    python: join(folder, 'python', 'bin', 'python'),
    openApiGenerator: join(folder, 'jars', 'openapi-generator-cli-7.25.0.jar'),
    javaLibraries: join(folder, 'jars', '*'),
  }
}

/** The programs that the tools and the generated clients need. */
export const hasRuntimes = (): boolean =>
  ['python3', 'mvn', 'javac', 'go'].every((name) => spawnSync(name, ['-h'], { stdio: 'ignore' }).error === undefined)

if (import.meta.main && !apiTools()) {
  if (hasRuntimes()) await install()
  else process.stderr.write('*** PYTHON, MAVEN, JAVA OR GO IS MISSING: THE CLIENT GENERATORS ARE NOT INSTALLED ***\n')
}

async function install(): Promise<void> {
  process.stderr.write('installing the client generators\n')
  // Installed under a temporary name, so that an incomplete installation is never used.
  const work = `${folder}.${process.pid}`
  mkdirSync(dirname(folder), { recursive: true })
  mkdirSync(work)
  try {
    for (const file of manifests) cpSync(file, join(work, basename(file)))
    await Promise.all([
      run(work, 'npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']),
      run(work, 'mvn', ['--quiet', '--batch-mode', copyDependencies, '-DoutputDirectory=jars']),
      run(work, 'python3', ['-m', 'venv', 'python']).then(() =>
        run(work, join(work, 'python', 'bin', 'pip'), ['install', '--quiet', '--no-deps', '-r', 'requirements.txt']),
      ),
    ])
    renameSync(work, folder)
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}

function run(cwd: string, program: string, args: string[]): Promise<void> {
  const child = spawn(program, args, { cwd, stdio: ['ignore', 2, 2] })
  return new Promise((done, fail) => {
    child.once('error', fail)
    child.once('exit', (code) => (code === 0 ? done() : fail(new Error(`${program} ${args.join(' ')} failed`))))
  })
}
