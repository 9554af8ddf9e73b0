// npm run peers:tools: installs the servers that svc is compared with, into a cache in the home directory: Keycloak with
// Maven, better-auth with npm, and Glewlwyd from Debian's packages. It skips those whose programs are missing.
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { buildInto, runTool, toolFolder } from '../../test/support/tool-cache.ts'

export const keycloakVersion = '26.7.3'

const copyArtifact = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:unpack'
/** Keycloak runs this step once for options that cannot change at start. */
const keycloakBuild = ['build', '--db=postgres', '--cache=local', '--health-enabled=false', '--metrics-enabled=false']
const betterAuth = join(import.meta.dirname, 'better-auth')

/** What installs a server in a folder, and the programs that it needs. */
interface Tool {
  files: string[]
  needs: readonly string[]
  install(work: string): Promise<void>
}

const tools = {
  keycloak: {
    files: [import.meta.filename],
    needs: ['java', 'mvn'],
    async install(work) {
      const artifact = `-Dartifact=org.keycloak:keycloak-quarkus-dist:${keycloakVersion}:zip`
      await runTool(work, 'mvn', ['--quiet', '--batch-mode', copyArtifact, artifact, `-DoutputDirectory=${work}/zip`])
      for (const name of readdirSync(join(work, 'zip', `keycloak-${keycloakVersion}`))) {
        renameSync(join(work, 'zip', `keycloak-${keycloakVersion}`, name), join(work, name))
      }
      rmSync(join(work, 'zip'), { recursive: true })
      await runTool(work, 'sh', [join(work, 'bin/kc.sh'), ...keycloakBuild])
    },
  },
  'better-auth': {
    files: ['package.json', 'package-lock.json', 'server.mjs'].map((name) => join(betterAuth, name)),
    needs: ['npm'],
    async install(work) {
      cpSync(betterAuth, work, { recursive: true })
      await runTool(work, 'npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'])
    },
  },
  glewlwyd: {
    files: [import.meta.filename],
    needs: ['apt-get', 'dpkg-deb'],
    async install(work) {
      // Unpacks the packages without installing them, so that no service starts.
      const packages = join(work, 'packages')
      mkdirSync(packages)
      const plan = spawnSync('apt-get', ['--simulate', 'install', '--no-install-recommends', 'glewlwyd'], {
        encoding: 'utf8',
      })
      const names = [...plan.stdout.matchAll(/^Inst (\S+)/gm)].map(([, name]) => name ?? '')
      await runTool(packages, 'apt-get', ['download', '-q', ...names])
      for (const name of readdirSync(packages)) await runTool(packages, 'dpkg-deb', ['-x', name, work])
      rmSync(packages, { recursive: true })
    },
  },
} satisfies Record<string, Tool>

export type PeerTools = Record<keyof typeof tools, string>

const names = Object.keys(tools) as (keyof typeof tools)[]

/** The folder of each installed server. */
export function installedPeers(): Partial<PeerTools> {
  const found = names.map((name) => [name, toolFolder(`peer-${name}`, tools[name].files)])
  return Object.fromEntries(found.filter(([, folder]) => existsSync(folder ?? '')))
}

if (import.meta.main) {
  const installed = installedPeers()
  for (const name of names) {
    if (installed[name]) continue
    const { needs, files, install } = tools[name]
    const missing = needs.filter((program) => spawnSync(program, ['--version'], { stdio: 'ignore' }).error)
    if (missing.length > 0) process.stderr.write(`*** ${name} IS NOT INSTALLED: IT NEEDS ${missing.join(', ')} ***\n`)
    else {
      process.stderr.write(`installing ${name}\n`)
      await buildInto(toolFolder(`peer-${name}`, files), install)
    }
  }
}
