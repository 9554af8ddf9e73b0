// engine: none
import { table } from './problems.ts'

const stream = (text: string) => `shared_signals: { streams: { crm: { audience: https://crm.example, ${text} } } }`
const key = 'shared_signals.streams.crm'
const client = (scope: string) =>
  `clients: [{ client_id: crm, type: confidential, secret: s, grants: [client_credentials], scopes: ['${scope}'] }]`
const production =
  'app: { environment: production, url: https://id.example, secret: Wm1Nn6tF3zq0bD8yXc5RkV2uJh9sLgPeA7oTiQ4M }\nmail: { url: smtp://localhost }\n'

table('shared signals', [
  [stream('push: { url: https://crm.example/signals }')],
  [`${stream('client_id: crm')}\n${client('svc:signals')}`],
  [stream('subject: email'), key, /needs push, or a client_id/],
  [stream('client_id: crm'), `${key}.client_id`, /must name a client in clients/],
  [`${stream('client_id: crm')}\n${client('svc:admin')}`, `${key}.client_id`, /with the scope svc:signals/],
  [stream('push: { url: https://crm.example, authorization: "a\\nb" }'), `${key}.push.authorization`, /one line/],
  [stream('push: { url: crm.example }'), `${key}.push.url`],
  [stream('push: { url: https://crm.example }, events: [session-ended]'), `${key}.events[0]`],
  [`${production}${stream('push: { url: http://crm.example }')}`, `${key}.push.url`, /https/],
  ['shared_signals: { streams: { CRM: { audience: x, client_id: y } } }', 'shared_signals.streams.CRM', /lowercase/],
])

table('impersonation', [
  ['admin: { roles: [admin], impersonation: { roles: [admin], max: 5m } }'],
  ['admin: { impersonation: { roles: [support] } }', 'admin.impersonation.roles[0]', /must be a role of admin\.roles/],
])
