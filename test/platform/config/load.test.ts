// engine: none
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: that very syntax is under test
import { join } from 'node:path'
import t from 'tap'
import { configPath, loadConfig, parseConfig } from '../../../src/platform/config/load.ts'
import { configOf, linesOf, problemsOf, SECRET } from './problems.ts'

const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE

t.test('uses the defaults without a file', (t) => {
  const cwd = t.testdir({})
  const { config, file, warnings } = loadConfig({ env: {}, cwd })
  t.equal(file, null)
  t.strictSame(warnings, [])
  t.match(config, {
    app: { name: 'svc', url: 'http://localhost:8000', frontend_url: 'http://localhost:8000', secret: [] },
    server: { host: '::', port: 8000, trust_proxy: [], drain: 5_000 },
    database: { url: 'file:./data/svc.db', engine: 'sqlite', file: join(cwd, 'data/svc.db') },
    redis: { url: null, timeout: 1_000 },
    expiration: null,
    session: {
      lifetime: 120 * MINUTE,
      absolute_lifetime: 30 * DAY,
      secure: false,
      domain: null,
      remember_lifetime: 400 * DAY,
    },
    tokens: { prune_after: DAY },
    cors: { origins: null, supports_credentials: true },
    passkeys: { rp_id: 'localhost', origins: ['http://localhost:8000'] },
    oauth: { access_token_ttl: 15 * MINUTE, refresh_grace: 10_000, audience: 'http://localhost:8000' },
    rate_limits: { login: { max: 5, window: MINUTE }, global: null },
    guard: { diagnose: true },
    samples: true,
    test_page: true,
  })
  t.strictSame(config.stateful, [
    'localhost',
    'localhost:3000',
    'localhost:5173',
    '127.0.0.1',
    '127.0.0.1:8000',
    '::1',
    'localhost:8000',
  ])
  t.end()
})

t.test('reads svc.yaml, config/svc.yaml or the file that SVC_CONFIG names', (t) => {
  const cwd = t.testdir({ config: { 'svc.yaml': 'app: { name: One }' }, 'other.yaml': 'app: { name: Two }' })
  t.match(loadConfig({ env: {}, cwd }), { file: 'config/svc.yaml', config: { app: { name: 'One' } } })
  const own = t.testdir({ config: { 'svc.yaml': 'app: { name: One }' }, 'svc.yaml': 'app: { name: Own }' })
  t.match(loadConfig({ env: {}, cwd: own }), { file: 'svc.yaml', config: { app: { name: 'Own' } } })
  t.equal(configPath({}, own), join(own, 'svc.yaml'))
  t.testdir({ config: { 'svc.yaml': 'app: { name: One }' }, 'other.yaml': 'app: { name: Two }' })
  t.match(loadConfig({ env: { SVC_CONFIG: 'other.yaml' }, cwd }), {
    file: 'other.yaml',
    config: { app: { name: 'Two' } },
  })
  t.match(loadConfig({ env: { SVC_CONFIG: join(cwd, 'other.yaml') }, cwd }), { config: { app: { name: 'Two' } } })
  t.throws(() => loadConfig({ env: { SVC_CONFIG: 'gone.yaml' }, cwd }), {
    message: 'gone.yaml: the configuration file cannot be read (no such file)',
  })
  t.end()
})

