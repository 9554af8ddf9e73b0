// engine: none
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import { temporaryDirectory } from '../support/process.ts'
import { configOf, only, type Resource, set, sets, withChart } from './render.ts'

withChart(({ template, resources, refused }) => {
  t.test('keeps the configuration with each revision of the pods, or lets them reload it', async (t) => {
    const deployed = (options: string[]) => only(resources(set('postgresql'), options), 'Deployment').spec.template
    const before = deployed([])
    t.equal(parse(before.metadata.annotations['svc/config']).app.url, 'https://auth.example.com')
    t.same(deployed(['--set', 'replicas=5']), before)
    t.notSame(deployed(['--set', 'config.session.lifetime=60s']), before)
    t.notOk(
      resources(set('postgresql')).some(({ kind }) => kind === 'ConfigMap'),
      'which an upgrade would change',
    )
    const reloading = deployed(['--set', 'reload=true'])
    t.equal(reloading.metadata.annotations, undefined)
    t.same(deployed(['--set', 'reload=true,config.session.lifetime=60s']), reloading)
    const file = join(temporaryDirectory(t), 'long.yaml')
    writeFileSync(file, `config: { app: { name: "${'x'.repeat(220_000)}" } }`)
    t.match(refused(set('postgresql'), ['--values', file]), /config is too long for an annotation/)
    t.equal(refused(set('postgresql'), ['--values', file, '--set', 'reload=true']), 'accepted')
  })

  t.test('checks the new configuration with the new image before an upgrade', async (t) => {
    const all = resources(set('full'))
    const { metadata, spec } = only(all, 'Job')
    t.match(metadata.annotations, {
      'helm.sh/hook': 'pre-upgrade',
      'helm.sh/hook-delete-policy': 'before-hook-creation,hook-succeeded',
      'helm.sh/hook-output-log-policy': 'hook-failed',
    })
    t.match(spec, { backoffLimit: 0, activeDeadlineSeconds: 600 })
    const pod = spec.template.spec
    const { template } = only(all, 'Deployment').spec
    const [own, other] = [pod.containers[0], template.spec.containers[0]]
    t.same(own.command, ['bash', '-c'])
    const check = (env: Record<string, string>) => {
      // A stand-in for svc, which the image has.
      const text = `svc() { echo "$@"; return $STATUS; }\n${own.args[0]}`
      const all = { STATUS: '0', ...env }
      const { status, stdout, stderr } = spawnSync('bash', ['--norc', '-c', text], { env: all, encoding: 'utf8' })
      return { status, stdout, stderr }
    }
    const given = { REDIS_URL: 'x', SMTP_PASSWORD: '' }
    t.match(check(given), { status: 0, stdout: 'config:check\n', stderr: '' })
    t.match(check({ ...given, STATUS: '78' }), { status: 78 })
    t.match(check({ SMTP_PASSWORD: 'x' }), {
      status: 1,
      stdout: 'config:check\n',
      stderr: 'REDIS_URL is not set, because the Secret redis has no key url.\n',
    })
    t.equal(own.image, other.image)
    for (const key of ['imagePullSecrets', 'nodeSelector', 'tolerations', 'securityContext'])
      t.same(pod[key], template.spec[key], key)
    t.same(own.resources, other.resources)
    t.equal(spec.template.metadata.annotations['svc/config'], configOf(all))
    t.same(
      pod.volumes[0].downwardAPI.items[0].path,
      'svc.yaml',
      'not the ConfigMap, which the upgrade has not changed yet',
    )
    t.equal(pod.serviceAccountName, 'default', 'the account of the release may not exist yet')

    const required = (value: Resource): Resource[] => {
      if (typeof value !== 'object' || value === null) return []
      const refs = ['secretKeyRef', 'configMapKeyRef', 'secret', 'configMap'].map((key) => value[key]).filter(Boolean)
      return [...refs.filter(({ optional }) => !optional), ...Object.values(value).flatMap(required)]
    }
    t.same(required([own.env, pod.volumes]), [], 'svc names what is missing')
    t.ok(required([other.env, template.spec.volumes]).length > 5)
    const names = (env: Resource[]) => env.map(({ name }) => name)
    t.same(names(own.env), names(other.env))
    t.same(names(pod.volumes), names(template.spec.volumes))
    const embedded = only(resources(set('embedded')), 'Job').spec.template.spec
    t.notOk(names(embedded.volumes).includes('data'), 'never the volume of the database')
    const off = resources(set('full'), ['--set', 'configCheck.enabled=false'])
    t.notOk(off.some(({ kind }) => kind === 'Job'))
    const named = ['--set', 'serviceAccount.create=false,serviceAccount.name=own']
    t.equal(only(resources(set('full'), named), 'Job').spec.template.spec.serviceAccountName, 'own')
  })

  t.test('gives the guard its own port and Service', async (t) => {
    for (const values of sets) {
      const all = resources(values)
      const { containers } = only(all, 'Deployment').spec.template.spec
      const port = containers[0].ports.find(({ name }: Resource) => name === 'guard').containerPort
      t.equal(parse(configOf(all)).guard.port, port)
      const services = all.filter(({ kind }) => kind === 'Service')
      t.match(services.find(({ metadata }) => metadata.name === 'x-svc-guard').spec, {
        type: undefined,
        ports: [{ port: 80, targetPort: 'guard' }],
      })
      t.notMatch(services.find(({ metadata }) => metadata.name === 'x-svc').spec.ports, [{ targetPort: 'guard' }])
    }
    const own = resources(set('postgresql'), ['--set', 'config.guard.port=9000'])
    t.equal(parse(configOf(own)).guard.port, 9000)
    t.equal(only(own, 'Deployment').spec.template.spec.containers[0].ports[1].containerPort, 9000)
    const off = resources(set('postgresql'), ['--set', 'config.guard=null'])
    t.equal(parse(configOf(off)).guard.port, 8001)
    const { ingress } = only(resources(set('full')), 'NetworkPolicy').spec
    const [, guard] = ingress
    t.match(guard, { ports: [{ port: 'guard' }], from: [{ namespaceSelector: {} }] })
    const none = only(resources(set('full'), ['--set-json', 'networkPolicy.guardFrom=[]']), 'NetworkPolicy').spec
      .ingress
    t.notOk(
      none.some(({ ports }: Resource) => ports[0].port === 'guard'),
      'nobody by default',
    )
  })

  t.test('makes a route of the Gateway API', async (t) => {
    const { metadata, spec } = only(resources(set('full')), 'HTTPRoute')
    t.same(metadata.annotations, { 'example.com/owner': 'identity' })
    t.same(spec, {
      parentRefs: [{ name: 'public', namespace: 'gateways' }],
      hostnames: ['auth.example.com', 'auth.example.org'],
      rules: [{ backendRefs: [{ name: 'x-svc', port: 80 }] }],
    })
    const one = ['--set', 'gateway.enabled=true,gateway.parentRefs[0].name=public']
    t.same(only(resources(set('postgresql'), one), 'HTTPRoute').spec.hostnames, ['auth.example.com'])
    t.match(refused(set('postgresql'), ['--set', 'gateway.enabled=true']), /gateway\.parentRefs is required/)
  })

  t.test('takes variables from the Secrets of others', async (t) => {
    const given = { DATABASE_URL: { name: 'pg-app', key: 'uri' }, SVC_SECRET: { name: 'own', key: 'secret' } }
    const options = ['--set-json', `secret={"name":"","env":${JSON.stringify(given)}}`]
    const { env } = only(resources(set('postgresql'), options), 'Deployment').spec.template.spec.containers[0]
    const ref = (name: string) => env.find((one: Resource) => one.name === name).valueFrom.secretKeyRef
    t.same([ref('DATABASE_URL'), ref('SVC_SECRET')], [given.DATABASE_URL, given.SVC_SECRET])
    const extra = Object.entries(given).map(([name, from]) => ({ name, valueFrom: { secretKeyRef: from } }))
    const none = ['--set-json', 'secret={"name":"","env":null}', '--set-json', `extraEnv=${JSON.stringify(extra)}`]
    t.equal(refused(set('postgresql'), none), 'accepted', 'extraEnv counts too')
  })

  t.test('spreads the pods of each version separately, and takes probes and annotations from the values', async (t) => {
    const [first] = only(resources(set('full')), 'Deployment').spec.template.spec.topologySpreadConstraints
    t.same(first.matchLabelKeys, ['pod-template-hash'])
    t.notMatch(template(set('full'), ['--kube-version', '1.26.0']).stdout, 'matchLabelKeys')
    const { metadata, spec } = only(resources(set('full')), 'Deployment')
    t.same(metadata.annotations, { 'reloader.stakater.com/auto': 'true' })
    t.match(spec.template.spec.containers[0].startupProbe, { failureThreshold: 300, periodSeconds: 2 })
    const pod = only(resources(set('full')), 'Pod')
    t.equal(pod.metadata.annotations['helm.sh/hook-delete-policy'], 'before-hook-creation')
    t.match(pod.spec, {
      nodeSelector: {},
      tolerations: [{}],
      containers: [{ imagePullPolicy: 'IfNotPresent', resources: { limits: {} } }],
    })
  })

  t.test('mounts the ConfigMaps of other teams as the directory of clients', async (t) => {
    const all = resources(set('full'))
    const { containers, volumes } = only(all, 'Deployment').spec.template.spec
    const { mountPath } = containers[0].volumeMounts.find(({ name }: Resource) => name === 'clients')
    t.equal(parse(configOf(all)).clients_directory, mountPath)
    t.strictSame(volumes.find(({ name }: Resource) => name === 'clients').projected.sources, [
      { configMap: { name: 'reports-clients' } },
      { configMap: { name: 'shop-clients' } },
    ])
    t.match(refused(set('full'), ['--set', 'config.clients_directory=x']), /use one of them/)
    t.notMatch(template(set('postgresql')).stdout, /clients_directory|svc-clients/)
  })
})
