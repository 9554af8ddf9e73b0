import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseAllDocuments } from 'yaml'
import { apply, kubectl, others, own, rolledOut, server } from './cluster.ts'

const proxies = resolve(import.meta.dirname, '../../docs/proxies')

/** The image of Traefik, which the nodes must have or be able to pull. */
const traefik = process.env.TRAEFIK_IMAGE ?? 'traefik:v3.7.15'

/** The documents of a file in docs/proxies, for the namespace of the check. */
const documented = (file: string): object[] =>
  parseAllDocuments(readFileSync(join(proxies, file), 'utf8').replaceAll('.default.svc.', `.${own}.svc.`)).map(
    (document) => document.toJS(),
  )

const kinds = ['IngressRoute', 'Middleware', 'IngressRouteTCP', 'IngressRouteUDP', 'MiddlewareTCP', 'ServersTransport']
const moreKinds = ['ServersTransportTCP', 'TLSOption', 'TLSStore', 'TraefikService']

/** A definition of a custom resource that accepts everything, where the cluster has none. */
function definition(kind: string): object {
  const plural = `${kind.toLowerCase()}s`
  const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } }
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.traefik.io` },
    spec: {
      group: 'traefik.io',
      names: { kind, plural, singular: kind.toLowerCase(), listKind: `${kind}List` },
      scope: 'Namespaced',
      versions: [{ name: 'v1alpha1', served: true, storage: true, schema }],
    },
  }
}

/** Whether the cluster has the custom resources of the Gateway API. */
export const hasGatewayApi = (): boolean => exists('httproutes.gateway.networking.k8s.io')

const exists = (name: string): boolean =>
  kubectl(['get', 'customresourcedefinition', name, '--ignore-not-found', '--output', 'name']) !== ''

/** Installs Traefik, and a certificate for the hosts of the documented files. */
export function installTraefik(): void {
  const missing = [...kinds, ...moreKinds].filter((kind) => !exists(`${kind.toLowerCase()}s.traefik.io`))
  if (missing.length > 0) apply(others, ...missing.map(definition))
  const account = { name: 'traefik', namespace: others }
  const groups = ['', 'discovery.k8s.io', 'networking.k8s.io', 'traefik.io', 'gateway.networking.k8s.io']
  apply(
    others,
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: account },
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRole',
      metadata: { name: 'svc-check-traefik', labels: { app: 'svc-check' } },
      rules: [
        { apiGroups: groups, resources: ['*'], verbs: ['get', 'list', 'watch'] },
        { apiGroups: ['gateway.networking.k8s.io'], resources: ['*'], verbs: ['update', 'patch'] },
      ],
    },
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRoleBinding',
      metadata: { name: 'svc-check-traefik', labels: { app: 'svc-check' } },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'svc-check-traefik' },
      subjects: [{ kind: 'ServiceAccount', ...account }],
    },
  )
  const [deployment, service] = server('traefik', 8443, {
    image: traefik,
    args: [
      '--entryPoints.websecure.address=:8443',
      '--entryPoints.websecure.http.aliasHeadersStrategy=delete',
      '--entryPoints.websecure.http.tls=true',
      '--providers.kubernetesCRD=true',
      ...(hasGatewayApi() ? ['--providers.kubernetesGateway=true'] : []),
      '--global.checkNewVersion=false',
      '--global.sendAnonymousUsage=false',
    ],
  }) as [{ spec: { template: { spec: object } } }, object]
  Object.assign(deployment.spec.template.spec, { serviceAccountName: 'traefik' })
  apply(others, deployment, service)
  rolledOut(others, 'traefik')
  const folder = mkdtempSync(join(tmpdir(), 'svc-certificate-'))
  const [key, certificate] = [join(folder, 'tls.key'), join(folder, 'tls.crt')]
  const names = 'subjectAltName=DNS:auth.example.com,DNS:api.example.com'
  const request = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-subj', '/CN=example.com', '-addext', names]
  spawnSync('openssl', [...request, '-keyout', key, '-out', certificate])
  kubectl(['create', 'secret', 'tls', 'example-com-tls', '--namespace', own, `--key=${key}`, `--cert=${certificate}`])
  rmSync(folder, { recursive: true })
}

/** Makes the documented routes of Traefik, and one to svc. */
export function applyRoutes(): void {
  apply(own, ...documented('traefik-kubernetes.yaml'), {
    apiVersion: 'traefik.io/v1alpha1',
    kind: 'IngressRoute',
    metadata: { name: 'svc' },
    spec: {
      entryPoints: ['websecure'],
      routes: [{ kind: 'Rule', match: 'Host(`auth.example.com`)', services: [{ name: 'svc', port: 80 }] }],
      tls: { secretName: 'example-com-tls' },
    },
  })
}

/** Replaces the routes of Traefik by those of the Gateway API; the chart makes the one of svc. */
export function applyGatewayRoutes(): void {
  kubectl(['delete', 'ingressroutes.traefik.io', '--all', '--namespace', own])
  const tls = { mode: 'Terminate', certificateRefs: [{ name: 'example-com-tls' }] }
  apply(
    own,
    {
      apiVersion: 'gateway.networking.k8s.io/v1',
      kind: 'GatewayClass',
      metadata: { name: 'svc-check', labels: { app: 'svc-check' } },
      spec: { controllerName: 'traefik.io/gateway-controller' },
    },
    {
      apiVersion: 'gateway.networking.k8s.io/v1',
      kind: 'Gateway',
      metadata: { name: 'gateway' },
      spec: { gatewayClassName: 'svc-check', listeners: [{ name: 'websecure', protocol: 'HTTPS', port: 8443, tls }] },
    },
    ...documented('gateway-api.yaml'),
  )
}
