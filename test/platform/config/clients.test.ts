// engine: none
import { table } from './problems.ts'

const client = (text: string) => `scopes: { read: Read }\nclients: [{ client_id: web, ${text} }]`
const web = (uri: string) => client(`type: public, grants: [authorization_code], redirect_uris: ['${uri}']`)
const native = (uri: string) => web(uri).replace('type:', 'application_type: native, type:')
const machine = (text: string) => client(`type: confidential, grants: [client_credentials], ${text}`)
const HASH = `sha256:${'0a'.repeat(32)}`
// The key of RFC 7515 appendix A.3.
const EC =
  'kty: EC, crv: P-256, x: f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU, y: x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0'
const JWKS = `{ keys: [{ ${EC} }] }`
const SHORT = `n: w${'A'.repeat(84)}Q, e: AQAB`
const exchange = (text: string) => machine(text).replace('[client', '[token_exchange, client')

table('clients: ids, types and secrets', [
  [machine(`secret: s`).replace('web', '"123"'), 'clients[0].client_id', /not a digit/],
  [machine(`secret: s`).replace('web', 'svc-web'), 'clients[0].client_id', /svc-/],
  [
    `${machine('secret: s')}`.replace('}]', '}, { client_id: web, type: public, grants: [device_code] }]'),
    'clients[1].client_id',
    /unique.*clients\[0\]/,
  ],
  [client('type: secret, grants: [client_credentials]'), 'clients[0].type', /confidential, public/],
  [client('grants: [client_credentials]'), 'clients[0].type', /required/],
  [machine('secret: s, grant: x'), 'clients[0].grant', /did you mean grants/],
  [machine('first_party: false'), 'clients[0].secret', /secret_hash, jwks, jwks_uri or federated/],
  [machine(`secret: s, secret_hash: '${HASH}'`), 'clients[0].secret_hash', /cannot be combined/],
  [machine('secret_hash: sha256:00'), 'clients[0].secret_hash', /64/],
  [machine(`jwks: ${JWKS}, jwks_uri: https://a.example/jwks`), 'clients[0].jwks_uri', /cannot be combined/],
  [machine(`jwks: { keys: [{ ${EC}, d: x }] }`), 'clients[0].jwks', /only public keys/],
  [machine(`jwks: { keys: [{ ${EC}, q: x }] }`), 'clients[0].jwks', /only public keys/],
  [
    machine(`jwks: { keys: [{ ${EC} }, { kty: EC, crv: P-256, x: a, y: b }] }`),
    'clients[0].jwks.keys[1]',
    /not a valid key/,
  ],
  [machine('jwks: { keys: [{ kty: RSA, n: AQAB }] }'), 'clients[0].jwks.keys[0]', /not a valid key/],
  [machine(`jwks: { keys: [{ kty: RSA, ${SHORT} }] }`), 'clients[0].jwks', /2048 bits/],
  [machine(`jwks: { keys: [{ ${EC}, use: enc }] }`), 'clients[0].jwks', /signing key/],
  [machine('jwks: { keys: [{ kty: oct, x: AAAA }] }'), 'clients[0].jwks.keys[0].kty', /RSA, EC, OKP/],
  [machine('secret: gehéim'), 'clients[0].secret', /printable/],
  [machine('secret: "two\\nlines"'), 'clients[0].secret', /printable/],
  [machine('secret: "with spaces: #"')],
  [machine('secret: [new, old]')],
  [machine('secret: [new, gehéim]'), 'clients[0].secret', /printable/],
  [machine('secret: []'), 'clients[0].secret', /at least one/],
  [machine('secret: [a, b, c, d, e]'), 'clients[0].secret', /at most 4/],
  [machine('secret: [a, 7]'), 'clients[0].secret[1]', /text/],
  [machine(`secret_hash: ['${HASH}', '${HASH}']`)],
  [machine(`secret_hash: ['${HASH}', sha256:00]`), 'clients[0].secret_hash[1]', /64/],
  [machine('secret_hash: []'), 'clients[0].secret_hash', /at least one/],
  [machine(`secret: s, jwks: ${JWKS}, fapi: true`), 'clients[0].secret', /FAPI/],
  [machine(`secret_hash: '${HASH}', jwks: ${JWKS}, fapi: true`), 'clients[0].secret_hash', /FAPI/],
  [machine(`jwks: ${JWKS}, fapi: true`)],
  [client(`type: public, grants: [device_code], jwks: ${JWKS}, fapi: true`), 'clients[0].fapi', /public/],
  [exchange(`jwks: ${JWKS}, fapi: true`).replace('token_exchange', 'password'), 'clients[0].grants[0]', /FAPI/],
  [exchange('secret: s, dpop: true'), 'clients[0].grants[0]', /dpop.*without a key binding/],
  [machine('secret: s, dpop: true')],
  [machine('secret: s, exchange: [web]'), 'clients[0].exchange', /without the grant/],
  [exchange('secret: s, exchange: [web, svc-first-party]')],
  [exchange('secret: s, exchange: [x]'), 'clients[0].exchange[0]', /client_id/],
  [machine('jwks: { keys: [] }'), 'clients[0].jwks.keys', /at least one/],
  [machine(`secret_hash: '${HASH}'`)],
  [machine(`jwks: ${JWKS}`)],
  [machine('secret: s, token_endpoint_auth_method: private_key_jwt'), 'clients[0].token_endpoint_auth_method', /jwks/],
  [machine(`jwks: ${JWKS}, token_endpoint_auth_method: client_secret_post`), 'clients[0].token_endpoint_auth_method'],
  [machine('secret: s, token_endpoint_auth_method: none'), 'clients[0].token_endpoint_auth_method', /none/],
  [machine('secret: s, fapi: true'), 'clients[0].fapi', /jwks/],
  [client('type: public, grants: [device_code], secret: s'), 'clients[0].secret', /public client/],
  [client(`type: public, grants: [device_code], secret_hash: '${HASH}'`), 'clients[0].secret_hash', /public client/],
  [client('type: public, grants: [device_code, client_credentials]'), 'clients[0].grants[1]', /public client/],
  [client('type: public, grants: [device_code], introspect: true'), 'clients[0].introspect', /public client/],
  [
    client('type: public, grants: [device_code], token_endpoint_auth_method: client_secret_basic'),
    'clients[0].token_endpoint_auth_method',
    /must be none/,
  ],
  [client('type: public, grants: [device_code], token_endpoint_auth_method: none')],
])

