// npm run check:cluster: installs the chart in the cluster of the current kubeconfig, and checks how it behaves there.
// Needs kubectl and Helm, and nodes that have or pull the images of svc (SVC_IMAGE), postgres:17 and Traefik (TRAEFIK_IMAGE).
import { randomBytes } from 'node:crypto'
import t, { type Test } from 'tap'
import { until } from '../support/until.ts'
import {
  apply,
  chart,
  helm,
  hostVolume,
  image,
  inPod,
  kubectl,
  others,
  own,
  podsOf,
  restricted,
  rolledOut,
  script,
  server,
  small,
} from './cluster.ts'
import { applyGatewayRoutes, applyRoutes, hasGatewayApi, installTraefik } from './traefik.ts'
import { checkWorkload, clusterVolume, pods, workloads } from './workload.ts'

t.setTimeout(1_800_000)

const password = randomBytes(12).toString('hex')
const database = `postgresql://svc:${password}@postgres.${others}.svc.cluster.local:5432/svc`
const [repository, tag] = image.split(/:(?=[^/]*$)/)
const login = { email: 'ada@example.com', password: 'correct horse battery staple', device_name: 'Phone' }

/** Values for PostgreSQL, as the operator of a database would provide it. */
const values = (config: object = {}, more: object = {}) => ({
  image: { repository, tag },
  config: {
    app: { url: 'https://auth.example.com' },
    mail: { url: 'smtp://mail.example.com:587' },
    server: { trust_proxy: ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fd00::/8'], drain: '2s' },
    session: { domain: 'example.com' },
    guard: {
      rules: [{ hosts: ['api.example.com'], paths: ['/public'], access: 'public' }, { hosts: ['api.example.com'] }],
    },
    ...config,
  },
  secret: { name: 'svc', env: { SVC_SECRET: 'SVC_SECRET', DATABASE_URL: { name: 'pg-app', key: 'uri' } } },
  ...more,
})

const must = ({ status, stdout, stderr }: ReturnType<typeof helm>): string => {
  if (status !== 0) throw new Error(stderr + stdout)
  return stdout
}

const exec = (...command: string[]) => kubectl(['exec', '--namespace', own, 'deployment/svc', '--', ...command])

/** Sends requests to svc until the pod `load` is stopped, and returns the outcomes. */
async function underLoad(work: () => void | Promise<void>): Promise<Record<string, number>> {
  const text = `
    const outcomes = {}
    let isOver = false
    process.on('SIGTERM', () => { isOver = true })
    const send = (path, options) => fetch('http://svc' + path, { ...options, signal: AbortSignal.timeout(10_000) })
    const client = async () => {
      while (!isOver) {
        const outcome = await send('/svc/token', { method: 'POST', headers: { 'content-type': 'application/json' },
          body: ${JSON.stringify(JSON.stringify(login))} }).then((answer) => answer.status, (error) => error.cause?.code ?? error.name)
        outcomes[outcome] = (outcomes[outcome] ?? 0) + 1
        await new Promise((done) => setTimeout(done, 20))
      }
    }
    Promise.all([1, 2, 3, 4].map(client)).then(() => console.log(JSON.stringify(outcomes)))`
  const pod = script('load', text) as { spec: { terminationGracePeriodSeconds: number } }
  pod.spec.terminationGracePeriodSeconds = 30
  apply(own, pod)
  kubectl(['wait', '--namespace', own, 'pod/load', '--for=condition=Ready', '--timeout=60s'])
  await work()
  kubectl(['exec', '--namespace', own, 'load', '--', 'bash', '-c', 'kill -TERM 1'])
  kubectl(['wait', '--namespace', own, 'pod/load', '--for=jsonpath={.status.phase}=Succeeded', '--timeout=60s'])
  const outcomes = JSON.parse(kubectl(['logs', '--namespace', own, 'load']))
  kubectl(['delete', 'pod', '--namespace', own, 'load'])
  return outcomes
}

/** A service that answers with the headers that it received. */
const orders = () =>
  server('orders', 3000, {
    image,
    command: [
      'node',
      '--eval',
      `require('http').createServer((q, s) => s.end(JSON.stringify(q.headers))).listen(3000)`,
    ],
    securityContext: restricted,
    resources: small,
  })

function prepare(t: Test): void {
  const remove = (wait: boolean) =>
    kubectl(['delete', 'namespace', own, others, '--ignore-not-found', `--wait=${wait}`])
  remove(true)
  t.teardown(() => {
    remove(false)
    // What belongs to no namespace.
    const label = ['--selector', 'app=svc-check', '--wait=false']
    kubectl(['delete', 'clusterrole,clusterrolebinding,persistentvolume', ...label])
    if (hasGatewayApi()) kubectl(['delete', 'gatewayclass', ...label])
  })
  const restrict = { 'pod-security.kubernetes.io/enforce': 'restricted' }
  for (const [name, labels] of [
    [own, restrict],
    [others, {}],
  ] as const)
    apply('default', { apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } })
  kubectl([
    'create',
    'secret',
    'generic',
    'svc',
    '--namespace',
    own,
    `--from-literal=SVC_SECRET=${randomBytes(32).toString('base64')}`,
  ])
  kubectl(['create', 'secret', 'generic', 'pg-app', '--namespace', own, `--from-literal=uri=${database}`])
  const hard = { 'requests.cpu': '4', 'requests.memory': '6Gi', 'limits.memory': '8Gi' }
  apply(own, { apiVersion: 'v1', kind: 'ResourceQuota', metadata: { name: 'quota' }, spec: { hard } })
  const env = Object.entries({ POSTGRES_USER: 'svc', POSTGRES_DB: 'svc', POSTGRES_PASSWORD: password })
  apply(
    others,
    ...server('postgres', 5432, { image: 'postgres:17', env: env.map(([name, value]) => ({ name, value })) }),
  )
}

