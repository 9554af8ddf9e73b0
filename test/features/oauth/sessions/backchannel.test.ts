import t from 'tap'
import { logoutWork } from '../../../../src/features/oauth/protocol/session-end.ts'
import { buildTestApp } from '../../../support/app.ts'
import { hour, minute, second } from '../../../support/clock.ts'
import { Person } from '../../../support/oauth.ts'
import { travel } from '../../../support/time.ts'
import { until } from '../../../support/until.ts'
import { buildWithParty, LogoutReceiver, partySettings, sessionBoundTokens } from './party.ts'

const signOut = ({ plain }: Person) => plain.browser.post('/logout', undefined, { 'sec-fetch-site': 'same-origin' })

t.test('notifies a client that was down once it is back, from any replica, exactly once', async (t) => {
  const { svc, party, settings, clock } = await buildWithParty(t)
  const person = new Person(svc, (await svc.createUser()).email)
  const { sid } = await sessionBoundTokens(svc, person)
  party.status = 503
  await signOut(person)
  await svc.app.outbox.deliverDue()
  t.equal(party.received.length, 1)
  t.equal(party.received[0]?.type, 'application/x-www-form-urlencoded')
  const replica = await buildTestApp(t, { settings, clock, database: svc.where })
  party.status = 400
  travel(svc, 10 * second)
  await replica.app.outbox.deliverDue()
  t.equal(party.received.length, 2)
  party.status = 204
  travel(svc, 30 * second)
  await Promise.all([svc.app.outbox.deliverDue(), replica.app.outbox.deliverDue()])
  const told = await party.tokens(svc)
  t.same(await party.sids(svc), [sid, sid, sid])
  t.equal(new Set(told.map(({ jti }) => jti)).size, 3, 'each is a separate token, valid when it is sent')
  travel(svc, hour)
  await svc.app.outbox.deliverDue()
  t.equal(party.received.length, 3)
  t.equal(await svc.database.prisma.outbox.count(), 0)
})

t.test('notifies each client of a session once, even if one of them fails', async (t) => {
  const [party, other] = [await LogoutReceiver.start(t), await LogoutReceiver.start(t)]
  const { clients, ...rest } = partySettings(party)
  const both = clients.map((client) =>
    client.client_id === 'other'
      ? { ...client, backchannel_logout_uri: other.url, allow_private_addresses: true }
      : client,
  )
  const { svc } = await buildWithParty(t, {}, { settings: { ...rest, clients: both } })
  const person = new Person(svc, (await svc.createUser()).email)
  const { sid } = await sessionBoundTokens(svc, person)
  await person.allow({
    client_id: 'other',
    response_type: 'code',
    redirect_uri: 'https://other.example/cb',
    scope: 'openid',
  })
  other.status = 500
  await signOut(person)
  await svc.app.outbox.deliverDue()
  travel(svc, minute)
  other.status = 200
  await svc.app.outbox.deliverDue()
  t.same(await party.sids(svc), [sid])
  const told = await other.tokens(svc, 'other')
  t.equal(told.length, 2)
  t.not(told[0]?.sid, sid, 'each knows the session under another name')
})

t.test('sends no logout token to a private address that the operator did not allow', async (t) => {
  const { svc, party } = await buildWithParty(t, { allow_private_addresses: false })
  const person = new Person(svc, (await svc.createUser()).email)
  await sessionBoundTokens(svc, person)
  await signOut(person)
  await svc.app.outbox.deliverDue()
  t.same(party.received, [])
  t.match(await svc.database.prisma.outbox.findMany(), [{ attempts: 1 }])
})

t.test('sends to an allowed range, and treats a redirect as the answer', async (t) => {
  const outbound = { allow_private: ['127.0.0.0/8'] }
  const { svc, party } = await buildWithParty(t, { allow_private_addresses: false }, { settings: { outbound } })
  const person = new Person(svc, (await svc.createUser()).email)
  await sessionBoundTokens(svc, person)
  party.status = 302
  await signOut(person)
  await svc.app.outbox.deliverDue()
  t.equal(party.received.length, 1)
  t.match(await svc.database.prisma.outbox.findMany(), [{ attempts: 1 }])
})

t.test('stores pending notifications without plain-text secrets, and drops those for removed clients', async (t) => {
  const { svc, party, settings, clock } = await buildWithParty(t)
  const person = new Person(svc, (await svc.createUser()).email)
  const { sid } = await sessionBoundTokens(svc, person)
  party.status = 500
  await signOut(person)
  await svc.app.outbox.deliverDue()
  const [row] = await svc.database.prisma.outbox.findMany()
  t.notMatch(row?.payload, sid)
  // It would deliver the notification again when it looks for due ones.
  await svc.app.close()
  const clients = settings.clients.filter(({ client_id }) => client_id !== 'web')
  const later = await buildTestApp(t, { settings: { ...settings, clients }, clock, database: svc.where })
  travel(svc, minute)
  await later.app.outbox.deliverDue()
  t.equal(party.received.length, 1)
  t.equal(await later.database.prisma.outbox.count(), 0)
})

t.test('sends mail while the endpoint of a client hangs', async (t) => {
  const { svc, party } = await buildWithParty(t)
  party.hangs = true
  const { id, email } = await svc.createUser()
  const count = 30
  await svc.database.transaction(async (tx) => {
    const logout = { clientId: 'web', accountId: String(id), sid: 'sid' }
    for (let i = 0; i < count; i++) await svc.app.outbox.add(tx, logoutWork, logout)
  })
  await until(() => party.received.length > 0)
  await svc.bearer(null, 'POST', '/svc/forgot-password', { email })
  await until(() => svc.mailbox.received().some(({ to }) => to === email))
  // Five at a time, so all of them have begun only after several timeouts.
  t.ok(party.received.length < count, 'the mail does not wait for the client')
})