t.test('derives defaults from other keys', (t) => {
  const config = configOf(`
app: { url: 'https://Auth.Example.com/', environment: development, frontend_url: 'https://app.example.com' }
stateful: [App.example.com, auth.example.com]
mail: { url: 'file:mails' }
database: { url: 'file:///var/lib/svc.db' }
clients:
  - { client_id: spa, type: public, grants: [authorization_code], redirect_uris: ['https://a.example/x', 'https://a.example/y'] }
`)
  t.match(config.app, { url: 'https://auth.example.com', frontend_url: 'https://app.example.com' })
  t.equal(config.session.secure, true, 'auto follows app.url')
  t.equal(configOf('session: { secure: true }').session.secure, true)
  t.strictSame(config.stateful, ['app.example.com', 'auth.example.com'], 'the own host is added once')
  t.match(config.passkeys, { rp_id: 'example.com', origins: ['https://auth.example.com', 'https://app.example.com'] })
  t.equal(config.links.reset, 'https://app.example.com/reset-password/{token}?email={email}')
  t.equal(config.links.verify, '/email/verify/{id}/{hash}')
  t.equal(config.oauth.audience, 'https://auth.example.com')
  t.equal(config.mail.url, 'file:/srv/mails')
  t.equal(config.database.file, '/var/lib/svc.db')
  t.match(config.clients[0], { name: 'spa', cors_origins: ['https://a.example'], access_token_ttl: null })
  t.end()
})

t.test('never binds passkeys to a public suffix', (t) => {
  const rpId = (url: string, frontend: string) =>
    configOf(`app: { environment: development, url: '${url}', frontend_url: '${frontend}' }`).passkeys.rp_id
  t.equal(rpId('https://a.github.io', 'https://b.github.io'), 'a.github.io')
  t.equal(rpId('https://a.example.co.uk', 'https://b.example.co.uk'), 'example.co.uk')
  t.equal(rpId('https://auth.one.com', 'https://app.two.com'), 'auth.one.com')
  t.equal(rpId('https://id.example.com', 'https://app.id.example.com'), 'id.example.com', 'the most specific suffix')
  t.equal(rpId('https://app.id.example.com', 'https://id.example.com'), 'id.example.com')
  t.equal(
    rpId('https://github.io', 'https://a.github.io'),
    'github.io',
    'a host that is a public suffix stays as it is',
  )
  t.equal(rpId('http://127.0.0.1:8000', 'http://127.0.0.1:3000'), '127.0.0.1')
  t.equal(rpId('http://10.0.0.1:8000', 'http://11.0.0.1:3000'), '10.0.0.1', 'IP addresses have no common domain')
  t.equal(rpId('http://[::1]:8000', 'http://localhost:3000'), '[::1]')
  t.end()
})

t.test('needs no file with PostgreSQL', (t) => {
  t.strictSame(configOf('database: { url: postgresql://u:p@db/svc }').database, {
    url: 'postgresql://u:p@db/svc',
    prepared_statements: true,
    engine: 'postgresql',
    file: null,
  })
  t.end()
})

t.test('prefers the environment to the file', (t) => {
  const text = 'server: { port: 1, host: 127.0.0.1 }\nstateful: [x.example]\napp: { secret: short }'
  const config = configOf(text, {
    PORT: '9000',
    DATABASE_URL: 'postgres://u:p@db/svc',
    REDIS_URL: 'redis://cache',
    SVC_SECRET: `${SECRET}, ${SECRET}2 ,`,
    SVC_STATEFUL_DOMAINS: ' a.example , ,b.example:3000,',
  })
  t.match(config.server, { port: 9000, host: '127.0.0.1' })
  t.match(config.database, { engine: 'postgresql' })
  t.equal(config.redis.url, 'redis://cache')
  t.strictSame(config.app.secret, [SECRET, `${SECRET}2`])
  t.strictSame(config.stateful, ['a.example', 'b.example:3000', 'localhost:8000'])
  t.strictSame(configOf('', { SVC_STATEFUL_DOMAINS: '' }).stateful, ['localhost:8000'], 'an empty list is a list')
  t.equal(configOf('server: { port: 7 }', { PORT: '' }).server.port, 7, 'an empty variable counts as missing')
  t.end()
})

