// engine: none
import t from 'tap'
import { ConfigError } from '../../../src/platform/config/config-error.ts'
import { parseConfig } from '../../../src/platform/config/load.ts'
import { linesOf, problemsOf } from './problems.ts'

t.test('reports every error together, each with file, line and key', (t) => {
  const text = `app:
  nmae: svc
  url: https://auth.example.com/path
session:
  lifetime: abc
  same_site: none
  lifetime: 5
server: [1]
lifetime: 1
two_factor: { window: 11 }
clients:
  - client_id: 12345
    type: public
    grants:
      - implicit
    redirect_uris: []
  - nothing
social: { Acme: { client_id: x } }
orders: 1
`
  t.strictSame(
    problemsOf(text, { PORT: 'x' }).map(({ file, line, key }) => `${file}:${line}:${key}`),
    [
      'svc.yaml:2:app.nmae',
      'svc.yaml:3:app.url',
      'svc.yaml:5:session.lifetime',
      'svc.yaml:6:session.same_site',
      'svc.yaml:7:session.lifetime',
      'svc.yaml:8:server',
      'svc.yaml:9:lifetime',
      'svc.yaml:10:two_factor.window',
      'svc.yaml:12:clients[0].client_id',
      'svc.yaml:15:clients[0].grants[0]',
      'svc.yaml:17:clients[1]',
      'svc.yaml:18:social.Acme',
      'svc.yaml:19:orders',
    ],
    'reports a section that is not a mapping, also when a variable would set one of its keys',
  )
  const [first] = linesOf(text)
  t.equal(first, 'svc.yaml:2: app.nmae: is not a known key; did you mean name?')
  const expected = 'a duration such as 30s, 15m, 2h or 30d, greater than zero, at most 3650d'
  t.ok(linesOf(text).includes(`svc.yaml:5: session.lifetime: must be ${expected} (found "abc")`))
  t.ok(linesOf(text).includes('svc.yaml:9: lifetime: is not a known key here; did you mean session.lifetime?'))
  t.ok(linesOf(text).includes('svc.yaml:19: orders: is not a known key'))
  t.end()
})

t.test('says how to fix a mistake', (t) => {
  const fixes: readonly [text: string, line: string][] = [
    ['app: { name: 12 }', 'app.name: must be text of 1 to 100 characters (found 12; put it in quotes)'],
    ['app: { name: A, name: B }', 'app.name: is a duplicate key (first on line 1); remove one of them'],
    [
      'webhooks: [{ name: a, url: https://a.example, secret: s, events: [user.login] }]',
      'webhooks[0].name: is not a known key; expected one of url, secret, events',
    ],
  ]
  for (const [text, line] of fixes) t.same(linesOf(text), [`svc.yaml:1: ${line}`])
  t.match(linesOf('social: { gogle: { client_id: a, client_secret: b } }'), [/did you mean google\?$/])
  t.match(linesOf('clients: [{ client_id: a, type: public, grants: [device_code], app: b }]'), [/not a known key$/])
  t.match(linesOf('social: { gl: { client_id: a, client_secret: b } }'), [/userinfo_url$/])
  t.end()
})

t.test('warns about valid values that will not work as expected', (t) => {
  const warningsOf = (text: string) => parseConfig({ text, file: 'svc.yaml', env: {}, cwd: '/srv' }).warnings
  const client = (uri: string, grants: string) =>
    `clients:\n  - { client_id: web, type: public, grants: ${grants}, redirect_uris: ["${uri}"] }`
  t.same(warningsOf(client('https://a.example/*', '[authorization_code]')), [
    'svc.yaml:2: clients[0].redirect_uris[0]: svc compares URIs exactly, so * matches only itself',
  ])
  t.same(warningsOf(client('https://a.example/cb', '[refresh_token]')), [
    'svc.yaml:2: clients[0].grants: refresh_token needs a grant that issues refresh tokens, such as authorization_code',
  ])
  t.same(warningsOf(client('https://a.example/cb', '[authorization_code, refresh_token]')), [])
  t.match(warningsOf('theme: { logo: logo.svg }'), [/^theme\.logo is "logo\.svg"; use a URL/])
  for (const logo of ['/logo.svg', 'https://a.example/logo.svg', 'data:image/png;base64,AAAA']) {
    t.same(warningsOf(`theme: { logo: "${logo}" }`), [])
  }
  t.same(warningsOf('theme: { colors: { accent: "#7fe0c9", accent-dark: "#7fe0c9", text: red } }'), [
    'svc.yaml:1: theme.colors.accent: accent on surface has a contrast of 1.5:1 in light mode; it needs at least 4.5:1',
    'svc.yaml:1: theme.colors.accent: accent on background has a contrast of 1.4:1 in light mode; it needs at least 4.5:1',
    'svc.yaml:1: theme.colors.accent: accent-text on accent has a contrast of 1.5:1 in light mode; it needs at least 4.5:1',
  ])
  t.match(warningsOf('theme: { colors: { accent: "#0b6b5a" } }'), [
    /accent on surface .* in dark mode/,
    /accent on background .* in dark mode/,
    /accent-text .* dark mode/,
  ])
  t.same(warningsOf('theme: { colors: { accent: "#0b6b5a", accent-dark: "#7fe0c9" } }'), [])
  t.end()
})

