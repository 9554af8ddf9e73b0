import t from 'tap'
import { requestEmailChange } from '../../../src/identity/email-change.ts'
import { findUserById } from '../../../src/identity/users.ts'
import { openAdmin } from '../../support/admin.ts'
import { day } from '../../support/clock.ts'
import { runCommand, runCommandOn } from '../../support/command.ts'

t.test('administrators read until when an address is held for its former account', async (t) => {
  const { svc, call, signIn } = await openAdmin(t, { registration: { email_change: 'immediate' } })
  const email = 'former@example.com'
  const { id } = await svc.createUser({ email })
  await svc.database.transaction(async (tx) => {
    const found = await findUserById({ prisma: tx }, id)
    const now = svc.clock.now()
    await requestEmailChange(tx, found?.user as never, { to: 'new@example.com', mode: 'immediate', now })
  })
  const held = /^The email is held until 2026-11-27T12:00:00\.000Z, because its former account can still undo/
  const create = () => call('POST', '/users', { email: 'Former@Example.com', name: 'Ada', verified: true })
  const invite = () => call('POST', '/invitations', { email })
  for (const send of [create, invite]) {
    const answer = await send()
    t.equal(answer.statusCode, 422)
    t.match(answer.json(), { code: 'validation_failed', errors: { email: [held] } })
  }
  const line = JSON.stringify({ email, name: 'Ada' })
  for (const query of ['', '?dry_run=true']) {
    const headers = { 'content-type': 'application/x-ndjson' }
    const answer = await call('POST', `/users/import${query}`, line as unknown as object, headers)
    t.match(answer.json(), { lines: [{ status: 'invalid', id: null, errors: { email: [held] } }] }, query)
  }
  const services = { ...svc, now: svc.clock.now(), readPassword: async () => 'correct horse battery' }
  await t.rejects(runCommand(services, 'user:create', `--email=${email}`, '--name=Ada'), /held until 2026-11-27/)
  await t.rejects(runCommandOn(svc, 'user:invite', `--email=${email}`), /held until 2026-11-27/)
  const taken = await call('POST', '/users', { email: 'new@example.com', name: 'Ada', verified: true })
  t.match(taken.json(), { errors: { email: ['The email has already been taken.'] } })
  svc.clock.advance(7 * day)
  const browser = await signIn()
  await browser.post('/user/confirm-password', { password: 'correct horse' })
  const made = await browser.post('/admin/v1/users', { email, name: 'Ada', verified: true })
  t.equal(made.statusCode, 201, made.body)
})