t.test('names the variable in errors about the environment', (t) => {
  t.strictSame(
    linesOf('server:\n  port: 1', { PORT: 'eighty', DATABASE_URL: 'mysql://u:hunter2@db', SVC_SECRET: 'short' }),
    [
      'environment: PORT: must be a port number from 0 to 65535 (found "eighty")',
      'environment: DATABASE_URL: must be file:<path> (SQLite in memory is not supported) or postgresql://user:password@host:port/name',
      'environment: SVC_SECRET: must be at least 32 random bytes; create it with openssl rand -base64 32',
    ],
  )
  t.end()
})

t.test('replaces ${NAME} by a variable anywhere', (t) => {
  const config = configOf(
    `
app: { name: "\${FIRST} and \${SECOND:-two}", secret: \${KEY} }
server: { port: \${MY_PORT:-8001} }
stateful_api: \${API}
expiration: \${MINUTES:-null}
stateful: \${HOSTS}
session: { login_failure_status: \${STATUS:-422}, lifetime: \${EMPTY:-5m} }
tokens: { prefix: \${NONE:-} }
`,
    { FIRST: 'one', KEY: SECRET, API: 'false', HOSTS: 'a.example, b.example', EMPTY: '' },
  )
  t.match(config.app, { name: 'one and two', secret: [SECRET] })
  t.match(config, { server: { port: 8001 }, stateful_api: false, expiration: null, tokens: { prefix: '' } })
  t.strictSame(config.stateful, ['a.example', 'b.example', 'localhost:8000'])
  t.match(config.session, { login_failure_status: 422, lifetime: 5 * MINUTE })
  t.equal(configOf('app: { name: "$${NAME}" }').app.name, '${NAME}', '$${ is a literal ${')
  t.equal(configOf('app: { name: ${N:-a: [b], #c} }').app.name, 'a: [b], #c')
  t.end()
})

t.test('reports missing variables and broken references with their line', (t) => {
  t.strictSame(linesOf('app:\n  name: ${GONE}\nserver:\n  host: "${1}"\n  port: ${WORD:-x}'), [
    'svc.yaml:2: app.name: the environment variable GONE is not set and has no default',
    'svc.yaml:4: server.host: invalid reference; expected ${NAME} or ${NAME:-default}, or $${ for a literal ${',
    'svc.yaml:5: server.port: must be a port number from 0 to 65535 (found "x")',
  ])
  t.strictSame(linesOf('server: { port: "8000" }'), [
    'svc.yaml:1: server.port: must be a port number from 0 to 65535 (found "8000")',
  ])
  t.end()
})

t.test('reads secrets and URLs with passwords from files', (t) => {
  const cwd = t.testdir({
    one: `${SECRET}\n`,
    two: `${SECRET}\n\n`,
    url: 'postgresql://u:p@db/x\r\n',
    client: 's3cret',
  })
  const config = configOf(
    `
app: { secret: [{ file: one }, { file: '${join(cwd, 'two')}' }] }
database: { url: { file: \${WHERE:-url} } }
clients: [{ client_id: a, type: confidential, grants: [client_credentials], secret: { file: client } }]
`,
    {},
    cwd,
  )
  t.strictSame(config.app.secret, [SECRET, `${SECRET}\n`], 'one trailing newline is removed')
  t.equal(config.database.url, 'postgresql://u:p@db/x')
  t.equal(config.clients[0]?.secret, 's3cret')
  t.strictSame(
    linesOf('app:\n  secret:\n    - { file: gone }\n    - { file: one, mode: 1 }\n  name: { file: one }', {}, cwd),
    [
      'svc.yaml:3: app.secret[0]: the file gone cannot be read (no such file)',
      'svc.yaml:4: app.secret[1].mode: is not a known key; expected file',
      'svc.yaml:5: app.name: must be text of 1 to 100 characters (found a mapping)',
    ],
  )
  t.end()
})

