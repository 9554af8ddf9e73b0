// engine: none
import t from 'tap'
import { ConfigError } from '../../../src/platform/config/config-error.ts'
import { parseConfig } from '../../../src/platform/config/load.ts'
import { configSchema } from '../../../src/platform/config/schema.ts'
import { childSchema, type Schema } from '../../../src/platform/config/walk.ts'
import { configOf, SECRET, table } from './problems.ts'

const HTTPS = 'app: { url: https://auth.example.com, environment: development }'
table('app', [
  ["app: { url: 'ftp://a.example' }", 'app.url', /origin/],
  ["app: { url: 'https://a.example/x' }", 'app.url'],
  ["app: { url: 'https://a.example?x' }", 'app.url'],
  ["app: { url: 'https://u:p@a.example' }", 'app.url'],
  ['app: { url: auth.example.com }', 'app.url'],
  ["app: { frontend_url: 'https://a.example/app' }", 'app.frontend_url'],
  ["app: { url: 'https://a.example:8443/', environment: development }"],
  ["app: { url: 'https://a.example' }", 'app.environment', /is required because app\.url is not loopback/],
  ["app: { url: 'https://a.example', environment: null }", 'app.environment', /is required/],
  ["app: { url: 'http://192.168.1.5:8000' }", 'app.environment', /is required/],
  ["app: { url: 'http://localhost.example.com' }", 'app.environment', /is required/],
  ["app: { url: 'http://127.0.0.1:8000' }"],
  ["app: { url: 'http://127.9.9.9:8000' }"],
  ["app: { url: 'http://127.example.com' }", 'app.environment', /is required/],
  ["app: { url: 'http://notlocalhost' }", 'app.environment', /is required/],
  ["app: { url: 'http://id.localhost:8000' }"],
  ["app: { url: 'http://[::1]:8000' }"],
  ["app: { url: 'http://localhost:3000', environment: null }"],
  ['app: { environment: staging }', 'app.environment', /one of development, production, null \(found "staging"\)/],
  ['app: { secret: x123456789012345678901234567890 }', 'app.secret', /32 random bytes/],
  [`app: { secret: [${SECRET}, short] }`, 'app.secret[1]', /32 random bytes/],
  [`app: { secret: ${SECRET} }`],
])

table('database', [
  ...[
    ...['file:', 'file://', 'file:///', 'file:?mode=memory', 'file:x?mode=memory&cache=shared', 'file:x#y'],
    ...[
      'file::memory:',
      'file::MEMORY:',
      'file:./:memory:',
      'file:///:memory:',
      'file:data/',
      'file:.',
      'file:data/..',
    ],
    ...[
      ':memory:',
      'memory',
      'sqlite::memory:',
      'sqlite:svc.db',
      './svc.db',
      'file://host/svc.db',
      'file: x',
      'file: ',
    ],
  ].map((url) => [`database: { url: '${url}' }`, 'database.url', /SQLite in memory is not supported/] as const),
  ['database: { url: "file:a\\u0000b" }', 'database.url'],
  ...['svc.db', './svc.db', '../svc.db', '/data/svc.db', '///data/svc.db', 'memory', 'a b.db', 'data/:memory:.db'].map(
    (path) => [`database: { url: 'file:${path}' }`] as const,
  ),
])

table('server and outbound', [
  ['server: { trust_proxy: [10.0.0.0/33] }', 'server.trust_proxy[0]', /address range/],
  ['server: { trust_proxy: [proxy.example] }', 'server.trust_proxy[0]'],
  ['server: { trust_proxy: [10.0.0.0/8, 10.1.2.3, "::1", "fd00::/8"] }'],
  ['outbound: { allow_private: ["fd00::/129"] }', 'outbound.allow_private[0]'],
  ['server: { port: 65536 }', 'server.port'],
  ['metrics: { port: 8000 }', 'metrics.port', /differ/],
  ['guard: { port: 8000 }', 'guard.port', /differ from server\.port/],
  ['guard: { port: 9100 }\nmetrics: { port: 9100 }', 'guard.port', /differ from metrics\.port/],
  ['database: { url: ./svc.db }', 'database.url'],
  ['redis: { url: http://cache }', 'redis.url'],
  ['redis: { sentinels: [sentinel:26379] }', 'redis.sentinels'],
  ['redis: { url: redis://mymaster:6379, sentinels: [sentinel:26379] }', 'redis.url'],
  ['redis: { url: redis://mymaster, sentinels: [redis://sentinel] }', 'redis.sentinels[0]'],
])

