// engine: none
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { findProgram } from '../../proxies/tools.ts'
import { buildTestApp, type Settings } from '../../support/app.ts'
import { freePort, runCli, temporaryDirectory } from '../../support/process.ts'
import { Authority, proxyAddress, startTlsProxy } from '../../support/tls-proxy.ts'

interface Check {
  check: string
  status: string
  message: string
  key: string | null
}

interface Deployment {
  certificate?: { host?: string; days?: number; isComplete?: boolean }
  directives?: readonly string[]
  settings?: Settings
}

const forwarding = 'proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;'

/** Starts svc behind nginx with TLS, and returns its address. */
async function deploy(t: Test, authority: Authority, { certificate, directives = [forwarding], settings }: Deployment) {
  const port = await freePort()
  const url = `https://localhost:${port}`
  const own = { app: { url, environment: 'development' }, server: { trust_proxy: [proxyAddress] }, ...settings }
  const { app } = await buildTestApp(t, { settings: own })
  const target = Number(new URL(await app.listen({ port: 0, host: '127.0.0.1' })).port)
  await startTlsProxy(t, authority.issue(certificate), target, directives, port)
  return url
}

async function examine(t: Test, authority: Authority | null, url: string, env: Record<string, string> = {}) {
  const trusted = authority ? { NODE_EXTRA_CA_CERTS: authority.root } : {}
  const ended = await runCli(['doctor', url, '--json'], { cwd: temporaryDirectory(t), env: { ...trusted, ...env } })
  const checks: Check[] = JSON.parse(ended.stdout).checks
  return { ...ended, checks, of: (name: string) => checks.find(({ check }) => check === name) }
}

if (!findProgram('nginx')) {
  const line = 'nginx is not installed: svc doctor was not tested'
  if (process.env.CI) t.fail(line)
  else t.pass(line, { skip: true })
} else {
  const authority = new Authority(t)

  t.test('finds nothing wrong with a deployment behind nginx', async (t) => {
    const url = await deploy(t, authority, {})
    const { code, checks, stdout } = await examine(t, authority, url)
    t.strictSame(
      checks.map(({ check, status }) => [check, status]),
      ['tls', 'reachable', 'ready', 'headers', 'discovery', 'cookies', 'proxy', 'clock'].map((name) => [name, 'ok']),
      stdout,
    )
    t.equal(code, 0)
    t.match(JSON.parse(stdout), { url, ok: true })
    const env = { NODE_EXTRA_CA_CERTS: authority.root }
    const printed = await runCli(['doctor', url], { cwd: temporaryDirectory(t), env })
    t.match(printed.stdout, /^ok {7}tls {12}TLSv1\.[23], the certificate is valid for (89|90) more days\.$/m)
    t.equal(printed.code, 0)
  })

  t.test('warns about a guard that clients can reach', async (t) => {
    const rules = [{ hosts: ['api.example.com'] }]
    const cases = [
      [
        null,
        { status: 'warning', message: /answers 400 at \/svc\/guard\. Set guard\.port to a port/, key: 'guard.port' },
      ],
      [await freePort(), { status: 'ok', message: 'Clients cannot reach the guard.' }],
    ] as const
    for (const [port, expected] of cases) {
      const url = await deploy(t, authority, { settings: { guard: { port, rules } } })
      const cwd = temporaryDirectory(t)
      writeFileSync(join(cwd, 'svc.yaml'), JSON.stringify({ app: { url }, guard: { port, rules } }))
      const env = { NODE_EXTRA_CA_CERTS: authority.root, SVC_CONFIG: 'svc.yaml' }
      const { stdout } = await runCli(['doctor', '--json'], { cwd, env })
      const checks: Check[] = JSON.parse(stdout).checks
      t.match(
        checks.find(({ check }) => check === 'guard'),
        expected,
      )
    }
  })

  t.test('reports an invalid certificate, and still checks the rest', async (t) => {
    const cases: [name: string, Deployment, Authority | null, message: RegExp, status: string][] = [
      ['expired', { certificate: { days: -1 } }, authority, /has expired/, 'error'],
      ['expires soon', { certificate: { days: 5 } }, authority, /expires in [45] days/, 'warning'],
      ['incomplete', { certificate: { isComplete: false } }, authority, /chain .* is incomplete/, 'error'],
      ['another host', { certificate: { host: 'other.example' } }, authority, /another host name/, 'error'],
      ['unknown authority', {}, null, /unknown/, 'error'],
    ]
    for (const [name, deployment, trusted, message, status] of cases) {
      const { of, code } = await examine(t, trusted, await deploy(t, authority, deployment))
      t.match(of('tls'), { status, message }, name)
      t.equal(code, status === 'error' ? 1 : 0, name)
      t.match(of('discovery'), { status: 'ok' }, name)
    }
  })

  t.test('reports what a proxy changes', async (t) => {
    const elsewhere = { app: { url: 'https://auth.example.com', environment: 'development' } }
    const cases: [name: string, Deployment, check: string, status: string, message: RegExp, key?: string][] = [
      [
        'headers removed',
        { directives: [forwarding, 'proxy_hide_header Content-Security-Policy;'] },
        'headers',
        'error',
        /content-security-policy is missing/,
      ],
      [
        'headers replaced',
        { directives: [forwarding, 'proxy_hide_header Referrer-Policy;', 'add_header Referrer-Policy unsafe-url;'] },
        'headers',
        'warning',
        /referrer-policy is "unsafe-url"/,
      ],
      [
        'cookie path',
        { directives: [forwarding, 'proxy_cookie_path / /auth;'] },
        'cookies',
        'error',
        /does not have Path=\//,
      ],
      [
        'cookie not secure',
        { directives: [forwarding, 'proxy_cookie_flags ~ nosecure;'] },
        'cookies',
        'error',
        /is not Secure/,
        'session.secure',
      ],
      [
        'no cookies',
        { directives: [forwarding, 'proxy_hide_header Set-Cookie;'] },
        'cookies',
        'error',
        /without the session cookie/,
      ],
      [
        'issuer',
        { settings: elsewhere },
        'discovery',
        'error',
        /The issuer is "https:\/\/auth\.example\.com"/,
        'app.url',
      ],
      ['forged address', { directives: [] }, 'proxy', 'error', /can forge its address/, 'server.trust_proxy'],
      ['no svc behind it', { directives: [forwarding, 'return 502;'] }, 'reachable', 'error', /answers 502/],
      ['no limit', { settings: { rate_limits: { token: null } } }, 'proxy', 'skipped', /rate limit .* is off/],
    ]
    for (const [name, deployment, check, status, message, key = null] of cases) {
      const { of, code, stdout } = await examine(t, authority, await deploy(t, authority, deployment))
      t.match(of(check), { status, message, key }, `${name}: ${stdout}`)
      t.equal(code, status === 'error' ? 1 : 0, name)
    }
  })

  t.test('reports a clock that differs', async (t) => {
    const url = await deploy(t, authority, { certificate: { days: 900 } })
    const shifted = { NODE_OPTIONS: `--import=${join(import.meta.dirname, '../../support/shifted-clock.mjs')}` }
    const { of, code } = await examine(t, authority, url, { ...shifted, CLOCK_OFF_BY: '3600000' })
    t.match(of('clock'), { status: 'error', message: /3(599|600) seconds behind this machine/ })
    t.equal(code, 1)
  })
}

