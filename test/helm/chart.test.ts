// engine: none
import { execFile, spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { parse, parseAllDocuments } from 'yaml'
import { parseConfig } from '../../src/config/load.ts'
import { instructionsOf, readDockerfile } from '../support/dockerfile.ts'
import { temporaryDirectory } from '../support/process.ts'
import { type ChartTools, chartTools, findGo, kubernetes } from './tools.ts'

const root = resolve(import.meta.dirname, '../..')
const chart = join(root, 'helm/svc')
const sets = readdirSync(join(chart, 'ci')).map((file) => join(chart, 'ci', file))
const tools = chartTools()

/** A document of the chart's output, typed as loosely as YAML. */
// biome-ignore lint/suspicious/noExplicitAny: every kind of Kubernetes
type Resource = any

if (!tools) {
  const line = 'HELM AND KUBECONFORM ARE NOT BUILT (npm run chart:tools): THE CHART WAS NOT CHECKED'
  process.stderr.write(`*** ${line} ***\n`)
  t.notOk(process.env.CI && findGo(), line)
} else {
  checkChart(tools)
}

function checkChart({ helm, kubeconform, schemas }: ChartTools): void {
  const run = (program: string, args: string[], input = '') => spawnSync(program, args, { encoding: 'utf8', input })
  const template = (values: string, options: string[] = [], from = chart) =>
    run(helm, ['template', 'x', from, '--kube-version', kubernetes, '--values', values, ...options])
  const resources = (...args: Parameters<typeof template>): Resource[] => {
    const { status, stdout, stderr } = template(...args)
    if (status !== 0) throw new Error(stderr)
    return parseAllDocuments(stdout).map((document) => document.toJS())
  }
  const only = (all: Resource[], kind: string): Resource => all.filter((one) => one.kind === kind)[0]
  const schemaFiles = join(schemas, '{{.ResourceKind}}{{.KindSuffix}}.json')
  const validate = (text: string) =>
    run(kubeconform, ['-strict', '-output', 'json', '-summary', '-schema-location', schemaFiles], text)
  /** The file that the pods receive: a ConfigMap, or an annotation of their own. */
  const configOf = (all: Resource[]): string => {
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
  const required = ['--set', 'config.app.url=https://auth.example.com,resources.limits.cpu=2']
  const set = (name: string) => join(chart, 'ci', `${name}.yaml`)
  const refused = (values: string, options: string[]) => {
    const { status, stderr } = template(values, options)
    return status === 0 ? 'accepted' : stderr
  }

  t.test('lints, renders and validates the chart for each set of values', async (t) => {
    t.ok(sets.length >= 3)
    for (const values of sets) {
      const lint = run(helm, ['lint', chart, '--strict', '--kube-version', kubernetes, '--values', values])
      t.equal(lint.status, 0, `lint ${values}: ${lint.stdout}${lint.stderr}`)
      const { stdout } = template(values)
      const valid = validate(stdout)
      t.equal(valid.status, 0, `kubeconform ${values}: ${valid.stdout}${valid.stderr}`)
      t.match(JSON.parse(valid.stdout).summary, { invalid: 0, errors: 0, skipped: 0 })
      t.equal(JSON.parse(valid.stdout).summary.valid, parseAllDocuments(stdout).length)
    }
    const misspelt = template(set('postgresql')).stdout.replace('readOnlyRootFilesystem', 'readOnlyRootFileSystem')
    t.equal(validate(misspelt).status, 1, 'unknown Kubernetes keys are detected')
  })

  t.test('accepts the configuration that the pod receives', async (t) => {
    const folder = temporaryDirectory(t)
    mkdirSync(join(folder, 'svc'))
    writeFileSync(join(folder, 'svc/secret'), 'Wm1Nn6tF3zq0bD8yXc5RkV2uJh9sLgPeA7oTiQ4M')
    writeFileSync(join(folder, 'svc/database-url'), 'postgresql://svc:x@db.example.com/svc')
    const given: Record<string, string> = {
      SVC_SECRET: 'Wm1Nn6tF3zq0bD8yXc5RkV2uJh9sLgPeA7oTiQ4M',
      DATABASE_URL: 'postgresql://svc:x@db.example.com/svc',
      REDIS_URL: 'redis://redis.example.com',
      SMTP_PASSWORD: 'x',
      HTTPS_PROXY: 'http://proxy.example.com:3128',
    }
    for (const values of sets) {
      const all = resources(values)
      const [container] = only(all, 'Deployment').spec.template.spec.containers
      const env = Object.fromEntries(
        container.env.map(({ name, value }: Resource) => [name, value ?? given[name] ?? `unknown variable ${name}`]),
      )
      const file = configOf(all).replaceAll('/run/secrets/', `${folder}/`).replaceAll('/etc/svc-clients', folder)
      const { config } = parseConfig({ text: file, file: 'svc.yaml', env, cwd: folder })
      t.equal(config.app.environment, 'production')
      t.equal(config.database.engine, values.endsWith('embedded.yaml') ? 'sqlite' : 'postgresql')
      t.equal(config.server.port, container.ports[0].containerPort)
      t.equal(env.SVC_CONFIG, `${container.volumeMounts[0].mountPath}/svc.yaml`)
      t.notOk(container.volumeMounts[0].subPath, 'a directory, so that changes arrive')
    }
  })

  t.test('runs pods as the image requires, with minimal rights', async (t) => {
    const last = readDockerfile(readFileSync(join(root, 'Dockerfile'), 'utf8')).at(-1)
    if (!last) return t.fail('no stage')
    for (const values of sets) {
      for (const { kind, spec } of resources(values)) {
        const pod = ['Deployment', 'Job'].includes(kind) ? spec.template.spec : kind === 'Pod' ? spec : undefined
        if (!pod) continue
        const { runAsUser, runAsGroup, runAsNonRoot, seccompProfile } = pod.securityContext
        t.equal(`${runAsUser}:${runAsGroup}`, instructionsOf(last, 'USER')[0])
        t.strictSame(
          [runAsNonRoot, seccompProfile, pod.automountServiceAccountToken],
          [true, { type: 'RuntimeDefault' }, false],
        )
        t.strictSame(pod.containers[0].securityContext, {
          allowPrivilegeEscalation: false,
          capabilities: { drop: ['ALL'] },
          readOnlyRootFilesystem: true,
        })
      }
    }
    const [container] = only(resources(set('embedded')), 'Deployment').spec.template.spec.containers
    t.strictSame(instructionsOf(last, 'EXPOSE'), [String(container.ports[0].containerPort)])
    const mounted = container.volumeMounts.map(({ mountPath }: Resource) => mountPath)
    t.ok(mounted.includes('/app/data'), 'the database is on the volume')
    t.ok(mounted.includes('/tmp'))
    const probes = ['startupProbe', 'livenessProbe', 'readinessProbe'].map((name) => container[name].httpGet.path)
    t.strictSame(probes, ['/health/live', '/health/live', '/health/ready'])
  })

  t.test('replaces the one pod of the embedded database; several pods need PostgreSQL', async (t) => {
    const { spec } = only(resources(set('embedded')), 'Deployment')
    t.match(spec, { replicas: 1, strategy: { type: 'Recreate' } })
    const claim = only(resources(set('embedded')), 'PersistentVolumeClaim')
    t.equal(claim.metadata.annotations['helm.sh/resource-policy'], 'keep')
    t.match(refused(set('embedded'), ['--set', 'replicas=2']), /for one replica/)
    t.match(refused(set('embedded'), ['--set', 'autoscaling.enabled=true']), /for one replica/)
    t.match(refused(set('embedded'), ['--set', 'secret.env.DATABASE_URL=url']), /the database is elsewhere/)
    t.match(refused(set('embedded'), ['--set', 'persistence.enabled=false']), /no database/)
    t.match(only(resources(set('postgresql')), 'Deployment').spec, { replicas: 2, strategy: { type: 'RollingUpdate' } })
    const scaled = resources(set('full'))
    t.notOk('replicas' in only(scaled, 'Deployment').spec, 'the autoscaler counts as several')
    t.equal(only(scaled, 'HorizontalPodAutoscaler').spec.minReplicas, 3)
  })

  t.test('installs with the values of its README', async (t) => {
    const [, values = ''] = /<<'YAML'\n(.*?)^YAML$/ms.exec(readFileSync(join(chart, 'README.md'), 'utf8')) ?? []
    const file = join(temporaryDirectory(t), 'values.yaml')
    writeFileSync(file, values)
    const ingress = only(resources(file), 'Ingress')
    t.strictSame(ingress.spec.tls, [{ hosts: ['auth.example.com'], secretName: 'auth-tls' }])
  })

  t.test('rejects unusable values with a reason', async (t) => {
    const file = join(temporaryDirectory(t), 'values.yaml')
    const refusedFile = (text: string) => {
      writeFileSync(file, text)
      return refused(file, [])
    }
    t.match(refusedFile(''), /config\.app\.url is required/)
    t.match(refusedFile('config: { app: { url: auth.example.com } }'), /does not match pattern/)
    const url = 'config: { app: { url: "https://auth.example.com" } }'
    t.match(refusedFile(url), /no secret/)
    t.match(refusedFile(`${url}\nsecret: { env: { SVC_SECRET: secret } }`), /secret\.name is required/)
    t.match(refusedFile(`${url}\nsecret: { name: svc, env: { SVC_SECRET: secret } }`), /no database/)
    t.match(refused(set('postgresql'), ['--set', 'serviceMonitor.enabled=true']), /config\.metrics\.port/)
    const auto = ['--set', 'config.server.workers=auto']
    t.match(refused(set('postgresql'), auto), /needs resources\.limits\.cpu/)
    t.equal(refused(set('postgresql'), [...auto, '--set', 'resources.limits.cpu=2']), 'accepted')
    t.match(refused(set('postgresql'), ['--set', 'replica=3']), /replica/)
    t.match(refused(set('postgresql'), ['--set', 'terminationGracePeriodSeconds=5']), /terminationGracePeriodSeconds/)
  })

  t.test('rejects unknown keys and wrong types in the configuration', async (t) => {
    const postgresql = (...options: string[]) => refused(set('postgresql'), options)
    for (const [value, reason] of [
      ['config.sesion.lifetime=60', /sesion/],
      ['config.session.lifetme=60', /lifetme/],
      ['config.clients[0].cleint_id=web', /cleint_id/],
      ['config.social.google.secret=x', /secret/],
      ['config.guard.rules[0].acess=public', /acess/],
      ['config.metrics.port=true', /metrics\/port/],
      ['config.server.port=high', /server\/port/],
      ['config.app.environment=staging', /environment/],
      ['config.clients=web', /clients/],
      ['config.theme.colors.acent=red', /acent/],
    ] as const) {
      t.match(postgresql('--set', value), reason, value)
    }
    for (const value of [
      { server: { port: `\${PORT}`, workers: 'auto', trust_proxy: `\${PROXIES}` } },
      { app: { environment: `\${ENVIRONMENT:-production}`, secret: { file: '/run/secrets/svc/secret' } } },
      { session: null, social: { google: { client_id: 'x', client_secret: { file: '/run/secrets/svc/google' } } } },
      { clients: [{ client_id: 'web', first_party: `\${FIRST_PARTY}`, scopes: ['openid'] }], test_page: false },
    ]) {
      t.equal(postgresql('--set-json', `config=${JSON.stringify(value)}`, ...required), 'accepted')
    }
  })

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
    t.same(own.command, ['svc', 'config:check'])
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

  t.test('serves the guard on a port and a Service of its own', async (t) => {
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

  t.test('adds the dashboards to a ConfigMap unchanged', async (t) => {
    const copy = join(temporaryDirectory(t), 'svc')
    cpSync(chart, copy, { recursive: true })
    mkdirSync(join(copy, 'dashboards'), { recursive: true })
    const text = '{\n  "legend": "{{route}} $__rate_interval"\n}\n'
    writeFileSync(join(copy, 'dashboards/other.json'), text)
    const maps = resources(set('full'), [], copy).filter(({ kind }) => kind === 'ConfigMap')
    const map = maps.find(({ metadata }) => metadata.labels.grafana_dashboard === '1')
    t.equal(map?.data['other.json'], text)
    t.equal(map?.metadata.labels.team, 'identity')
    const plain = resources(set('postgresql'), [], copy)
    t.notOk(
      plain.some(({ kind }) => kind === 'ConfigMap'),
      'only on request',
    )
  })

  t.test('checks in the test pod that svc is ready', async (t) => {
    let status = 200
    const server = createServer((_request, response) => response.writeHead(status).end('{}')).listen(0, '127.0.0.1')
    t.teardown(() => server.close())
    await new Promise((done) => server.once('listening', done))
    const address = server.address()
    const port = typeof address === 'object' && address ? address.port : 0
    const [{ command, args }] = only(resources(set('full')), 'Pod').spec.containers
    t.strictSame(command, ['node', '--eval'])
    const pod = only(resources(set('full')), 'Pod').metadata.labels
    const { from } = only(resources(set('full')), 'NetworkPolicy').spec.ingress[0]
    const { matchLabels } = from.at(-1).podSelector
    t.strictSame({ ...pod, ...matchLabels }, pod, 'the network policy allows it')
    const { selector } = only(resources(set('full')), 'Service').spec
    t.not(selector['app.kubernetes.io/name'], pod['app.kubernetes.io/name'], 'the service does not select the test pod')
    const script = args[0].replace('//x-svc:80/', `//127.0.0.1:${port}/`)
    const ask = promisify(execFile)
    t.match(await ask(process.execPath, ['--eval', script]), { stdout: '200 {}\n' })
    status = 503
    await t.rejects(ask(process.execPath, ['--eval', script]), { code: 1 })
  })
}

t.test('has the version of the image', async (t) => {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  t.match(parse(readFileSync(join(chart, 'Chart.yaml'), 'utf8')), { version, appVersion: version })
})
