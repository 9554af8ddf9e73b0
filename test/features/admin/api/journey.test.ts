// engine: none
import t from 'tap'
import { adminCall, openAdmin } from '../../../support/admin.ts'
import { confirming } from '../../../support/app.ts'

t.test('an administrator creates, changes, locks out and deletes a user', async (t) => {
  const { svc, admin, call, signIn, events } = await openAdmin(t, confirming)
  const why = { reason: 'ticket 7' }
  const ok = async (answer: ReturnType<typeof call>, status = 200) => {
    const { statusCode, body, headers } = await answer
    t.equal(statusCode, status, body)
    return { body: body === '' ? null : JSON.parse(body), etag: String(headers.etag) }
  }
  const by = { actor: 'client:robot', clientId: 'robot', credential: /^jwt:/, reason: 'ticket 7' }

  const { body: user } = await ok(
    call('POST', '/users', { email: 'Ada@example.com', name: 'Ada', password: 'first horse', verified: true, ...why }),
    201,
  )
  t.match(user, { email: 'ada@example.com', role: 'user', disabled: false, email_verified_at: String })
  t.match(await events('user_created'), [by])
  const path = `/users/${user.id}`
  const signInStatus = async (password: string) => (await svc.browser().signIn('ada@example.com', password)).statusCode
  t.equal(await signInStatus('first horse'), 200)

  const version = (await ok(call('GET', path))).etag
  const updated = await ok(call('PATCH', path, { role: 'editor', ...why }, { 'if-match': version }))
  t.match(updated.body, { role: 'editor' })
  t.not(updated.etag, version)
  await ok(call('PATCH', path, { role: 'other' }, { 'if-match': version }), 412)
  await ok(call('PATCH', path, { role: 'editor' }, { 'if-match': `W/${updated.etag}` }), 412)
  await ok(call('PATCH', path, { role: 'other' }, { 'if-match': version, accept: 'application/problem+json' }), 412)
  t.match(await events('user_updated'), [by])

  await ok(call('POST', `${path}/password`, { password: 'second horse', ...why }), 204)
  t.same([await signInStatus('first horse'), await signInStatus('second horse')], [401, 200])
  t.match(await events('password_changed'), [by])
  const [notice] = (await svc.mailbox.to('ada@example.com')).filter(({ subject }) => /password/i.test(subject ?? ''))
  t.match(notice?.text, /password/)
  t.notMatch(notice?.text, /127\.0\.0\.1/)

  for (let i = 0; i < 5; i++) await signInStatus('wrong')
  t.equal(await signInStatus('second horse'), 429)
  await ok(call('POST', `${path}/unlock`, why), 204)
  t.equal(await signInStatus('second horse'), 200)
  t.match(await events('account_unlocked'), [by])

  const { body: made } = await ok(call('POST', `${path}/reset-link`, why))
  t.match(made.link, /reset-password\/[0-9a-f]{64}/)
  t.match((await ok(call('POST', `${path}/reset-link`, { mail: true }))).body, { link: null })

  const browser = await signIn('ada@example.com').then(async (one) => {
    await one.signIn('ada@example.com', 'second horse')
    return one
  })
  const bearer = await svc.createToken(user)
  const { body: sessions } = await ok(call('GET', `${path}/sessions`))
  await ok(call('DELETE', `/sessions/${sessions[0].id}`, undefined, { 'svc-reason': 'ticket 7' }), 204)
  t.match(await events('session_ended'), [by])
  t.equal((await ok(call('POST', `${path}/logout`))).body.sessions > 0, true)
  t.equal((await browser.get('/api/user')).statusCode, 401)
  const { body: tokens } = await ok(call('GET', `${path}/tokens`))
  await ok(call('DELETE', `/tokens/${tokens.data[0].id}`), 204)
  await ok(call('DELETE', `/tokens/${tokens.data[0].id}`), 404)
  t.equal((await svc.bearer(bearer, 'GET', '/api/user')).statusCode, 401)
  const second = await svc.createToken(user)
  await ok(call('DELETE', `${path}/tokens`), 204)
  t.equal((await svc.bearer(second, 'GET', '/api/user')).statusCode, 401)

  const third = await svc.createToken(user)
  t.match((await ok(call('PATCH', path, { disabled: true }))).body, { disabled: true })
  t.equal((await svc.bearer(third, 'GET', '/api/user')).statusCode, 401)
  t.equal(await signInStatus('second horse'), 401)
  await ok(call('POST', `${path}/reset-link`), 422)
  t.match((await ok(call('PATCH', path, { disabled: false, verified: true, reset_two_factor: true }))).body, {
    disabled: false,
  })
  t.equal(await signInStatus('second horse'), 200)

  const { body: invitation } = await ok(
    call('POST', '/invitations', { email: 'eve@example.com', role: 'editor', ...why }),
    201,
  )
  t.match(invitation, { email: 'eve@example.com', role: 'editor', name: null })
  t.match(await events('user_invited'), [by])
  t.match(await svc.mailbox.to('eve@example.com'), [{ text: /invitation/ }])
  await ok(call('POST', '/invitations', { email: 'ada@example.com' }), 422)

  const boss = await signIn()
  const own = adminCall(svc, await svc.createToken(admin, { abilities: ['svc:admin'] }))
  t.match((await ok(own('POST', '/keys/rotate', { algorithm: 'ES256', when: 'now', ...why }))).body, [
    { algorithm: 'ES256' },
  ])
  t.match(await events('key_rotated'), [{ actor: `user:${admin.id}`, credential: /^token:/, reason: 'ticket 7' }])

  t.equal((await boss.delete(`/admin/v1${path}`)).statusCode, 423)
  await boss.post('/user/confirm-password', { password: 'correct horse' })
  t.equal((await boss.delete(`/admin/v1${path}`, undefined, { 'if-match': version })).statusCode, 412)
  t.equal((await boss.delete(`/admin/v1${path}`, undefined, { 'svc-reason': 'asked by Ada' })).statusCode, 204)
  t.match(await events('user_deleted'), [{ actor: `user:${admin.id}`, reason: 'asked by …' }])
  await ok(call('GET', path), 404)
  await ok(call('DELETE', path), 404)
})
