import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import t from 'tap'
import { parseAllDocuments } from 'yaml'
import { type ChartTools, chartTools, findGo, kubernetes } from './tools.ts'

/** A document of the chart's output, typed as loosely as YAML. */
// biome-ignore lint/suspicious/noExplicitAny: every kind of Kubernetes
export type Resource = any

export const root = resolve(import.meta.dirname, '../..')
export const chart = join(root, 'helm/svc')

/** The files of values in `helm/svc/ci`, and the path of one of them. */
export const sets = readdirSync(join(chart, 'ci')).map((file) => join(chart, 'ci', file))
export const set = (name: string): string => join(chart, 'ci', `${name}.yaml`)

/** The first resource of a kind. */
export const only = (all: Resource[], kind: string): Resource => all.filter((one) => one.kind === kind)[0]

/** The file that the pods receive: a ConfigMap, or an annotation of their own. */
export function configOf(all: Resource[]): string {
  const { metadata, spec } = only(all, 'Deployment').spec.template
  const [volume] = spec.volumes
  if (volume.configMap) {
    const map = all.find(({ kind, metadata }) => kind === 'ConfigMap' && metadata.name === volume.configMap.name)
    return map.data['svc.yaml']
  }
  const [{ path, fieldRef }] = volume.downwardAPI.items
  if (path !== 'svc.yaml' || fieldRef.fieldPath !== `metadata.annotations['svc/config']`) throw new Error(path)
  return metadata.annotations['svc/config']
}

/** Runs the programs of the chart. */
export function renderer({ helm, kubeconform, schemas }: ChartTools) {
  const run = (program: string, args: string[], input = '') => spawnSync(program, args, { encoding: 'utf8', input })
  const template = (values: string, options: string[] = [], from = chart) =>
    run(helm, ['template', 'x', from, '--kube-version', kubernetes, '--values', values, ...options])
  const resources = (...args: Parameters<typeof template>): Resource[] => {
    const { status, stdout, stderr } = template(...args)
    if (status !== 0) throw new Error(stderr)
    return parseAllDocuments(stdout).map((document) => document.toJS())
  }
  const schemaFiles = join(schemas, '{{.ResourceKind}}{{.KindSuffix}}.json')
  const validate = (text: string) =>
    run(kubeconform, ['-strict', '-output', 'json', '-summary', '-schema-location', schemaFiles], text)
  const lint = (values: string) =>
    run(helm, ['lint', chart, '--strict', '--kube-version', kubernetes, '--values', values])
  /** Why the chart refuses values. */
  const refused = (values: string, options: string[]) => {
    const { status, stderr } = template(values, options)
    return status === 0 ? 'accepted' : stderr
  }
  return { template, resources, validate, lint, refused }
}

/** Runs tests with the programs, if they are built; CI requires them where Go is. */
export function withChart(tests: (programs: ReturnType<typeof renderer>) => void): void {
  const tools = chartTools()
  if (tools) {
    tests(renderer(tools))
    return
  }
  const line = 'HELM AND KUBECONFORM ARE NOT BUILT (npm run chart:tools): THE CHART WAS NOT CHECKED'
  process.stderr.write(`*** ${line} ***\n`)
  t.notOk(process.env.CI && findGo(), line)
}