table('stateful', [
  ['stateful: [https://a.example]', 'stateful[0]', /a host with an optional port/],
  ['stateful: [a.example/x]', 'stateful[0]'],
  ['stateful: [a.example, "a.example:0"]', 'stateful[1]'],
  ['stateful: ["a.example:65536"]', 'stateful[0]'],
  ['stateful: ["[::1"]', 'stateful[0]'],
  ['stateful: ["::1:3000x"]', 'stateful[0]'],
  ['stateful: [999.1.1.1]', 'stateful[0]'],
  ['stateful: ["::1", "[::1]:3000", "*.example.com", "app-*.example.com:8443", 10.0.0.1, my_host]'],
])

table('session', [
  ["session: { cookie: 'a b' }", 'session.cookie', /cookie name/],
  ["session: { cookie: 'a=b' }", 'session.cookie'],
  ['session: { cookie: XSRF-TOKEN }', 'session.cookie'],
  ['session: { xsrf_cookie: SVC-XSRF }'],
  ['session: { xsrf_cookie: svc_session }', 'session.xsrf_cookie', /another cookie/],
  ['session: { xsrf_cookie: svc_flash }', 'session.xsrf_cookie', /another cookie/],
  ['session: { xsrf_cookie: a b }', 'session.xsrf_cookie', /cookie name/],
  ['session: { xsrf_cookie: __Host-XSRF }', 'session.xsrf_cookie', /secure/],
  [`${HTTPS}\nsession: { xsrf_cookie: __Host-XSRF, domain: example.com }`, 'session.xsrf_cookie', /domain/],
  [`${HTTPS}\nsession: { xsrf_cookie: __Host-XSRF }`],
  ['session: { cookie: __Host-svc }', 'session.cookie', /secure/],
  [`${HTTPS}\nsession: { cookie: __Host-svc, domain: example.com }`, 'session.cookie', /domain/],
  [`${HTTPS}\nsession: { cookie: __Host-svc }`],
  [`${HTTPS}\nsession: { domain: other.example.com }`, 'session.domain', /auth\.example\.com/],
  [`${HTTPS}\nsession: { domain: .ample.com }`, 'session.domain'],
  [`${HTTPS}\nsession: { domain: com }`, 'session.domain', /public suffix/],
  [
    'app: { url: https://a.github.io, environment: development }\nsession: { domain: .github.io }',
    'session.domain',
    /public suffix/,
  ],
  [
    'app: { url: https://a.shop.co.uk, environment: development }\nsession: { domain: co.uk }',
    'session.domain',
    /public suffix/,
  ],
  [`${HTTPS}\nsession: { domain: .example.com }`],
  [`${HTTPS}\nsession: { domain: auth.example.com }`],
  ['session: { same_site: none }', 'session.same_site', /secure/],
  [`${HTTPS}\nsession: { same_site: none }`],
  ['session: { absolute_lifetime: 30 days }', 'session.absolute_lifetime', /15m/],
  ['session: { absolute_lifetime: 0d }', 'session.absolute_lifetime'],
  ['session: { login_failure_status: 403 }', 'session.login_failure_status', /401 or 422/],
])

