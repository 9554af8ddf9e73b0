// lane: all
// npm run guides:tools: builds the examples of docs/guides in Python, Go and Java, into a cache in the home directory.
// It needs Python (with venv), Go, and Maven (with Java).
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, readdirSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { buildInto, runTool, toolFolder } from '../support/tool-cache.ts'

const guides = resolve(import.meta.dirname, '../../docs/guides')

/** Python packages that the tests of docs/integrations need. */
const packages = '../../test/integrations/requirements.txt'

/** What each build reads. Python needs only its packages: the tests run the sources of the guide. */
const sources = [
  'fastapi/requirements.txt',
  'django/requirements.txt',
  'mcp/requirements.txt',
  'go',
  'spring-boot',
  packages,
].flatMap((path) => {
  const full = join(guides, path)
  if (!statSync(full).isDirectory()) return [full]
  const files = readdirSync(full, { recursive: true, encoding: 'utf8' }).sort()
  return files.map((file) => join(full, file)).filter((file) => statSync(file).isFile())
})

const folder = toolFolder('guides', sources)

/** Paths of the built examples. */
export interface GuideTools {
  /** Python with the packages of the FastAPI, Django and MCP guides, and of docs/integrations. */
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
  const lists = [...['fastapi', 'django', 'mcp'].map((name) => `${name}/requirements.txt`), packages]
  const requirements = lists.flatMap((path) => ['-r', join(guides, path)])
  await buildInto(folder, async (work) => {
    cpSync(join(guides, 'spring-boot'), join(work, 'spring-boot'), { recursive: true })
    const goArgs = ['build', '-buildvcs=false', '-o', join(work, 'orders'), '.']
    await Promise.all([
      runTool(join(work, 'spring-boot'), 'mvn', ['--quiet', '--batch-mode', 'package']),
      runTool(join(guides, 'go'), 'go', goArgs, { CGO_ENABLED: '0' }),
      runTool(work, 'python3', ['-m', 'venv', 'python']).then(() =>
        runTool(work, join(work, 'python', 'bin', 'python'), ['-m', 'pip', 'install', '--quiet', ...requirements]),
      ),
    ])
  })
}