t.test('reports problems of APIs at their lines', (t) => {
  const text = `apis:
  orders:
    audience: https://orders.example.com
    scopes: ["orders:read"]
    token_ttl: 30d
  stock:
    audience: https://orders.example.com
    scopes: ["orders:read"]
clients:
  - client_id: a
    type: confidential
    secret: abcdefghijklmnopqrstuvwxyz
    grants: [client_credentials]
    scopes: ["stock:read"]
`
  t.strictSame(
    problemsOf(text)
      .map(({ line, key }) => `${line}:${key}`)
      .sort(),
    ['14:clients[0].scopes[0]', '5:apis.orders.token_ttl', '7:apis.stock.audience', '8:apis.stock.scopes[0]'],
  )
  t.end()
})

t.test('reports a missing key at the line of its entry', (t) => {
  t.strictSame(linesOf('webhooks:\n  - url: https://a.example\n    secret: x'), [
    'svc.yaml:2: webhooks[0].events: is required; expected a list',
  ])
  t.end()
})

t.test('rejects invalid YAML', (t) => {
  t.match(problemsOf('app:\n  name: "x\n'), [{ file: 'svc.yaml', key: '', message: /^is not valid YAML: / }])
  t.match(problemsOf('app: [\n  a'), [{ line: 2 }])
  for (const text of ['"hunter2" hunter3', '|hunter2', '"\\xhunter2"', '[hunter2', '@hunter2']) {
    const lines = linesOf(`app:\n  secret: ${text}\n`)
    t.match(lines[0], /^svc\.yaml:[23]: is not valid YAML: /, text)
    t.notMatch(lines.join(), /hunter|\\xh/, 'no content of the file is repeated')
  }
  t.strictSame(linesOf('just text'), ['svc.yaml:1: must be a mapping (found text; write it as { key: value })'])
  t.strictSame(linesOf('app: &a { name: x }\nguard: *a'), ['svc.yaml:2: guard: must not be an alias; repeat the value'])
  t.end()
})

t.test('says how to correct common mistakes in YAML', (t) => {
  const cases: [string, string][] = [
    [
      'app:\n  name: x\nurl: y\n  secret: z',
      '3: is not valid YAML: this line or the line above has the wrong indentation',
    ],
    ['app:\n\tname: x', '2: is not valid YAML: a tab indents this line; use spaces'],
    ['app: { name: x', '1: is not valid YAML: '],
    ['stateful: a.example', '1: stateful: must be a list (found text; write it as [first, second])'],
    ['scopes:\n  - a', '1: scopes: must be a mapping (found a list; write it as { key: value })'],
    ['passkeys: false', '1: passkeys: must be a mapping (found a boolean; write it as { enabled: false })'],
    ['app.name: x', '1: ["app.name"]: is not a known key; write it as app: { name: … }'],
    ['app.nme: x', '1: ["app.nme"]: is not a known key'],
    ['api: {}', '1: api: is not a known key; did you mean apis?'],
    [
      'app: { url: "http://localhost/auth" }\nsession: { domain: example.com }',
      '1: app.url: must be an http or https origin',
    ],
  ]
  for (const [text, expected] of cases) {
    const lines = linesOf(text)
    t.equal(lines.length, 1, text)
    t.equal(lines[0]?.slice(0, `svc.yaml:${expected}`.length), `svc.yaml:${expected}`)
  }
  t.end()
})

t.test('repeats no secret in any message', (t) => {
  const wrong = `
app: { secret: hunter2 }
database: { url: mysql://u:hunter2@db }
redis: { url: hunter2 }
mail: { url: hunter2 }
clients:
  - { client_id: a, type: confidential, grants: [client_credentials], secret: [hunter2] }
  - { client_id: b, type: confidential, grants: [client_credentials], secret_hash: hunter2 }
  - { client_id: c, type: public, grants: [device_code], secret: hunter2 }
  - { client_id: d, type: confidential, grants: [client_credentials], jwks: { keys: [{ kty: EC, d: hunter2 }] } }
social:
  apple: { client_id: x, client_secret: hunter2, team_id: t, key_id: k, private_key: { file: '' } }
  google: hunter2
webhooks: [{ url: https://a.example, secret: { file: gone }, events: ['*'] }, hunter2]
`
  const problems = problemsOf(wrong)
  t.ok(problems.length >= 12)
  t.notMatch(JSON.stringify(problems), /hunter2/)
  t.end()
})

t.test('throws one error with a line for each problem', (t) => {
  const error = new ConfigError([
    { file: 'a.yaml', line: 3, key: 'app.url', message: 'is wrong' },
    { file: 'environment', line: 0, key: 'PORT', message: 'is wrong' },
  ])
  t.equal(error.name, 'ConfigError')
  t.equal(error.message, 'a.yaml:3: app.url: is wrong\nenvironment: PORT: is wrong')
  t.end()
})