table('accounts and mail', [
  ['passwords: { min_length: 200, max_length: 100 }', 'passwords.max_length', /min_length/],
  ['passkeys: { rp_id: example.org }', 'passkeys.rp_id', /app\.url/],
  [`${HTTPS}\npasskeys: { rp_id: com }`, 'passkeys.rp_id', /public suffix/],
  [`${HTTPS}\npasskeys: { rp_id: example.com }`],
  ["registration: { allowed_domains: ['ada@example.com'] }", 'registration.allowed_domains[0]'],
  ["passkeys: { origins: ['https://a.example/x'] }", 'passkeys.origins[0]'],
  ["passkeys: { origins: ['android:apk-key-hash:abc_-1'] }"],
  ['mail: { url: sendmail }', 'mail.url', /smtp/],
  ['mail: { from: unknown }', 'mail.from', /address/],
  ['links: { verify: /verify }', 'links.verify', /\{id\} and \{hash\}/],
  ["links: { reset: '{frontend_url}/{tokn}/{token}' }", 'links.reset', /\{tokn\}/],
  ['links: { login: //evil.example }', 'links.login', /path that begins with a single slash/],
  ['templates: { mail: ./nowhere }', 'templates.mail', /existing directory \(found "\/srv\/nowhere"\)/],
  ["theme: { colors: { accent: 'red; }' } }", 'theme.colors.accent', /colour/],
  ["theme: { colors: { accent: 'rgb(0 0 0' } }", 'theme.colors.accent', /colour/],
  ["theme: { colors: { accent: 'url(//evil.example/x)' } }", 'theme.colors.accent', /colour/],
  ["theme: { colors: { accent: '#0a7', text-dark: rgb(1 2 3 / 50%), border: oklch(0.7 0.1 200) } }"],
  ['theme: { colors: { primary: red } }', 'theme.colors.primary', /one of accent, accent-text/],
  ['i18n: { default: de, languages: [en, fr] }', 'i18n.default', /one of i18n\.languages, en, fr \(found "de"\)/],
  ['i18n: { default: xx }', 'i18n.default', /one of en, de/],
  ['i18n: { languages: [] }', 'i18n.languages', /at least one/],
  ['i18n: { directory: ./nowhere }', 'i18n.directory', /existing directory \(found "\/srv\/nowhere"\)/],
  ["i18n: { messages: { de: { password.hint: '{min} Zeichen bei {app}' } } }"],
  ["i18n: { messages: { de: { login.title: '{' } } }", 'i18n.messages.de["login.title"]', /ICU MessageFormat/],
  ["i18n: { messages: { de: { login.title: 'x {min}' } } }", 'i18n.messages.de["login.title"]', /\{min\}; .* \{app\}/],
  ["theme: { texts: { login.title: '{count, plural, one {x}}' } }", 'theme.texts["login.title"]', /ICU MessageFormat/],
  ['compat: { prefixes: [svc, oauth] }', 'compat.prefixes[1]'],
  ['compat: { prefixes: [] }', 'compat.prefixes', /at least one/],
])

table('limits', [
  ['rate_limits: { login: 5 per minute }', 'rate_limits.login', /5\/1m/],
  ['rate_limits: { login: 0/1m }', 'rate_limits.login'],
  ['rate_limits: { login: 5/1w }', 'rate_limits.login'],
  ['rate_limits: { login: null, global: 1000/1h }'],
])

table('scopes', [
  ["scopes: { '*': Everything }", 'scopes["*"]', /list each scope/],
  ["scopes: { 'a b': Two }", 'scopes["a b"]', /without spaces/],
])

t.test('accepts any value at any key or throws a ConfigError', (t) => {
  const odd = [
    'null',
    '5',
    '-1',
    '1e400',
    "''",
    'x',
    '[]',
    '{}',
    '[5, [x]]',
    '{ a: 1 }',
    '{ file: 5 }',
    'true',
    '"\\0"',
  ]
  let tried = 0
  for (const path of pathsOf(configSchema as unknown as Schema)) {
    for (const value of odd) {
      try {
        configOf(path.reduceRight((text, step) => (step === '-' ? `[${text}]` : `{ ${step}: ${text} }`), value))
      } catch (error) {
        if (!(error instanceof ConfigError)) t.error(error, `${path.join('.')}: ${value}`)
      }
      tried++
    }
  }
  t.ok(tried > 1_000)
  t.end()
})

