import t from 'tap'
import { RecordStore } from '../../../../src/features/oauth/records/store.ts'
import { buildTestApp, type TestApp } from '../../../support/app.ts'
import { day, second } from '../../../support/clock.ts'
import {
  codeFlow,
  introspect,
  oauthSettings,
  Person,
  redeem,
  refresh,
  request,
  response,
  token,
} from '../../../support/oauth.ts'
import { stopTime, travel } from '../../../support/time.ts'

const works = async (svc: TestApp, accessToken: string) =>
  (await svc.bearer(accessToken, 'GET', '/api/user')).statusCode === 200

t.test('returns the same successor to concurrent refreshes on both replicas', async (t) => {
  const clock = stopTime(t)
  const one = await buildTestApp(t, { settings: oauthSettings, clock })
  const two = await buildTestApp(t, { settings: oauthSettings, clock, database: one.where })
  const ada = new Person(one, (await one.createUser()).email)
  const { refresh_token } = await codeFlow(one, ada, 'web', { scope: 'openid' })
  const uses = Array.from({ length: 20 }, (_, index) => refresh(index % 2 ? one : two, 'web', refresh_token))
  const answers = (await Promise.all(uses)).map((answer) => [answer.statusCode, answer.json().refresh_token])
  const [, successor] = answers[0] ?? []
  for (const answer of answers) t.same(answer, [200, successor])
  t.not(successor, refresh_token)
  const next = (await refresh(two, 'web', successor)).json()
  t.ok(await works(one, next.access_token), 'the successor can be refreshed')

  travel(one, 9 * second)
  const late = (await refresh(one, 'web', refresh_token)).json()
  t.equal(late.refresh_token, successor, 'within the grace period, then used further')
})

t.test('revokes the whole family after reuse beyond the grace period, on both replicas', async (t) => {
  const clock = stopTime(t)
  const one = await buildTestApp(t, { settings: oauthSettings, clock })
  const two = await buildTestApp(t, { settings: oauthSettings, clock, database: one.where })
  const ada = new Person(one, (await one.createUser()).email)
  const first = await codeFlow(one, ada, 'web', { scope: 'openid' })
  const second1 = (await refresh(one, 'web', first.refresh_token)).json()
  const third = (await refresh(two, 'web', second1.refresh_token)).json()
  const elsewhere = new Person(one, ada.email)
  const device = await codeFlow(one, elsewhere, 'web', { scope: 'openid' })
  travel(one, 11 * second)
  t.ok(await works(two, third.access_token))
  const stolen = await refresh(one, 'web', first.refresh_token)
  t.match([stolen.statusCode, stolen.json().error], [400, 'invalid_grant'])
  for (const { access_token, refresh_token } of [first, second1, third]) {
    t.notOk((await works(one, access_token)) || (await works(two, access_token)))
    t.match((await refresh(two, 'web', refresh_token)).json(), { error: 'invalid_grant' })
    t.match(await introspect(two, 'web', access_token), { active: false })
  }
  t.ok(await works(two, device.access_token), "the user's other browser is not affected")
  t.equal((await refresh(two, 'web', device.refresh_token)).statusCode, 200)
})

t.test('does not use up a token whose successor could not be stored', async (t) => {
  const svc = await buildTestApp(t, { settings: oauthSettings, clock: stopTime(t) })
  const ada = new Person(svc, (await svc.createUser()).email)
  const { refresh_token } = await codeFlow(svc, ada, 'web', { scope: 'openid' })
  const { rotate } = RecordStore.prototype
  t.teardown(() => Object.assign(RecordStore.prototype, { rotate }))
  RecordStore.prototype.rotate = async () => {
    throw Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
  }
  t.equal((await refresh(svc, 'web', refresh_token)).statusCode, 503)
  Object.assign(RecordStore.prototype, { rotate })
  travel(svc, 11 * second)
  t.equal((await refresh(svc, 'web', refresh_token)).statusCode, 200)
})

