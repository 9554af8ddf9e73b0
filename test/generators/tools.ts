// lane: all
// npm run api:tools: installs the tools that generate and check clients of the API description, into a cache in the home
// directory. `tools/` pins their versions. It needs Python (with venv) and Maven (with Java).
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync } from 'node:fs'
import { basename, join } from 'node:path'
import { buildInto, runTool, toolFolder } from '../support/tool-cache.ts'

const manifests = ['package.json', 'package-lock.json', 'requirements.txt', 'pom.xml'].map((name) =>
  join(import.meta.dirname, 'tools', name),
)
const copyDependencies = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies'

const folder = toolFolder('api-tools', manifests)

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
  await buildInto(folder, async (work) => {
    for (const file of manifests) cpSync(file, join(work, basename(file)))
    await Promise.all([
      runTool(work, 'npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']),
      runTool(work, 'mvn', ['--quiet', '--batch-mode', copyDependencies, '-DoutputDirectory=jars']),
      runTool(work, 'python3', ['-m', 'venv', 'python']).then(() =>
        runTool(work, join(work, 'python', 'bin', 'pip'), [
          'install',
          '--quiet',
          '--no-deps',
          '-r',
          'requirements.txt',
        ]),
      ),
    ])
  })
}