/** Every path of the schema, with - for an item and name for a chosen name. */
function pathsOf(schema: Schema, path: readonly string[] = []): (readonly string[])[] {
  const steps = Object.keys(schema.properties ?? {})
  const below = steps.flatMap((step) => pathsOf(childSchema(schema, step) ?? {}, [...path, step]))
  const named = childSchema(schema, 'name')
  return [
    path,
    ...below,
    ...(schema.items ? pathsOf(schema.items, [...path, '-']) : []),
    ...(schema.patternProperties && named ? pathsOf(named, [...path, 'name']) : []),
  ]
}

const rule = (text: string) => `guard: { rules: [${text}] }`
table('guard', [
  [rule('{ hosts: [api.example.com, "*.example.com:8443", "[fd00::1]", 10.0.0.1] }')],
  [rule('{ hosts: ["*.*.example.com"] }'), 'guard.rules[0].hosts[0]', /a host such as/],
  [rule('{ hosts: ["api.*.com"] }'), 'guard.rules[0].hosts[0]'],
  [rule('{ hosts: ["https://api.example.com"] }'), 'guard.rules[0].hosts[0]'],
  [rule('{ hosts: ["10.1"] }'), 'guard.rules[0].hosts[0]'],
  [rule('{ hosts: [] }'), 'guard.rules[0].hosts'],
  [rule('{ paths: [/, /orders, "/orders/:id", "/orders/:id/lines/*", "/*", /a/, /café] }')],
  ...['orders', '/orders*', '/a/*/b', '//a', '/a/../b', '/./a', '/a%20b', '/a?b', '/a;b', '/a b', '/:', ''].map(
    (path) => [rule(`{ paths: ["${path}"] }`), 'guard.rules[0].paths[0]'] as const,
  ),
  [rule('{ methods: [get] }'), 'guard.rules[0].methods[0]', /in capitals/],
  [rule('{ networks: [10.0.0.0/33] }'), 'guard.rules[0].networks[0]', /address range/],
  [rule('{ credentials: [cookie] }'), 'guard.rules[0].credentials[0]'],
  [rule('{ role: staff }'), 'guard.rules[0].role', /roles/],
  [rule('{ name: a, paths: [/a] }, { name: a, paths: [/b] }'), 'guard.rules[1].name', /unique/],
  [rule('{ access: public, roles: [staff] }'), 'guard.rules[0].access', /must not be public .* roles/],
  [rule('{ credentials: [token], second_factor: true }'), 'guard.rules[0].credentials', /must include session/],
  [rule('{ paths: ["/*"] }, { paths: [/b] }'), 'guard.rules[1]', /is never used.*guard\.rules\[0\] \(line 1\)/],
  [rule('{ hosts: ["*.a.com"] }, { hosts: [x.a.com, y.a.com:8443] }'), 'guard.rules[1]'],
  [rule('{ paths: ["/a/:x"] }, { paths: [/a/b] }'), 'guard.rules[1]'],
  [rule('{ networks: [10.0.0.0/8] }, { networks: [10.1.0.0/16, 10.2.3.4] }'), 'guard.rules[1]'],
  [rule('{ paths: [/a] }, { paths: ["/a/*"] }')],
  [rule('{ hosts: [x.a.com] }, { hosts: ["*.a.com"] }')],
  [rule('{ hosts: ["*.a.com"] }, { hosts: [a.com, x.y.a.com] }')],
  [rule('{ methods: [GET] }, { methods: [GET, POST] }')],
  [rule('{ networks: [10.1.0.0/16] }, { networks: [10.0.0.0/8] }')],
  [rule('{ paths: ["/*"] }, { name: chosen, paths: [/b] }')],
])

