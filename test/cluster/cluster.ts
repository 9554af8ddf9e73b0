import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { join, resolve } from 'node:path'
import { stringify } from 'yaml'
import { chartTools } from '../helm/tools.ts'
import { until } from '../support/until.ts'

const root = resolve(import.meta.dirname, '../..')
export const chart = join(root, 'helm/svc')

/** The image of svc, which the nodes must have or be able to pull. */
export const image = process.env.SVC_IMAGE ?? 'svc:0.1.0'

/** A namespace in which only pods of the restricted Pod Security Standard run, and one for what svc needs. */
export const [own, others] = ['svc-check', 'svc-check-others']

interface Ended {
  status: number | null
  stdout: string
  stderr: string
}

const run = (program: string, args: readonly string[], input?: string): Ended =>
  spawnSync(program, args, { encoding: 'utf8', input, maxBuffer: 1e8 })

/** Runs kubectl, and throws if it fails. */
export function kubectl(args: readonly string[], input?: string): string {
  const { status, stdout, stderr } = run('kubectl', args, input)
  if (status !== 0) throw new Error(`kubectl ${args.join(' ')} failed: ${stderr}${stdout}`)
  return stdout.trim()
}

/** Runs Helm in the namespace of svc. */
export function helm(args: readonly string[], values: object = {}): Ended {
  const program = process.env.HELM ?? chartTools()?.helm ?? 'helm'
  const hasValues = ['install', 'upgrade'].includes(args[0] ?? '')
  return run(program, ['--namespace', own, ...args, ...(hasValues ? ['--values', '-'] : [])], stringify(values))
}

/** Creates or changes resources in a namespace. */
export const apply = (namespace: string, ...resources: object[]): string =>
  kubectl(['apply', '--namespace', namespace, '--filename', '-'], resources.map((one) => stringify(one)).join('---\n'))

/** Waits until a Deployment has its pods, or throws after the time. */
export const rolledOut = (namespace: string, name: string, timeout = '180s'): string =>
  kubectl(['rollout', 'status', `deployment/${name}`, '--namespace', namespace, `--timeout=${timeout}`])

/** The names of the pods with these labels that are not being deleted, oldest first. */
export function podsOf(selector: string): string[] {
  const all = JSON.parse(kubectl(['get', 'pods', '--namespace', own, '--selector', selector, '--output', 'json']))
  return all.items
    .filter(({ metadata }: { metadata: { deletionTimestamp?: string } }) => !metadata.deletionTimestamp)
    .sort((a: Named, b: Named) => a.metadata.creationTimestamp.localeCompare(b.metadata.creationTimestamp))
    .map(({ metadata }: Named) => metadata.name)
}

interface Named {
  metadata: { name: string; creationTimestamp: string }
}

/** Security settings that the restricted standard asks for. */
export const restricted = {
  allowPrivilegeEscalation: false,
  capabilities: { drop: ['ALL'] },
  runAsNonRoot: true,
  runAsUser: 1000,
  seccompProfile: { type: 'RuntimeDefault' },
}

/** A Deployment of one container, and its Service. */
export function server(name: string, port: number, container: object, labels: Record<string, string> = {}): object[] {
  const selector = { app: name }
  return [
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name },
      spec: {
        selector: { matchLabels: selector },
        template: {
          metadata: { labels: { ...selector, ...labels } },
          spec: {
            terminationGracePeriodSeconds: 1,
            containers: [{ name, imagePullPolicy: 'IfNotPresent', ...container }],
          },
        },
      },
    },
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name },
      spec: { selector, ports: [{ port, targetPort: port }] },
    },
  ]
}

/** A pod that runs a script with the Node of svc's image until it ends. */
export const script = (name: string, text: string): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name },
  spec: {
    restartPolicy: 'Never',
    terminationGracePeriodSeconds: 1,
    containers: [
      {
        name,
        image,
        imagePullPolicy: 'IfNotPresent',
        command: ['node', '--eval', text],
        securityContext: restricted,
        resources: small,
      },
    ],
  },
})

/** Resources within the quota. */
export const small = { requests: { cpu: '10m', memory: '64Mi' }, limits: { memory: '128Mi' } }

/** A volume in a directory of the node, which belongs to the user of svc. */
export function hostVolume(): string {
  const name = `svc-check-${randomBytes(4).toString('hex')}`
  const path = `/var/tmp/${name}`
  const pod = script('volume', `require('fs').chownSync('/volume', 1000, 1000)`) as {
    spec: { volumes?: object[]; containers: [Record<string, unknown>] }
  }
  pod.spec.volumes = [{ name: 'volume', hostPath: { path, type: 'DirectoryOrCreate' } }]
  Object.assign(pod.spec.containers[0], {
    securityContext: { runAsUser: 0 },
    volumeMounts: [{ name: 'volume', mountPath: '/volume' }],
  })
  apply(others, pod)
  kubectl(['wait', '--namespace', others, 'pod/volume', '--for=jsonpath={.status.phase}=Succeeded', '--timeout=60s'])
  const spec = { accessModes: ['ReadWriteOnce'], storageClassName: '' }
  const claimRef = { namespace: own, name: 'data' }
  apply(
    own,
    {
      apiVersion: 'v1',
      kind: 'PersistentVolume',
      metadata: { name, labels: { app: 'svc-check' } },
      spec: { ...spec, capacity: { storage: '1Gi' }, hostPath: { path }, claimRef },
    },
    {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name: 'data' },
      spec: { ...spec, volumeName: name, resources: { requests: { storage: '1Gi' } } },
    },
  )
  return 'data'
}

/** Runs a script in a pod of the namespace, and returns what it printed. */
export async function inPod(text: string, volume?: { mountPath: string; source: object }): Promise<string> {
  const name = `script-${randomBytes(4).toString('hex')}`
  const pod = script(name, text) as { spec: { volumes?: object[]; containers: [Record<string, unknown>] } }
  if (volume) {
    pod.spec.volumes = [{ name: 'own', ...volume.source }]
    pod.spec.containers[0].volumeMounts = [{ name: 'own', mountPath: volume.mountPath }]
  }
  apply(own, pod)
  const phase = () => kubectl(['get', 'pod', name, '--namespace', own, '--output', 'jsonpath={.status.phase}'])
  await until(() => ['Succeeded', 'Failed'].includes(phase()))
  const [ended, printed] = [phase(), kubectl(['logs', '--namespace', own, name])]
  kubectl(['delete', 'pod', '--namespace', own, name, '--wait=false'])
  if (ended === 'Failed') throw new Error(printed)
  return printed
}
