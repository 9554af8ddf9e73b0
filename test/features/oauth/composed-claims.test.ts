import { decodeJwt } from 'jose'
import t from 'tap'
import { parseConfig } from '../../../src/platform/config/load.ts'
import { buildTestApp, type TestApp } from '../../support/app.ts'
import { runCommandOn } from '../../support/command.ts'
import {
  callback,
  clients,
  codeFlow,
  introspect,
  oauthSettings,
  Person,
  partner,
  refresh,
} from '../../support/oauth.ts'
import { stopTime } from '../../support/time.ts'

const settings = {
  ...oauthSettings,
  groups: { names: { 'grafana-admins': 'Admins', editors: 'Editors', staff: 'Staff' } },
  users: { fields: { team: { schema: { type: 'string' } }, tags: { schema: { type: 'array' } } } },
  apis: { orders: { audience: 'https://orders.example.com', scopes: ['orders:read'] } },
  clients: [
    ...clients,
    partner('grafana', { scopes: ['orders:read'] }),
    partner('slim', { id_token_claims: false, scopes: ['orders:read'] }),
  ],
  claims: [
    {
      ...{ claim: 'grafana_role', clients: ['grafana', 'slim'], from: 'groups', first: true, default: 'Viewer' },
      map: { 'grafana-admins': 'Admin', editors: 'Editor' },
    },
    { claim: 'teams', clients: ['grafana'], from: 'groups', map: { staff: 'Everyone', editors: 'Writers' } },
    { claim: 'department', clients: ['grafana'], apis: ['orders'], from: 'fields.team' },
    { claim: 'tags', apis: ['orders'], from: 'fields.tags' },
    { claim: 'tenant', apis: ['orders'], value: 'example.com' },
    { claim: 'via', apis: ['orders'], from: 'client' },
    { claim: 'for', apis: ['orders'], from: 'api' },
    { claim: 'is_owner', clients: ['grafana'], from: 'role', map: { owner: 'yes' } },
  ],
}

const build = (t: Parameters<typeof buildTestApp>[0]) => buildTestApp(t, { settings, clock: stopTime(t) })

const flow = (svc: TestApp, email: string, client: string, scope: string) =>
  codeFlow(svc, new Person(svc, email), client, { redirect_uri: callback, scope, prompt: 'consent' })

t.test('composes claims for a client, in ID tokens and at UserInfo', async (t) => {
  const svc = await build(t)
  const { id, email } = await svc.createUser()
  const seen = async (client = 'grafana', scope = 'openid') => {
    const tokens = await flow(svc, email, client, scope)
    const info = (await svc.bearer(tokens.access_token, 'GET', '/oauth/userinfo')).json()
    const { grafana_role, teams, department, is_owner, tenant } = decodeJwt(tokens.id_token ?? '')
    t.same(info.grafana_role, grafana_role)
    t.same(info.teams, teams)
    return { grafana_role, teams, department, is_owner, tenant }
  }
  const none = { department: undefined, is_owner: undefined, tenant: undefined }
  t.strictSame(await seen(), { grafana_role: 'Viewer', teams: undefined, ...none })
  for (const group of ['editors', 'staff']) await runCommandOn(svc, 'group:add', group, `--id=${id}`)
  t.strictSame(await seen(), { grafana_role: 'Editor', teams: ['Everyone', 'Writers'], ...none })
  await runCommandOn(svc, 'group:add', 'grafana-admins', `--id=${id}`)
  await svc.database.prisma.user.updateMany({ data: { attributes: '{"fields":{"team":"Sales"}}', role: 'owner' } })
  t.match(await seen(), { grafana_role: 'Admin', department: 'Sales', is_owner: 'yes' })
  t.match(
    await seen('slim'),
    { grafana_role: 'Admin', teams: undefined, department: undefined },
    'also in slim ID tokens',
  )
  const other = await codeFlow(svc, new Person(svc, email), 'web', { scope: 'openid' })
  t.notHas(decodeJwt(other.id_token ?? ''), { grafana_role: '' }, 'and for no other client')
  const claims = JSON.stringify({ id_token: { grafana_role: null }, userinfo: { grafana_role: null } })
  const asked = await codeFlow(svc, new Person(svc, email), 'web', { scope: 'openid', claims })
  t.notHas(decodeJwt(asked.id_token ?? ''), { grafana_role: '' }, 'whatever it asks for')
})

t.test('composes claims for an API, in access tokens and their introspection', async (t) => {
  const svc = await build(t)
  const { email } = await svc.createUser()
  await svc.database.prisma.user.updateMany({ data: { attributes: '{"fields":{"team":"Sales","tags":["a","b"]}}' } })
  const expected = { department: 'Sales', tags: ['a', 'b'], tenant: 'example.com', via: 'grafana', for: 'orders' }
  const tokens = await flow(svc, email, 'grafana', 'openid orders:read offline_access')
  t.match(decodeJwt(tokens.access_token), expected)
  t.notHas(decodeJwt(tokens.access_token), { grafana_role: '' })
  t.match(await introspect(svc, 'watcher', tokens.access_token), expected)
  const again = (await refresh(svc, 'grafana', tokens.refresh_token ?? '')).json()
  t.match(decodeJwt(again.access_token), expected)
  const plain = await flow(svc, email, 'grafana', 'openid')
  t.notHas(decodeJwt(plain.access_token), { tenant: '' }, 'only with a scope of the API')
  const browser = svc.browser()
  await browser.signIn(email)
  const resource = 'https://orders.example.com'
  const fresh = (await browser.post('/oauth/token/fresh', { resource })).json().access_token
  t.match(decodeJwt(fresh), { department: 'Sales', tenant: 'example.com', via: 'svc-first-party' })
})

