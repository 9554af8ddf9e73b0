import t from 'tap'
import { openAdmin } from '../../support/admin.ts'
import type { TestApp } from '../../support/app.ts'
import { runCommandOn } from '../../support/command.ts'

/** The status of the page of the last invitation to an address. */
async function pageOf(svc: TestApp, email: string): Promise<number> {
  const path = await svc.mailbox.find(email, /http:\/\/localhost:8000(\/oauth\/invitation\/\S+)/)
  return (await svc.app.inject({ url: path, headers: { accept: 'text/html' } })).statusCode
}

t.test('lists and revokes invitations in the admin API', async (t) => {
  const { svc, call, events } = await openAdmin(t)
  for (const email of ['a@example.com', 'b@example.com', 'c@example.com']) await call('POST', '/invitations', { email })
  const first = (await call('GET', '/invitations?limit=2')).json()
  t.match(first, { data: [{ email: 'a@example.com', inviter: 'client:robot' }, { email: 'b@example.com' }] })
  t.notMatch(JSON.stringify(first), /token/i)
  const second = (await call('GET', `/invitations?limit=2&after=${first.next}`)).json()
  t.match(second, { data: [{ email: 'c@example.com' }], next: null })
  t.equal((await call('GET', '/invitations?after=x')).statusCode, 422)
  t.match(await events('admin_read'), [{ target: 'invitations' }, { target: 'invitations' }])

  t.equal(await pageOf(svc, 'a@example.com'), 200)
  const { id } = first.data[0]
  t.equal((await call('DELETE', `/invitations/${id}`, undefined, { 'svc-reason': 'ticket 7' })).statusCode, 204)
  t.equal(await pageOf(svc, 'a@example.com'), 403)
  t.equal((await call('DELETE', `/invitations/${id}`)).statusCode, 404)
  t.equal((await call('DELETE', '/invitations/x')).statusCode, 404)
  const [invited] = await events('user_invited')
  t.match(JSON.parse(invited?.data ?? ''), { email: 'a@example.com' })
  const [revoked] = await events('invitation_revoked')
  t.match(revoked, { actor: 'client:robot', reason: 'ticket 7', target: `invitation:${id}` })
  t.match(JSON.parse(revoked?.data ?? ''), { email: 'a@example.com' })
  svc.clock.advance(400 * 86_400_000)
  t.strictSame((await call('GET', '/invitations')).statusCode, 401, 'the token of the client has expired')
  t.strictSame(await runCommandOn(svc, 'invitation:list', '--json'), [], 'expired invitations are not listed')
})

t.test('lists and revokes invitations at the command line', async (t) => {
  const { svc } = await openAdmin(t)
  await runCommandOn(svc, 'user:invite', '--email=a@example.com')
  const [line = ''] = await runCommandOn(svc, 'invitation:list', '--json')
  t.match(JSON.parse(line), { email: 'a@example.com', inviter: null })
  t.equal(await pageOf(svc, 'a@example.com'), 200)
  t.match(await runCommandOn(svc, 'invitation:revoke', '--email=A@example.com'), [/Revoked/])
  t.equal(await pageOf(svc, 'a@example.com'), 403)
  await t.rejects(runCommandOn(svc, 'invitation:revoke', '--email=a@example.com'), /has no invitation/)
  await t.rejects(runCommandOn(svc, 'invitation:list', '--after=x'), /must be the id/)
})

t.test('ends invitations while their inviter may not invite', async (t) => {
  const { svc, admin, signIn } = await openAdmin(t)
  const browser = await signIn()
  await browser.post('/user/confirm-password', { password: 'correct horse' })
  t.equal((await browser.post('/admin/v1/invitations', { email: 'a@example.com' })).statusCode, 201)
  const update = (data: object) => svc.database.prisma.user.update({ where: { id: BigInt(admin.id) }, data })
  t.equal(await pageOf(svc, 'a@example.com'), 200)
  await update({ role: 'user' })
  t.equal(await pageOf(svc, 'a@example.com'), 403, 'without the role')
  await update({ role: 'admin', disabledAt: new Date() })
  t.equal(await pageOf(svc, 'a@example.com'), 403, 'while disabled')
  await update({ disabledAt: null })
  t.equal(await pageOf(svc, 'a@example.com'), 200)
  svc.config.swap({ ...svc.config.current(), admin: { ...svc.config.current().admin, roles: ['owner'] } })
  t.equal(await pageOf(svc, 'a@example.com'), 403, 'when the role has no right any more')
  await svc.database.prisma.user.delete({ where: { id: BigInt(admin.id) } })
  t.equal(await pageOf(svc, 'a@example.com'), 403, 'after the account was deleted')
})

t.test('ends the invitations of a client that may not invite any more', async (t) => {
  const { svc, call } = await openAdmin(t)
  await call('POST', '/invitations', { email: 'a@example.com' })
  t.equal(await pageOf(svc, 'a@example.com'), 200)
  const current = svc.config.current()
  svc.config.swap({ ...current, clients: current.clients.filter(({ client_id }) => client_id !== 'robot') })
  t.equal(await pageOf(svc, 'a@example.com'), 403)
})

t.test('records the repetition of a creation as a read', async (t) => {
  const { call, events } = await openAdmin(t)
  const key = { 'idempotency-key': 'k1' }
  const body = { email: 'new@example.com', name: 'New' }
  const { id } = (await call('POST', '/users', body, key)).json()
  t.equal((await events('admin_read')).length, 0)
  await call('POST', '/users', body, key)
  await call('POST', '/invitations', { email: 'a@example.com' }, key)
  await call('POST', '/invitations', { email: 'a@example.com' }, key)
  const [user, invitation, ...others] = await events('admin_read')
  t.match(user, { userId: BigInt(id), data: '{"operation":"adminCreateUser"}' })
  t.match(invitation, { target: /^invitation:/, data: '{"operation":"adminInviteUser"}' })
  t.equal(others.length, 0)
})
