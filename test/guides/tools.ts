// npm run guides:tools: builds the examples of docs/guides in Python, Go and Java, into a cache in the home directory.
// It needs Python (with venv), Go, and Maven (with Java).
import { spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'

const guides = resolve(import.meta.dirname, '../../docs/guides')

/** What each build reads. Python needs only its packages: the tests run the sources of the guide. */
const sources = ['fastapi/requirements.txt', 'django/requirements.txt', 'go', 'spring-boot'].flatMap((path) => {
  const full = join(guides, path)
  if (!statSync(full).isDirectory()) return [full]
  const files = readdirSync(full, { recursive: true, encoding: 'utf8' }).sort()
  return files.map((file) => join(full, file)).filter((file) => statSync(file).isFile())
})

const version = sources.reduce((hash, file) => hash.update(readFileSync(file)), createHash('sha256')).digest('hex')
const cache = process.env.XDG_CACHE_HOME || join(homedir(), '.cache')
const folder = join(cache, 'svc', `guides-${version.slice(0, 16)}`)

/** Paths of the built examples. */
export interface GuideTools {
  /** Python with the packages of the FastAPI and Django guides. */
  python: string
  /** The program of the Go guide. */
  go: string
  /** The jar of the Spring Boot guide. */
  jar: string
}

/** Returns the examples, or undefined if they are not built. */
export function guideTools(): GuideTools | undefined {
  if (!existsSync(folder)) return undefined
  return {
    python: join(folder, 'python', 'bin', 'python'),
    go: join(folder, 'orders'),
    jar: join(folder, 'spring-boot', 'target', 'orders.jar'),
  }
}

/** The programs that the builds need. */
export const hasRuntimes = (): boolean =>
  ['python3', 'mvn', 'java', 'go'].every((name) => spawnSync(name, ['-h'], { stdio: 'ignore' }).error === undefined)

if (import.meta.main && !guideTools()) {
  if (hasRuntimes()) await install()
  else process.stderr.write('*** PYTHON, MAVEN, JAVA OR GO IS MISSING: THE EXAMPLES OF THE GUIDES ARE NOT BUILT ***\n')
}

async function install(): Promise<void> {
  process.stderr.write('building the examples of the guides\n')
  // Built under a temporary name, so that an incomplete build is never used.
  const work = `${folder}.${process.pid}`
  mkdirSync(work, { recursive: true })
  try {
    cpSync(join(guides, 'spring-boot'), join(work, 'spring-boot'), { recursive: true })
    const requirements = ['fastapi', 'django'].flatMap((name) => ['-r', join(guides, name, 'requirements.txt')])
    await Promise.all([
      run(join(work, 'spring-boot'), 'mvn', ['--quiet', '--batch-mode', 'package']),
      run(join(guides, 'go'), 'go', ['build', '-buildvcs=false', '-o', join(work, 'orders'), '.']),
      run(work, 'python3', ['-m', 'venv', 'python']).then(() =>
        run(work, join(work, 'python', 'bin', 'python'), ['-m', 'pip', 'install', '--quiet', ...requirements]),
      ),
    ])
    renameSync(work, folder)
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}

function run(cwd: string, program: string, args: string[]): Promise<void> {
  const child = spawn(program, args, { cwd, stdio: ['ignore', 2, 2], env: { ...process.env, CGO_ENABLED: '0' } })
  return new Promise((done, fail) => {
    child.once('error', fail)
    child.once('exit', (code) => (code === 0 ? done() : fail(new Error(`${program} ${args.join(' ')} failed`))))
  })
}