table('clients: grants, scopes and redirect URIs', [
  [machine('secret: s').replace('[client_credentials]', '[implicit]'), 'clients[0].grants[0]', /authorization_code/],
  [machine('secret: s').replace('[client_credentials]', '[]'), 'clients[0].grants', /at least one/],
  [
    machine('secret: s').replace('[client_credentials]', '[authorization_code]'),
    'clients[0].redirect_uris',
    /required/,
  ],
  [machine('secret: s, scopes: [read, openid, profile, email, offline_access]')],
  [machine('secret: s, scopes: [read, write]'), 'clients[0].scopes[1]', /key of scopes.*found "write"/],
  [machine("secret: s, scopes: ['*']"), 'clients[0].scopes[0]', /list each scope/],
  [web('/cb'), 'clients[0].redirect_uris[0]', /absolute/],
  [web('localhost:3000/cb'), 'clients[0].redirect_uris[0]', /https/],
  [web('https://a.example/cb#x'), 'clients[0].redirect_uris[0]', /fragment/],
  [web('http://a.example/cb'), 'clients[0].redirect_uris[0]', /https, or http on localhost/],
  [web('http://localhost.evil.example/cb'), 'clients[0].redirect_uris[0]'],
  [web('com.example.app:/cb'), 'clients[0].redirect_uris[0]', /native/],
  [web('javascript:alert(1)'), 'clients[0].redirect_uris[0]'],
  [web('http://localhost:5173/cb')],
  [web('http://[::1]:5173/cb')],
  [web('http://127.0.0.1/cb')],
  [web('https://a.example/cb?x=1')],
  [native('com.example.app:/cb')],
  [native('http://127.0.0.1/cb')],
  [native('http://[::1]/cb')],
  [native('http://127.0.0.2/cb'), 'clients[0].redirect_uris[0]', /127/],
  [native('http://app.localhost/cb'), 'clients[0].redirect_uris[0]', /localhost/],
  [native('myapp:/cb'), 'clients[0].redirect_uris[0]', /reverse domain.*redirect_schemes/],
  [native('myapp:/cb').replace('grants', 'redirect_schemes: [myapp], grants')],
  [
    native('cursor://anysphere.cursor-mcp/oauth/callback').replace(
      'grants',
      'redirect_schemes: [vscode, cursor], grants',
    ),
  ],
  [native('myapp:/cb').replace('grants', 'redirect_schemes: [other], grants'), 'clients[0].redirect_uris[0]'],
  [
    web('https://a.example/cb').replace('grants', 'redirect_schemes: [a], grants'),
    'clients[0].redirect_schemes',
    /native/,
  ],
  [
    native('com.a:/cb').replace('grants', 'redirect_schemes: [javascript], grants'),
    'clients[0].redirect_schemes[0]',
    /opens no app/,
  ],
  [
    native('com.a:/cb').replace('grants', 'redirect_schemes: ["A:"], grants'),
    'clients[0].redirect_schemes[0]',
    /lowercase/,
  ],
  [native('http://a.example/cb'), 'clients[0].redirect_uris[0]'],
  [native('https://localhost/cb'), 'clients[0].redirect_uris[0]'],
  [native('http://a.example/cb').replace('native', 'mobile'), 'clients[0].application_type', /web, native/],
  [machine("secret: s, post_logout_redirect_uris: ['http://a.example/']"), 'clients[0].post_logout_redirect_uris[0]'],
  [machine("secret: s, cors_origins: ['https://a.example/x']"), 'clients[0].cors_origins[0]', /origin/],
])