t.test('reports an address that does not answer, and rejects anything but an origin', async (t) => {
  const { of, code } = await examine(t, null, `http://127.0.0.1:${await freePort()}`)
  t.match(of('reachable'), { status: 'error', message: /cannot be reached: .*ECONNREFUSED/ })
  t.equal(code, 1)
  for (const words of [['https://auth.example.com/path'], ['auth.example.com'], ['file:///etc/passwd']]) {
    const ended = await runCli(['doctor', ...words], { cwd: temporaryDirectory(t) })
    t.equal(ended.code, 1)
    t.match(ended.stderr, /^<url> must be an http or https origin/)
    t.equal(ended.stdout, '')
  }
})

t.test('checks the deployment of SVC_CONFIG without arguments', async (t) => {
  const cwd = temporaryDirectory(t)
  const port = await freePort()
  writeFileSync(join(cwd, 'own.yaml'), `app: { url: 'http://localhost:${port}' }\n`)
  const env = { SVC_CONFIG: 'own.yaml', DATABASE_URL: `file:${join(cwd, 'svc.db')}` }
  const { stdout } = await runCli(['doctor'], { cwd, env })
  t.match(stdout, /^ok +configuration +own\.yaml is valid\.$/m)
  t.match(stdout, new RegExp(`http://localhost:${port} cannot be reached`))
  t.match(stdout, /^warning +database +The database file does not exist yet/m)
})

t.test('prints one line per check, without control characters of the other side', async (t) => {
  const issuer = 'https://evil.example\nok       tls            valid\u001b[2J\u009b1A\u202e'
  const server = createServer((_request, response) => response.end(JSON.stringify({ issuer })))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  const { stdout } = await runCli(['doctor', `http://127.0.0.1:${port}`], { cwd: temporaryDirectory(t) })
  t.match(stdout, 'The issuer is "https://evil.example ok tls valid')
  t.notMatch(stdout, /[^\n\P{Cc}]|\p{Cf}/u)
  for (const line of stdout.trimEnd().split('\n')) t.match(line, /^(ok|warning|error|skipped) +\w+ {2}/)
  t.notMatch(stdout, /^ok +tls/m)
})
