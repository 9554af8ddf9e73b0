// lane: all
// Part of npm run guides:tools: compiles the Kotlin code of the guides for mobile apps against the libraries of Android, and
// installs a parser for its Swift code, into a cache in the home directory.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { buildInto, runTool, toolFolder } from '../../support/tool-cache.ts'

const own = (name: string): string => join(import.meta.dirname, name)

const guides = ['mobile.md', 'mobile-bound-tokens.md'].map((name) =>
  resolve(import.meta.dirname, '../../../docs/guides', name),
)

/** The code blocks of the guides in one language. */
export const blocks = (language: string): string[] =>
  guides
    .flatMap((file) => [
      ...readFileSync(file, 'utf8').matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'gms')),
    ])
    .map(([, code = '']) => code)

const java = ['Bundle', 'Context', 'Activity'].map((name) => own(`android/${name}.java`))
/** Classes that the old libraries of Android on Maven Central do not have. */
const keystore = ['KeyGenParameterSpec', 'KeyProperties'].map((name) => own(`android/${name}.java`))
const kotlin = ['Platform.kt', 'Main.kt'].map(own)
const folder = toolFolder('mobile-guide', [
  ...guides,
  import.meta.filename,
  own('pom.xml'),
  ...java,
  ...keystore,
  ...kotlin,
])

/** What runs the Kotlin code and parses the Swift code. */
export interface MobileTools {
  classPath: string
  python: string
}

/** Returns the tools, or undefined if they are not built. */
export function mobileTools(): MobileTools | undefined {
  if (!existsSync(folder)) return undefined
  // The replacements of Android come before its signatures.
  return {
    classPath: classPathOf(folder, ['device', 'guide', 'keystore']),
    python: join(folder, 'python', 'bin', 'python'),
  }
}

/** The programs that the build needs. */
export const hasMobileRuntimes = (): boolean =>
  ['python3', 'mvn', 'java', 'javac', 'jar'].every(
    (name) => spawnSync(name, ['-help'], { stdio: 'ignore' }).error === undefined,
  )

const isCompiler = (jar: string): boolean => /^(kotlin-(compiler|daemon|reflect|script)|annotations)/.test(jar)

const classPathOf = (work: string, folders: string[]): string =>
  [
    ...folders,
    'classes.jar',
    ...readdirSync(join(work, 'lib'))
      .filter((name) => name.endsWith('.jar') && !isCompiler(name))
      .map((name) => `lib/${name}`),
  ]
    .map((path) => join(work, path))
    .join(':')

if (import.meta.main && !mobileTools()) {
  if (hasMobileRuntimes()) await install()
  else process.stderr.write('*** PYTHON, MAVEN OR A JDK IS MISSING: THE CODE OF THE MOBILE GUIDE IS NOT COMPILED ***\n')
}

async function install(): Promise<void> {
  process.stderr.write('compiling the code of the mobile guide\n')
  await buildInto(folder, async (work) => {
    for (const name of ['device', 'guide', 'keystore', 'lib']) mkdirSync(join(work, name))
    const maven = ['--quiet', '--batch-mode', '--file', own('pom.xml')]
    const copy = ['dependency:copy-dependencies', `-DoutputDirectory=${join(work, 'lib')}`]
    const parsers = ['tree-sitter==0.26.1', 'tree-sitter-swift==0.7.4']
    await runTool(work, 'python3', ['-m', 'venv', 'python'])
    await runTool(work, join(work, 'python/bin/python'), ['-m', 'pip', 'install', '--quiet', ...parsers])
    // Not every mirror of Maven Central has the libraries of Android.
    await runTool(work, 'mvn', [...maven, ...copy]).catch(() => runTool(work, 'mvn', [...maven, '-Pgoogle', ...copy]))
    const libraries = readdirSync(join(work, 'lib'))
    const archive = libraries.find((name) => name.endsWith('.aar')) ?? ''
    await runTool(work, 'jar', ['--extract', '--file', join('lib', archive), 'classes.jar'])

    const lines = blocks('kotlin').join('\n').split('\n')
    // One file needs its imports first.
    const sorted = [true, false].flatMap((isFirst) => lines.filter((line) => line.startsWith('import ') === isFirst))
    const source = sorted.join('\n').replace('"https://auth.example.com$path"', 'System.getProperty("svc") + path')
    writeFileSync(join(work, 'Guide.kt'), source)
    const compiler = libraries
      .filter((name) => isCompiler(name) || /^kotlin/.test(name))
      .map((name) => join(work, 'lib', name))
    const main = 'org.jetbrains.kotlin.cli.jvm.K2JVMCompiler'
    const compile = (to: string, from: string[], folders: string[]) => {
      const options = ['-Werror', '-no-stdlib', '-no-reflect', '-d', to, '-cp', classPathOf(work, folders)]
      return runTool(work, 'java', ['-XX:TieredStopAtLevel=1', '-cp', compiler.join(':'), main, ...options, ...from])
    }
    await runTool(work, 'javac', ['-d', 'keystore', ...keystore])
    await compile('guide', ['Guide.kt'], ['keystore'])
    await runTool(work, 'javac', ['-d', 'device', '-cp', classPathOf(work, []), ...java])
    await compile('device', kotlin, ['device', 'guide', 'keystore'])
  })
}