t.test('sends the same claims to a guarded API', async (t) => {
  const guard = { rules: [{ hosts: ['api.example.com'], audience: 'orders' }] }
  const svc = await buildTestApp(t, { settings: { ...settings, guard, server: { trust_proxy: ['127.0.0.1'] } } })
  const authorization = `Bearer ${await svc.createToken(await svc.createUser(), { abilities: ['orders:read'] })}`
  const headers = { authorization, 'x-original-method': 'GET', 'x-original-url': 'https://api.example.com/' }
  const answer = await svc.app.inject({ url: '/svc/guard', headers, remoteAddress: '127.0.0.1' })
  t.equal(answer.statusCode, 200)
  const claims = decodeJwt(String(answer.headers.authorization).slice('Bearer '.length))
  t.match(claims, { tenant: 'example.com', for: 'orders' })
})

t.test('previews the tokens of a user as a client would get them', async (t) => {
  const svc = await build(t)
  const { id, email, name, username } = await svc.createUser()
  await runCommandOn(svc, 'group:add', 'editors', `--id=${id}`)
  const preview = async (...words: string[]) =>
    JSON.parse((await runCommandOn(svc, 'claims:preview', ...words)).join('\n'))
  const shown = await preview('--client=grafana', `--email=${email.toUpperCase()}`)
  t.match(shown, {
    id_token: { sub: String(id), aud: 'grafana', name, preferred_username: username, email, grafana_role: 'Editor' },
    userinfo: { sub: String(id), teams: ['Writers'] },
    access_tokens: [
      { aud: 'http://localhost:8000', client_id: 'grafana' },
      { aud: 'https://orders.example.com', scope: /orders:read/, tenant: 'example.com', via: 'grafana' },
    ],
  })
  const scope = 'openid profile orders:read'
  const tokens = await flow(svc, email, 'grafana', scope)
  const info = (await svc.bearer(tokens.access_token, 'GET', '/oauth/userinfo')).json()
  t.strictSame(
    (await preview('--client=grafana', `--id=${id}`, `--scope=${scope}`)).userinfo,
    info,
    'as UserInfo answers',
  )
  t.equal((await preview('--client=grafana', `--id=${id}`, '--scope=orders:read')).id_token, null)
  await t.rejects(runCommandOn(svc, 'claims:preview', '--client=unknown', `--id=${id}`), /Unknown client/)
  await t.rejects(runCommandOn(svc, 'claims:preview', '--client=grafana'), /--email or --id/)
  await t.rejects(runCommandOn(svc, 'claims:preview', '--client=grafana', '--email=x@example.com'), /no user/)
})

t.test('refuses claims that are reserved, or whose source or receiver does not exist', async (t) => {
  const cases: [rule: string, message: RegExp][] = [
    ['{ claim: sub, clients: [web], value: x }', /must not be sub, which is reserved/],
    ['{ claim: act, clients: [web], value: x }', /reserved/],
    ['{ claim: email_verified, clients: [web], value: x }', /reserved/],
    ['{ claim: team, clients: [web], value: x }', /the claim of a field/],
    ['{ claim: x, value: x }', /must name a client/],
    ['{ claim: x, clients: [webb], value: x }', /did you mean web/],
    ['{ claim: x, apis: [nope], value: x }', /name of an API/],
    ['{ claim: x, clients: [web] }', /is required, unless value is set/],
    ['{ claim: x, clients: [web], from: role, value: x }', /cannot be combined with value/],
    ['{ claim: x, clients: [web], from: fields.nope }', /field of users.fields/],
    ['{ claim: x, clients: [web], from: password }', /must be groups, role/],
    ['{ claim: x, clients: [web], from: api }', /must be empty with from: api/],
    ['{ claim: x, clients: [web], from: groups, first: true }', /must be false without map/],
    ['{ claim: x, clients: [web], from: groups, first: true, map: { a: b, "10": c } }', /numbers lose their order/],
    ['{ claim: x, clients: [web], value: x, map: { a: b } }', /must be empty together with value/],
    ['{ claim: x, clients: [web], value: x }, { claim: x, clients: [web], value: y }', /already/],
  ]
  for (const [rule, message] of cases) {
    const text = `
app: { url: "http://localhost:8000", secret: "the-secret-of-the-tests-is-32-bytes-long" }
users: { fields: { team: { schema: { type: string }, claim: team } } }
clients: [{ client_id: web, type: public, redirect_uris: ["http://localhost/cb"], grants: [authorization_code] }]
claims: [${rule}]
`
    t.throws(() => parseConfig({ text, file: 'svc.yaml', env: {}, cwd: '/' }), { message }, rule)
  }
})
