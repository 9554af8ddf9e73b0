// engine: none
import t from 'tap'
import type { TestApp } from '../../../support/app.ts'
import {
  clients,
  codeFlow,
  introspect,
  Person,
  redeem,
  refresh,
  request,
  response,
  token,
} from '../../../support/oauth.ts'
import { apis, buildApis, facts, orders, reload, settings, svcAudience } from './setup.ts'

const person = async (svc: TestApp) => new Person(svc, (await svc.createUser()).email)

t.test('invalidates tokens and grants of an API that a reload removes', async (t) => {
  const svc = await buildApis(t)
  const ada = await person(svc)
  const { access_token, refresh_token } = await codeFlow(svc, ada, 'web', { scope: 'openid orders:read' })
  t.match(await introspect(svc, 'watcher', access_token), { active: true, aud: orders, scope: 'openid orders:read' })
  t.match(await introspect(svc, 'web', access_token), { active: true, aud: orders })
  t.match(await introspect(svc, 'other', access_token), { active: false })
  const begun = response(await ada.allow(request('web', { scope: 'orders:read' })))
  const own = clients.map((client) => ({ ...client, scopes: ['stock:read'] }))
  reload(svc, { apis: { stock: apis.stock }, clients: own })
  t.match(await introspect(svc, 'watcher', access_token), { active: false })
  t.equal((await svc.bearer(access_token, 'GET', '/oauth/userinfo')).statusCode, 401)
  t.match((await refresh(svc, 'web', refresh_token)).json(), { error: 'invalid_target' })
  t.match((await redeem(svc, 'web', begun.code ?? '')).json(), { error: 'invalid_target' })
  const machine = await token(svc, 'machine', { grant_type: 'client_credentials', resource: orders })
  t.match([machine.statusCode, machine.json().error], [400, 'invalid_target'])
  reload(svc, { apis, clients: settings.clients })
  t.match(await introspect(svc, 'watcher', access_token), { active: true }, 'and accepts them again with it')
})

t.test('follows a reload that moves a scope into an API without widening old grants', async (t) => {
  const svc = await buildApis(t)
  const ada = await person(svc)
  const { refresh_token } = await codeFlow(svc, ada, 'web', { scope: 'openid view-tasks' })
  const tasks = { audience: 'https://tasks.example.com', scopes: ['view-tasks'] }
  reload(svc, { apis: { ...apis, tasks } })
  const renewed = (await refresh(svc, 'web', refresh_token)).json()
  t.match(facts(renewed.access_token), { aud: svcAudience, scope: 'openid' })
  const fresh = await codeFlow(svc, ada, 'web', { scope: 'openid view-tasks' })
  t.match(facts(fresh.access_token), { aud: tasks.audience, scope: 'openid view-tasks' })
})
