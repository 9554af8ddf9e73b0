// engine: none
import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { parse, parseAllDocuments } from 'yaml'
import { parseConfig } from '../../src/platform/config/load.ts'
import { instructionsOf, readDockerfile } from '../support/dockerfile.ts'
import { temporaryDirectory } from '../support/process.ts'
import { chart, configOf, only, type Resource, root, set, sets, withChart } from './render.ts'

withChart(({ template, resources, validate, lint, refused }) => {
  const required = ['--set', 'config.app.url=https://auth.example.com,resources.limits.cpu=2']
  t.test('lints, renders and validates the chart for each set of values', async (t) => {
    t.ok(sets.length >= 3)
    for (const values of sets) {
      const linted = lint(values)
      t.equal(linted.status, 0, `lint ${values}: ${linted.stdout}${linted.stderr}`)
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
})

t.test('has the version of the image', async (t) => {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  t.match(parse(readFileSync(join(chart, 'Chart.yaml'), 'utf8')), { version, appVersion: version })
})