t.test('grants fewer scopes on request, and all again on the next refresh', async (t) => {
  const svc = await buildTestApp(t, { settings: oauthSettings, clock: stopTime(t) })
  const ada = new Person(svc, (await svc.createUser()).email)
  const first = await codeFlow(svc, ada, 'spa', { scope: 'openid orders:read orders:write' })
  const narrow = (await refresh(svc, 'spa', first.refresh_token, { scope: 'orders:read' })).json()
  t.equal(narrow.scope, 'orders:read')
  t.match(await introspect(svc, 'watcher', narrow.access_token), { scope: 'orders:read' })
  const wide = (await refresh(svc, 'spa', narrow.refresh_token)).json()
  t.equal(wide.scope, 'openid orders:read orders:write')
  for (const scope of ['openid email', 'stock:read', 'openid roles']) {
    const answer = await refresh(svc, 'spa', wide.refresh_token, { scope })
    t.match([answer.statusCode, answer.json().error], [400, 'invalid_scope'], scope)
  }
  t.equal((await refresh(svc, 'spa', wide.refresh_token)).statusCode, 200, 'none of that used it up')
})

t.test('accepts a refresh token only from its client, until it expires or its user is disabled', async (t) => {
  const svc = await buildTestApp(t, { settings: oauthSettings, clock: stopTime(t) })
  const user = await svc.createUser()
  const ada = new Person(svc, user.email)
  const first = await codeFlow(svc, ada, 'web', { scope: 'openid' })
  const refused = async (name: string, client: string, value: string) =>
    t.match((await refresh(svc, client, value)).json(), { error: 'invalid_grant' }, name)
  await refused('another client', 'other', first.refresh_token)
  await refused('a public client', 'spa', first.refresh_token)
  await refused('an access token', 'web', first.access_token)
  await refused('an ID token', 'web', first.id_token ?? '')
  await refused('not a token of ours', 'web', 'x')
  t.match((await token(svc, 'machine', { grant_type: 'refresh_token', refresh_token: 'x' })).json(), {
    error: 'unauthorized_client',
  })
  for (let days = 0; days < 3; days++) {
    travel(svc, 29 * day)
    const next = await refresh(svc, 'web', first.refresh_token)
    t.equal(next.statusCode, 200, 'each has its own thirty days')
    first.refresh_token = next.json().refresh_token
  }
  const { refresh_token: last, access_token } = (await refresh(svc, 'web', first.refresh_token)).json()
  t.match(await introspect(svc, 'web', last), { active: true, client_id: 'web' })
  await svc.database.prisma.user.update({
    where: { id: BigInt(user.id) },
    data: { disabledAt: new Date(svc.clock.now()) },
  })
  t.notOk(await works(svc, access_token), 'a disabled user')
  t.match(await introspect(svc, 'web', last), { active: false })
  t.match(await introspect(svc, 'web', access_token), { active: false })
  await refused('a disabled user', 'web', last)
  await svc.database.prisma.user.update({ where: { id: BigInt(user.id) }, data: { disabledAt: null } })
  const fresh = (await refresh(svc, 'web', last)).json()
  travel(svc, 30 * day + second)
  await refused('too old', 'web', fresh.refresh_token)
  t.match(await introspect(svc, 'web', fresh.refresh_token), { active: false })
})

t.test('accepts the codes and tokens of a grant that an earlier version stored', async (t) => {
  const svc = await buildTestApp(t, { settings: oauthSettings, clock: stopTime(t) })
  const ada = new Person(svc, (await svc.createUser()).email)
  const forget = () => svc.database.prisma.oauthRecord.updateMany({ where: { kind: 'Grant' }, data: { uidHash: null } })
  const { code = '' } = response(await ada.allow(request('web', { scope: 'openid' })))
  await forget()
  const first = (await redeem(svc, 'web', code)).json()
  const next = await refresh(svc, 'web', first.refresh_token)
  t.ok(await works(svc, next.json().access_token))
  t.equal((await redeem(svc, 'web', code)).statusCode, 400)
  t.notOk(await works(svc, next.json().access_token), 'a reused code ends it')
})