const provider = (id: string, text: string) => `social: { ${id}: { client_id: x, client_secret: y, ${text} } }`

table('social', [
  ['social: { google: { client_id: x, client_secret: y } }'],
  ['social: { google: { client_secret: y } }', 'social.google.client_id', /required/],
  ['social: { google: { client_id: x } }', 'social.google.client_secret', /required/],
  ['social: { acme: { client_id: x, client_secret: y } }', 'social.acme.issuer', /google/],
  [provider('acme', 'issuer: https://acme.example')],
  [
    provider('acme', 'issuer: https://acme.example, token_url: https://acme.example/t'),
    'social.acme.token_url',
    /issuer/,
  ],
  [
    provider('forge', 'authorization_url: https://f.example/a, token_url: https://f.example/t'),
    'social.forge.userinfo_url',
    /together with authorization_url and token_url/,
  ],
  [provider('microsoft', 'link: true'), 'social.microsoft.tenant', /required/],
  [provider('google', 'tenant: t'), 'social.google.tenant', /microsoft only/],
  [provider('gitlab', 'host: gitlab.example.com')],
  ['social: { apple: { client_id: x, team_id: t, key_id: k } }', 'social.apple.private_key', /required/],
  [provider('apple', 'team_id: t, key_id: k, private_key: p'), 'social.apple.client_secret', /private_key/],
  [provider('acme', 'issuer: http://acme.example, allow_private_addresses: true'), 'social.acme.issuer', /https/],
  [provider('acme', 'issuer: http://localhost:9000'), 'social.acme.issuer', /allow_private_addresses/],
  [provider('acme', 'issuer: http://localhost:9000, allow_private_addresses: true')],
  [provider('google', 'redirect_uris: ["com.example:/cb", "https://a.example/"]')],
  [provider('google', 'redirect_uris: ["com.example:/cb#x"]'), 'social.google.redirect_uris[0]', /fragment/],
  [provider('google', 'redirect_uris: ["com.example:/cb?x"]'), 'social.google.redirect_uris[0]', /query/],
  [
    provider('google', 'redirect_uris: ["https://A.example"]'),
    'social.google.redirect_uris[0]',
    /https:\/\/a.example\/,/,
  ],
  [provider('providers', 'issuer: https://a.example'), 'social.providers', /not a valid name/],
  [provider('google', 'map: { uid: x }'), 'social.google.map.uid', /did you mean id/],
])

