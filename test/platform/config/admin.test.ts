// engine: none
import { table } from './problems.ts'

const client = (text: string) =>
  `clients: [{ client_id: robot, type: confidential, secret: s, scopes: ['svc:admin'], ${text} }]`

table('admin: keeps users from becoming administrators by themselves', [
  ['admin: { roles: [admin] }'],
  ['admin: { roles: [user] }', 'registration.role', /admin\.roles/],
  ['admin: { roles: [boss] }\nregistration: { role: boss }', 'registration.role', /admin\.roles/],
  ['scopes: { "svc:admin": Everything }', 'scopes["svc:admin"]', /reserved/],
  ['apis: { x: { audience: https://x.example, scopes: ["svc:admin"] } }', 'apis.x.scopes[0]', /reserved/],
  ['tokens: { default_abilities: ["*", "svc:admin"] }', 'tokens.default_abilities[1]', /single tokens/],
  [client('grants: [client_credentials]')],
  [client('grants: [client_credentials, token_exchange]'), 'clients[0].grants', /client_credentials.*token_exchange/],
  [
    client('grants: [authorization_code], redirect_uris: [https://a.example]'),
    'clients[0].grants',
    /authorization_code/,
  ],
  [client('grants: [client_credentials, password]'), 'clients[0].grants', /password/],
  [client('grants: [client_credentials], audience: https://x.example'), 'clients[0].audience', /oauth\.audience/],
])
