// lane: all
// npm run chart:tools: builds the tools that check the Helm chart (helm, kubeconform, the Kubernetes schemas) with Go,
// into a cache in the home directory. Without Go it prints a notice and exits.
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { writeSchemas } from './schemas.ts'

const helm = 'helm.sh/helm/v3/cmd/helm@v3.22.0'
const kubeconform = 'github.com/yannh/kubeconform/cmd/kubeconform@v0.8.0'
/** The Kubernetes version that the chart is validated against. */
export const kubernetes = '1.36.3'
const definitions = `k8s.io/kubernetes@v${kubernetes}`
const operator = 'github.com/prometheus-operator/prometheus-operator@v0.85.0'
const gateways = 'sigs.k8s.io/gateway-api@v1.4.1'

const versions = [helm, kubeconform, definitions, operator, gateways].map((name) => name.split('@v')[1]).join('-')
const folder = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'svc', `chart-tools-${versions}`)

/** The programs and the folder of the schemas. */
export interface ChartTools {
  helm: string
  kubeconform: string
  schemas: string
}

/** The folder of the tools, or undefined if they are not built. */
export function chartTools(): ChartTools | undefined {
  if (!existsSync(folder)) return undefined
  return { helm: join(folder, 'helm'), kubeconform: join(folder, 'kubeconform'), schemas: join(folder, 'schemas') }
}

/** The go command, or undefined if it is not installed. */
export function findGo(): string | undefined {
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/local/go/bin']
  return folders.map((place) => join(place, 'go')).find((program) => existsSync(program))
}

if (import.meta.main && !chartTools()) {
  const go = findGo()
  if (go) build(go)
  else process.stderr.write('*** THERE IS NO GO: WHAT CHECKS THE HELM CHART IS NOT BUILT ***\n')
}

function build(go: string): void {
  process.stderr.write('building helm and kubeconform\n')
  const work = mkdtempSync(join(tmpdir(), 'svc-chart-tools-'))
  try {
    // Each runs for a second; optimising the build would take longer.
    for (const program of [helm, kubeconform])
      runGo(go, work, ['install', '-gcflags=all=-N -l', '-ldflags=-s -w', program])
    const [source = '', resources = '', routes = ''] = [definitions, operator, gateways].map(
      (module) => JSON.parse(runGo(go, work, ['mod', 'download', '-json', module])).Dir,
    )
    writeSchemas({
      openApi: join(source, 'api/openapi-spec/swagger.json'),
      customResources: [
        join(resources, 'example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml'),
        join(routes, 'config/crd/standard/gateway.networking.k8s.io_httproutes.yaml'),
      ],
      target: join(work, 'schemas'),
    })
    mkdirSync(dirname(folder), { recursive: true })
    // Built under a temporary name, so that an incomplete build is never used.
    cpSync(work, `${folder}.${process.pid}`, { recursive: true })
    renameSync(`${folder}.${process.pid}`, folder)
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}

/** Runs go outside of any module and returns its output. */
function runGo(go: string, work: string, args: string[]): string {
  const { status, stdout, error } = spawnSync(go, args, {
    cwd: work,
    env: { ...process.env, GOFLAGS: '-mod=mod -buildvcs=false', GOBIN: work, CGO_ENABLED: '0' },
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  if (status !== 0) throw new Error(`go ${args.join(' ')} failed ${error?.message ?? ''}`)
  return stdout
}