t.test('runs the chart in a cluster', async (t) => {
  t.comment(kubectl(['version', '--output', 'yaml']).replaceAll(/\n/g, ' '))
  prepare(t)
  // Each step builds on the ones before it.
  const step = async (name: string, work: (t: Test) => Promise<void>) => {
    if (t.passing()) await t.test(name, work)
    else t.fail(`not run: ${name}`)
  }

  await step('installs in a restricted namespace with a quota, while PostgreSQL starts', async (t) => {
    must(helm(['install', 'svc', chart], values()))
    rolledOut(own, 'svc')
    t.equal(podsOf(pods).length, 2)
    t.match(must(helm(['test', 'svc', '--logs'])), /200 .*"status":"ok"/)
    const create = ['exec', '--stdin', '--namespace', own, 'deployment/svc', '--', 'svc', 'user:create']
    kubectl([...create, `--email=${login.email}`, '--name=Ada', '--verified'], `${login.password}\n`)
    for (const address of ['127.0.0.1', '[::1]']) {
      const ask = `fetch('http://${address}:8000/health/live').then((answer) => console.log(answer.status))`
      t.equal(exec('node', '--eval', ask), '200', `${address} inside the pod`)
    }
  })

  await step('serves the guard only inside the cluster, on its own Service', async (t) => {
    const ask = (host: string) =>
      `fetch('http://${host}/svc/guard', { headers: { 'x-forwarded-method': 'GET', 'x-forwarded-proto': 'https',
        'x-forwarded-host': 'api.example.com', 'x-forwarded-uri': '/public' } }).then((answer) => console.log(answer.status))`
    t.equal(await inPod(ask('svc')), '404')
    t.equal(await inPod(ask('svc-guard')), '200')
  })

  await step('authenticates a pod by its service account, as docs/workloads.md says', async (t) => {
    must(helm(['upgrade', 'svc', chart], values(workloads, clusterVolume)))
    rolledOut(own, 'svc')
    await checkWorkload(t)
  })

  await step('upgrades without a failed request', async (t) => {
    const outcomes = await underLoad(() => {
      must(helm(['upgrade', 'svc', chart], values({ session: { domain: 'example.com', lifetime: '3h' } })))
      rolledOut(own, 'svc')
      kubectl(['rollout', 'restart', 'deployment/svc', '--namespace', own])
      rolledOut(own, 'svc')
    })
    t.comment(outcomes)
    t.same(Object.keys(outcomes), ['200'])
  })

  const broken = { passkeys: { rp_id: 'other.example' } }
  await step('refuses an upgrade whose configuration svc rejects, and says why', async (t) => {
    const before = podsOf(pods)
    const { status, stdout, stderr } = helm(['upgrade', 'svc', chart], values(broken))
    t.not(status, 0)
    t.match(stdout + stderr, /passkeys\.rp_id/)
    t.same(podsOf(pods), before, 'the pods are the same')
    const missing = {
      secret: { name: 'svc', env: { SVC_SECRET: 'SVC_SECRET', DATABASE_URL: { name: 'gone', key: 'uri' } } },
    }
    const unnamed = helm(['upgrade', 'svc', chart], values({}, missing))
    t.not(unnamed.status, 0)
    t.match(unnamed.stdout + unnamed.stderr, /DATABASE_URL is not set, because the Secret gone has no key uri/)
  })

  await step('restarts healthy pods after an upgrade that no Job checked, and undoes it', async (t) => {
    const before = podsOf(pods)
    must(helm(['upgrade', 'svc', chart], values(broken, { configCheck: { enabled: false } })))
    await until(() => podsOf(pods).length > before.length)
    t.throws(() => rolledOut(own, 'svc', '15s'), 'the new pods do not start')
    kubectl(['delete', 'pod', '--namespace', own, before[0] ?? ''])
    const healthy = () =>
      kubectl(['get', 'deployment', 'svc', '--namespace', own, '--output', 'jsonpath={.status.availableReplicas}'])
    await until(() => healthy() === '2')
    t.notOk(podsOf(pods).includes(before[0] ?? ''), 'the old revision started a pod again')
    kubectl(['rollout', 'undo', 'deployment/svc', '--namespace', own])
    rolledOut(own, 'svc')
    must(helm(['rollback', 'svc', '3', '--wait']))
    t.match(must(helm(['test', 'svc'])), /Succeeded/)
  })

  await step('guards a service behind Traefik by the documented files', async (t) => {
    apply(own, ...orders())
    rolledOut(own, 'orders')
    installTraefik()
    applyRoutes()
    await checkGuard(t)
  })

  if (hasGatewayApi()) {
    await step('guards a service behind the Gateway API by the documented file', async (t) => {
      must(
        helm(['upgrade', 'svc', chart], values({}, { gateway: { enabled: true, parentRefs: [{ name: 'gateway' }] } })),
      )
      rolledOut(own, 'svc')
      applyGatewayRoutes()
      await checkGuard(t)
    })
  } else t.comment('THE CLUSTER HAS NO GATEWAY API: ITS FILE WAS NOT CHECKED')

  await step('runs the embedded database on a volume, and keeps it', async (t) => {
    must(helm(['uninstall', 'svc', '--wait']))
    const hasClass = kubectl(['get', 'storageclass', '--output', 'name']) !== ''
    const persistence = hasClass ? { enabled: true } : { enabled: true, existingClaim: hostVolume() }
    const embedded = values(
      {},
      { replicas: 1, persistence, secret: { name: 'svc', env: { SVC_SECRET: 'SVC_SECRET' } } },
    )
    must(helm(['install', 'svc', chart], embedded))
    rolledOut(own, 'svc')
    const create = ['exec', '--stdin', '--namespace', own, 'deployment/svc', '--', 'svc', 'user:create']
    kubectl([...create, `--email=${login.email}`, '--name=Ada', '--verified'], `${login.password}\n`)
    must(helm(['upgrade', 'svc', chart], { ...embedded, podAnnotations: { 'example.com/changed': 'once' } }))
    rolledOut(own, 'svc')
    t.match(exec('svc', 'user:list'), login.email)
  })
})

