// engine: none
import t from 'tap'
import { configOf, linesOf, problemsOf, SECRET } from './problems.ts'

t.test('reports all problems in production together', (t) => {
  const text = `app:
  environment: production
  url: http://auth.example.com
test_page: true
cors: { origins: [https://a.example, http://b.example] }
stateful: [a.example, '*']
mail:
  url: 'log:'
clients:
  - { client_id: a, type: confidential, grants: [client_credentials], jwks_uri: http://a.example/keys }
  - { client_id: b, type: confidential, grants: [client_credentials], jwks_uri: http://b/, allow_private_addresses: true }
  - { client_id: c, type: confidential, grants: [client_credentials], federated: [{ subject: a, issuer: http://c.example }] }
`
  t.strictSame(linesOf(text), [
    'svc.yaml:1: app.secret: is required in production; expected at least 32 random bytes from openssl rand -base64 32',
    'svc.yaml:3: app.url: must use https in production (found "http://auth.example.com")',
    'svc.yaml:4: test_page: must be false in production',
    'svc.yaml:5: cors.origins[1]: must use https in production (found "http://b.example")',
    'svc.yaml:6: stateful[1]: must not match public hosts in production (found "*")',
    'svc.yaml:8: mail.url: must be smtp(s)://… or file:<directory> in production; log: prints links that sign users in',
    'svc.yaml:10: clients[0].jwks_uri: must use https in production, unless allow_private_addresses is true (found "http://a.example/keys")',
    'svc.yaml:12: clients[2].federated[0].issuer: must use https in production, unless allow_private_addresses is true (found "http://c.example")',
  ])
  t.strictSame(problemsOf(text.replace('production', 'development')), [], 'development accepts all of it')
  const short = `${text.replace('environment', 'secret: short\n  environment')}`
  t.match(
    linesOf(short).find((line) => line.includes('secret')),
    /app\.secret: must be at least 32 random bytes/,
  )
  t.end()
})

t.test('rejects non-random secrets and public hosts in production', (t) => {
  const text = `app:
  environment: production
  url: https://auth.example.com
  secret: ${'a'.repeat(36)}
stateful: ['*.com', '*.github.io:443', '*.example.com']
mail: { url: 'file:mails' }
`
  t.strictSame(linesOf(text), [
    'svc.yaml:4: app.secret: must be random, but this one repeats characters or is too short; generate one with: openssl rand -base64 32',
    'svc.yaml:5: stateful[0]: must not match public hosts in production (found "*.com")',
    'svc.yaml:5: stateful[1]: must not match public hosts in production (found "*.github.io:443")',
  ])
  for (const name of ['XSRF-TOKEN', 'svc_remember', 'svc_browser', 'svc_flash']) {
    t.strictSame(linesOf(`session: { cookie: ${name} }`), [
      `svc.yaml:1: session.cookie: must not be ${name}, which svc uses for another cookie`,
    ])
  }
  t.end()
})

t.test('rejects guessable client secrets of any length in production', (t) => {
  const text = (secret: string) => `app: { environment: production, url: https://auth.example.com, secret: '${secret}' }
mail: { url: 'file:mails' }
clients:
  - { client_id: good, type: confidential, grants: [client_credentials], secret: '${SECRET}' }
  - { client_id: spa, type: public, grants: [authorization_code], redirect_uris: ['https://a.example/x'] }
  - { client_id: bad, type: confidential, grants: [client_credentials], secret: '${'a'.repeat(40)}' }
`
  const weakClient =
    'svc.yaml:6: clients[2].secret: must be random, but this one repeats characters or is too short; generate one with: svc client:secret'
  t.strictSame(linesOf(text(SECRET)), [weakClient])
  const weakest = linesOf(text('a'.repeat(32)))
  t.match(weakest, [/^svc\.yaml:1: app\.secret: must be random, but this one repeats/, weakClient])
  t.equal(weakest.length, 2)
  const short = linesOf(text('a'.repeat(31)))
  t.match(short, [/^svc\.yaml:1: app\.secret: must be at least 32 random bytes/])
  t.equal(short.filter((line) => line.includes('app.secret')).length, 1, 'a short secret is reported once')
  t.end()
})

t.test('accepts plain http on loopback in production, without a list of origins', (t) => {
  const text = (cors: string) =>
    `app: { environment: production, url: https://auth.example.com, secret: '${SECRET}' }\nmail: { url: 'file:mails' }\n${cors}`
  t.strictSame(problemsOf(text('')), [])
  t.strictSame(problemsOf(text("cors: { origins: ['http://localhost:5173', 'https://a.example'] }")), [])
  t.match(linesOf(text("cors: { origins: ['http://127.example.com'] }")), [/cors\.origins\[0\]: must use https/])
  t.end()
})

t.test('starts in production with valid settings', (t) => {
  const config = configOf(
    "app: { environment: production, url: https://auth.example.com }\nmail: { url: 'smtps://u:p@mail.example' }",
    { SVC_SECRET: SECRET },
  )
  t.match(config, { samples: false, test_page: false, guard: { diagnose: false } })
  t.match(configOf(`app: { environment: production, secret: ${SECRET} }\nmail: { url: 'file:mails' }`), {
    app: { url: 'http://localhost:8000' },
  })
  t.end()
})