t.test('treats a blank key as missing, and null as a value', (t) => {
  const config = configOf('app:\nsession:\n  lifetime:\nrate_limits:\n  login:\n  token: null\nredis: { url: }')
  t.equal(config.session.lifetime, 120 * MINUTE)
  t.strictSame(config.rate_limits.login, { max: 5, window: MINUTE })
  t.equal(config.rate_limits.token, null)
  t.strictSame(linesOf('session: { lifetime: null }'), [
    'svc.yaml:1: session.lifetime: must be a duration such as 30s, 15m, 2h or 30d, greater than zero, at most 3650d (found null)',
  ])
  t.end()
})

t.test('warns about valid values that are probably mistakes', (t) => {
  const warningsOf = (text: string, env = {}) => parseConfig({ text, file: 'svc.yaml', env, cwd: '/srv' }).warnings
  t.strictSame(
    warningsOf("metrics: { port: 9100 }\nclients: []\nrate_limits: { token: 60/1m }\nmail: { url: 'log:' }"),
    [],
  )
  t.match(warningsOf('server: { port: 9000 }'), [/^app.url is http:\/\/localhost:8000, but svc listens on port 9000/])
  t.strictSame(warningsOf('app: { url: http://localhost:9000 }', { PORT: '9000' }), [])
  t.strictSame(warningsOf('', { PORT: '0' }), [])
  const withSecret = (secret: string) =>
    warningsOf(`clients: [{ client_id: web, type: confidential, grants: [client_credentials], secret: '${secret}' }]`)
  for (const secret of ['a-secret+of-the-client', 'a-secret%of-the-client', 'a-secret/of:the&client']) {
    const [warning = '', ...rest] = withSecret(secret)
    t.match(warning, /^clients\[0\]\.secret \(client "web"\) contains reserved characters/)
    t.notMatch(warning, secret, 'a warning never shows the secret')
    t.same(rest, [])
  }
  t.strictSame(withSecret('A-secret_of.the~client-0123456789'), [])
  t.end()
})

t.test('SVC_URL sets app.url, and in development PORT alone moves a loopback app.url', async (t) => {
  const urlOf = (text: string, env: Record<string, string>) => configOf(text, env).app.url
  const port = { PORT: '9000' }
  const moved: [string, string][] = [
    ['', 'http://localhost:9000'],
    ['app: { url: http://localhost:8000 }', 'http://localhost:9000'],
    ['app: { url: http://127.0.0.1:8000, environment: development }', 'http://127.0.0.1:9000'],
    ["app: { url: 'http://[::1]:7000' }\nserver: { port: 7000 }", 'http://[::1]:9000'],
    // A proxy is in front.
    ['app: { url: http://localhost:8080 }', 'http://localhost:8080'],
    ['app: { url: https://localhost:8000 }', 'https://localhost:8000'],
    ['app: { url: http://192.168.0.9:8000, environment: development }', 'http://192.168.0.9:8000'],
  ]
  for (const [text, url] of moved) t.equal(urlOf(text, port), url, text)
  for (const odd of ['', '0', 'x', '-1', '70000x']) {
    const found = problemsOf('', { PORT: odd }).length === 0 ? urlOf('', { PORT: odd }) : 'http://localhost:8000'
    t.equal(found, 'http://localhost:8000', odd)
  }
  t.equal(configOf('', port).oauth.audience, 'http://localhost:9000', 'everything that follows from it moves too')
  t.equal(configOf('', port).server.port, 9000)
  t.equal(urlOf('', { ...port, SVC_URL: 'http://localhost:3000' }), 'http://localhost:3000')
  const production = `mail: { url: smtp://mail.example }
app: { url: https://a.example, environment: production, secret: ${SECRET} }`
  t.equal(urlOf(production, { ...port, SVC_URL: 'https://id.example' }), 'https://id.example')
  const [problem] = problemsOf('', { SVC_URL: 'https://a.example/path' })
  t.match(problem, { key: 'SVC_URL', message: /origin/ })
  const loopback = `mail: { url: smtp://mail.example }\napp: { url: http://localhost:8000, environment: production, secret: ${SECRET} }`
  t.equal(urlOf(loopback, port), 'http://localhost:8000', 'production does not move')
})