/** Asks svc and a guarded service through Traefik, from a pod. */
async function checkGuard(t: Test): Promise<void> {
  const text = `
    const https = require('https')
    const ask = (host, path, headers = {}, method = 'GET', body) => new Promise((resolve, reject) => {
      const sent = https.request({ host: 'traefik.${others}.svc.cluster.local', port: 8443, path, method, servername: host,
        rejectUnauthorized: false, headers: { host, ...headers } }, (answer) => {
        let text = ''
        answer.on('data', (part) => (text += part)).on('end', () => resolve({ status: answer.statusCode, text }))
      })
      sent.on('error', reject).end(body)
    })
    const forged = { 'Remote-User': 'root', Remote_User: 'root', 'Remote.User': 'root' }
    const main = async () => {
      // Traefik replaces its routes within seconds.
      for (const [host, path] of [['auth.example.com', '/health/live'], ['api.example.com', '/public']])
        for (let times = 0; times < 20; await new Promise((done) => setTimeout(done, 200)))
          times = (await ask(host, path)).status === 200 ? times + 1 : 0
      const json = { 'content-type': 'application/json' }
      const { text } = await ask('auth.example.com', '/svc/token', json, 'POST', ${JSON.stringify(JSON.stringify(login))})
      const authorization = 'Bearer ' + JSON.parse(text).token
      console.log(JSON.stringify({
        guest: await ask('api.example.com', '/secret'),
        public: await ask('api.example.com', '/public', forged),
        user: await ask('api.example.com', '/secret', { authorization, ...forged }),
        guard: await ask('auth.example.com', '/svc/guard', { authorization }),
      }))
    }
    main()`
  const results = JSON.parse(await inPod(text))
  t.equal(results.guest.status, 401)
  t.match(results.public, { status: 200, text: /^(?!.*root)/ })
  t.match(results.user, { status: 200, text: /"remote-user":"1"/ })
  t.notMatch(results.user.text, /root|Bearer/)
  t.equal(results.guard.status, 404)
}