t.test('warns about a rule for sessions on a host that never receives the session cookie', async (t) => {
  const warningsOf = (text: string) => parseConfig({ text, file: 'svc.yaml', env: {}, cwd: '/srv' }).warnings
  const hosts = 'guard:\n  rules:\n    - hosts: [auth.example.com, api.example.com]\n'
  t.match(warningsOf(`${HTTPS}\n${hosts}`), [
    /^svc\.yaml:4: guard\.rules\[0\]\.hosts: .* api\.example\.com\. Set session\.domain/,
  ])
  t.same(warningsOf(`${HTTPS}\nsession: { domain: example.com }\n${hosts}`), [])
  t.same(warningsOf(`${HTTPS}\n${hosts}      credentials: [token, jwt]\n`), [])
  t.same(warningsOf(`${HTTPS}\n${hosts}      access: public\n`), [])
})

const orders = 'apis: { orders: { audience: "https://orders.example.com", scopes: ["orders:read"] }'
const open = orders.slice(0, -2)
const caller = (scopes: string) =>
  `clients: [{ client_id: a, type: confidential, secret: abcdefghijklmnopqrstuvwxyz, grants: [client_credentials], scopes: ${scopes} }]`

table('apis', [
  [`${orders} }`],
  ['apis: { orders: { scopes: ["orders:read"] } }', 'apis.orders.audience', /required/],
  ['apis: { orders: { audience: orders, scopes: [x] } }', 'apis.orders.audience', /absolute URI/],
  ['apis: { orders: { audience: "https://a.example", scopes: [] } }', 'apis.orders.scopes'],
  ['apis: { orders: { audience: "https://a.example", scopes: ["a b"] } }', 'apis.orders.scopes[0]'],
  ['apis: { orders: { audience: "http://localhost:8000", scopes: [x] } }', 'apis.orders.audience', /differ from oauth/],
  [
    `${orders}, b: { audience: "https://orders.example.com", scopes: [x] } }`,
    'apis.b.audience',
    /from apis\.orders\.aud/,
  ],
  [
    `${orders}, b: { audience: "https://ORDERS.example.com/", scopes: [x] } }`,
    'apis.b.audience',
    /from apis\.orders\.aud/,
  ],
  ['apis: { orders: { audience: "https://a.example#x", scopes: [x] } }', 'apis.orders.audience', /fragment/],
  ['apis: { orders: { audience: "https://a.example", scopes: [openid] } }', 'apis.orders.scopes[0]', /not be openid/],
  ['apis: { orders: { audience: "https://a.example", scopes: ["*"] } }', 'apis.orders.scopes[0]', /not be \*/],
  ...['1d', '24h', '10m'].map((ttl): [string] => [`${open}, token_ttl: ${ttl} } }`]),
  [`${open}, token_ttl: 25h } }`, 'apis.orders.token_ttl', /at most 1d/],
  [`${open}, token_ttl: 0s } }`, 'apis.orders.token_ttl', /greater than zero/],
  [`${open}, algorithm: HS256 } }`, 'apis.orders.algorithm', /one of RS256, ES256, EdDSA/],
  [`${orders} }\n${caller('["orders:read"]')}`],
  [`${orders} }\n${caller('["orders:reed"]')}`, 'clients[0].scopes[0]', /a scope of an API in apis/],
  [
    `${orders} }\n${caller('["orders:read"], audience: "https://orders.example.com"')}`,
    'clients[0].audience',
    /must differ from apis\.orders\.audience/,
  ],
  [`${orders}, b: { audience: "https://b.example", scopes: ["orders:read"] } }`, 'apis.b.scopes[0]', /API orders/],
  [`${orders} }\n${rule('{ audience: orders }')}`],
  [rule('{ audience: orders }'), 'guard.rules[0].audience', /name of an API/],
  [`${orders} }\n${rule('{ audience: orders, access: public }')}`, 'guard.rules[0].audience', /public rule/],
])
