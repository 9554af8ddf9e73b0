import { decodeJwt } from 'jose'
import t from 'tap'
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
  request,
  response,
} from '../../support/oauth.ts'
import { stopTime } from '../../support/time.ts'

const settings = {
  ...oauthSettings,
  groups: { names: { staff: 'Staff', 'on-call': 'On call' } },
  clients: [
    ...clients,
    partner('partner'),
    partner('unlisted', { scopes: ['orders:read', 'roles'] }),
    partner('api', { grants: [], redirect_uris: [], scopes: [], introspect: true }),
  ],
}

const build = (t: Parameters<typeof buildTestApp>[0], more: object = {}) =>
  buildTestApp(t, { settings: { ...settings, ...more }, clock: stopTime(t) })

/** A user in both groups. */
async function ada(svc: TestApp) {
  const user = await svc.createUser({ email: 'ada@example.com', role: 'editor' })
  for (const name of ['staff', 'on-call']) await runCommandOn(svc, 'group:add', name, '--email=ada@example.com')
  return { user, person: new Person(svc, user.email) }
}

/** What everyone who can be asked says about the groups of a token's user. */
async function answers(svc: TestApp, token: string) {
  const [info, user] = await Promise.all([
    svc.bearer(token, 'GET', '/oauth/userinfo'),
    svc.bearer(token, 'GET', '/api/user'),
  ])
  const own = await introspect(svc, 'partner', token)
  const api = await introspect(svc, 'api', token)
  return [info.json(), user.json(), own, api].map(({ groups }) => groups)
}

t.test('yields the claim groups for the scope groups, and at once what changed', async (t) => {
  const svc = await build(t)
  const { user, person } = await ada(svc)
  const scope = 'openid groups offline_access'
  const tokens = await codeFlow(svc, person, 'partner', { redirect_uri: callback, scope, prompt: 'consent' })
  const both = ['on-call', 'staff']
  t.match(decodeJwt(tokens.id_token ?? ''), { groups: both })
  t.notHas(decodeJwt(tokens.id_token ?? ''), { roles: [] })
  t.match(decodeJwt(tokens.access_token), { groups: both })
  t.strictSame(await answers(svc, tokens.access_token), [both, both, both, both])

  await runCommandOn(svc, 'group:remove', 'staff', `--id=${user.id}`)
  const one = ['on-call']
  t.strictSame(await answers(svc, tokens.access_token), [one, one, one, one], 'with the same token')
  const next = (await refresh(svc, 'partner', tokens.refresh_token ?? '')).json()
  t.strictSame(decodeJwt(next.access_token).groups, one)
  t.strictSame(decodeJwt(next.id_token).groups, one)
  await runCommandOn(svc, 'group:remove', 'on-call', `--id=${user.id}`)
  t.strictSame(await answers(svc, next.access_token), [[], [], [], []])
})

t.test('yields the role only for the scope roles, and no groups to clients that do not list the scope', async (t) => {
  const svc = await build(t)
  const { person } = await ada(svc)
  const roles = await codeFlow(svc, person, 'partner', { redirect_uri: callback, scope: 'openid roles' })
  t.match(decodeJwt(roles.id_token ?? ''), { roles: ['editor'] })
  t.notHas(decodeJwt(roles.id_token ?? ''), { groups: [] })
  const refused = await person.allow(request('unlisted', { redirect_uri: callback, scope: 'openid groups' }))
  t.match(response(refused), { error: 'invalid_scope' })
  const claims = JSON.stringify({ userinfo: { groups: null }, id_token: { groups: null } })
  const asked = await codeFlow(svc, person, 'unlisted', { redirect_uri: callback, scope: 'openid', claims })
  t.notHas(decodeJwt(asked.id_token ?? ''), { groups: [] })
  t.notHas((await svc.bearer(asked.access_token, 'GET', '/oauth/userinfo')).json(), { groups: [] })
})

t.test('lists the role as a group where the configuration says so', async (t) => {
  const svc = await build(t, { groups: { ...settings.groups, include_role: true } })
  const { person } = await ada(svc)
  const tokens = await codeFlow(svc, person, 'partner', { redirect_uri: callback, scope: 'openid groups' })
  const all = ['editor', 'on-call', 'staff']
  t.strictSame(decodeJwt(tokens.id_token ?? '').groups, all)
  t.strictSame(decodeJwt(tokens.access_token).groups, all)
  const [info, user, own] = await answers(svc, tokens.access_token)
  t.strictSame([info, own], [all, all])
  t.strictSame(user, ['on-call', 'staff'], 'the user object has the role in a field of its own')
})

t.test('describes the scope and the claim', async (t) => {
  const svc = await build(t)
  const { scopes_supported, claims_supported } = (await svc.app.inject('/.well-known/openid-configuration')).json()
  t.ok(scopes_supported.includes('groups'))
  t.ok(claims_supported.includes('groups'))
})
