import t from 'tap'
import { buildTestApp, type TestApp } from '../../../support/app.ts'
import { day, hour, minute } from '../../../support/clock.ts'
import {
  codeFlow,
  oauthSettings,
  Person,
  post,
  redeem,
  refresh,
  request,
  response,
  revoke,
} from '../../../support/oauth.ts'
import { stopTime, travel } from '../../../support/time.ts'
import { kinds } from './party.ts'

const count = ({ database: { prisma } }: TestApp) => prisma.oauthRecord.count()
const user = { scope: 'openid orders:read' }

t.test('prunes finished flows after their lifetimes', async (t) => {
  const svc = await buildTestApp(t, { settings: oauthSettings, clock: stopTime(t) })
  const [flows, revoked] = [9, 1]
  for (let people = 0; people < 20; people++) {
    const person = new Person(svc, (await svc.createUser()).email)
    for (let flow = 0; flow < flows; flow++) {
      const { refresh_token } = await codeFlow(svc, person, flow % 2 ? 'own' : 'web', user)
      const next = await refresh(svc, flow % 2 ? 'own' : 'web', refresh_token)
      t.equal(next.statusCode, 200)
      if (flow < revoked) await revoke(svc, 'web', next.json().access_token)
    }
    // Abandoned flows.
    await person.authorize(request('other', user))
    await new Person(svc, 'unknown@example.com').authorize(request('web', user))
    await new Person(svc, 'unknown@example.com').go('/oauth/device')
    const device = await post(svc, '/oauth/device/code', 'tv', {})
    await person.go(`/oauth/device?user_code=${device.json().user_code}`)
  }
  const rows = await count(svc)
  t.ok(rows > 500, `${rows} rows`)
  t.match(await kinds(svc), { Session: /\d/, Grant: 20 * flows, RefreshToken: 20 * flows * 2 })
  await svc.app.oauth.prune()
  t.equal(await count(svc), rows, 'nothing is deleted early')

  travel(svc, 30 * day + 2 * hour)
  await svc.app.oauth.prune()
  t.same(await kinds(svc), {})
  t.equal(await svc.database.prisma.oauthDenial.count(), 0)
  t.equal(await svc.database.prisma.oauthConsent.count(), 20 * 2, 'consent is remembered')
  t.ok(await svc.database.prisma.job.findUnique({ where: { name: 'prune-oauth' } }), 'svc prunes in the background')
})

t.test('keeps a grant as long as its longest-lived token', async (t) => {
  const clients = oauthSettings.clients.map((client) =>
    client.client_id === 'web' ? { ...client, refresh_token_ttl: '90d', access_token_ttl: '5h' } : client,
  )
  const svc = await buildTestApp(t, { settings: { ...oauthSettings, clients }, clock: stopTime(t) })
  const { email } = await svc.createUser()
  const person = new Person(svc, email)
  const first = await codeFlow(svc, person, 'web', user)
  travel(svc, 80 * day)
  await svc.app.oauth.prune()
  const second = (await refresh(svc, 'web', first.refresh_token)).json()
  travel(svc, 5 * hour - minute)
  await svc.app.oauth.prune()
  t.equal((await svc.bearer(second.access_token, 'GET', '/api/user')).statusCode, 200)
  travel(svc, 89 * day)
  await svc.app.oauth.prune()
  const third = (await refresh(svc, 'web', second.refresh_token)).json()
  t.ok(third.access_token)

  // A session that is used again much later: its grant may have expired and is created again.
  await person.signIn()
  const { code = '' } = response(await person.authorize(request('own', user)))
  const tokens = (await redeem(svc, 'own', code)).json()
  t.equal((await refresh(svc, 'own', tokens.refresh_token)).statusCode, 200)
})