table('clients: logo and links', [
  [
    machine(
      'secret: s, logo_uri: https://a.example/logo.png, tos_uri: https://a.example, policy_uri: https://a.example/p',
    ),
  ],
  [machine('secret: s, logo_uri: "data:image/png;base64,iVBORw0KGgo="')],
  [machine('secret: s, logo_uri: http://a.example/logo.png'), 'clients[0].logo_uri', /an https URL, or data:image/],
  [machine('secret: s, logo_uri: /logo.png'), 'clients[0].logo_uri', /an https URL/],
  [machine('secret: s, logo_uri: "data:text/html;base64,PGI+"'), 'clients[0].logo_uri', /image/],
  [machine('secret: s, logo_uri: "data:image/svg+xml,<svg>"'), 'clients[0].logo_uri', /base64/],
  [machine('secret: s, tos_uri: http://a.example/terms'), 'clients[0].tos_uri', /an https URL/],
  [machine('secret: s, policy_uri: "javascript:alert(1)"'), 'clients[0].policy_uri', /an https URL/],
])

const unregistered = (text: string) => `scopes: { read: Read }\noauth: { client_id_metadata: { ${text} } }`

table('clients that nobody registered', [
  [unregistered('scopes: [read, openid, roles]')],
  [unregistered('scopes: [write]'), 'oauth.client_id_metadata.scopes[0]', /key of scopes.*found "write"/],
  [unregistered('scopes: ["svc:admin"]'), 'oauth.client_id_metadata.scopes[0]', /found "svc:admin"/],
  [unregistered('scopes: ["*"]'), 'oauth.client_id_metadata.scopes[0]', /found "\*"/],
  [unregistered('enabled: true, allowed_hosts: []'), 'oauth.client_id_metadata.allowed_hosts', /null for every host/],
  [unregistered('allowed_hosts: ["https://a.example"]'), 'oauth.client_id_metadata.allowed_hosts[0]', /a host/],
  [unregistered('cache: 2d'), 'oauth.client_id_metadata.cache', /at most 1d/],
  [unregistered('max_size: 1'), 'oauth.client_id_metadata.max_size', /1024/],
])

const apis = 'apis: { orders: { audience: "https://orders.example", scopes: [write] } }\n'
const agent = (text: string) =>
  `${apis}scopes: { read: Read }\nclients:
  - { client_id: shop, type: public, grants: [device_code] }
  - { client_id: agent, type: confidential, secret: s, grants: [token_exchange], exchange: [shop], scopes: [read, write], may_act_for: { ${text} } }`

table('clients that act for users', [
  [agent('scopes: [read]')],
  [agent('scopes: [read, write], max_ttl: 1h, apis: [orders]')],
  [agent('max_ttl: 1h'), 'clients[1].may_act_for.scopes', /required/],
  [agent('scopes: []'), 'clients[1].may_act_for.scopes', /at least one/],
  [agent('scopes: [email]'), 'clients[1].may_act_for.scopes[0]', /scopes of the client/],
  [agent('scopes: ["svc:admin"]'), 'clients[1].may_act_for.scopes[0]', /no agent administers/],
  [agent('scopes: [read], apis: [stock]'), 'clients[1].may_act_for.apis[0]', /name of an API/],
  [agent('scopes: [read], apis: [constructor]'), 'clients[1].may_act_for.apis[0]', /name of an API/],
  [agent('scopes: [read], max_ttl: 2d'), 'clients[1].may_act_for.max_ttl', /at most 1d/],
  [
    agent('scopes: [read]').replace('token_exchange', 'password').replace('exchange: [shop], ', ''),
    'clients[1].may_act_for',
    /requires the grant/,
  ],
  [agent('scopes: [read]').replace('exchange: [shop], ', ''), 'clients[1].exchange', /whose users/],
])
