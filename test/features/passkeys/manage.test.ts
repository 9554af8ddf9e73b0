import t from 'tap'
import { Authenticator } from '../../support/authenticator.ts'
import { minute } from '../../support/clock.ts'
import { buildPasskeyApp, eventsOf, refusal, signedIn, texts, Visitor, withPasskey } from './visitor.ts'

t.test('lets owners list, rename and delete their passkeys', async (t) => {
  const svc = await buildPasskeyApp(t)
  const { user, authenticator, owner, guest } = await withPasskey(svc)
  svc.clock.advance(minute)
  t.equal((await owner.register(new Authenticator(), { backedUp: true })).statusCode, 200)
  svc.clock.advance(minute)
  t.equal((await guest.login(authenticator)).statusCode, 200)
  const list = (await owner.browser.get('/user/passkeys')).json()
  const [first, second] = list
  const names = { name: 'Phone', backed_up: false, last_used_at: '2026-11-20T12:02:00.000000Z' }
  t.strictSame(list, [
    { id: first.id, ...names, created_at: '2026-11-20T12:00:00.000000Z' },
    { id: second.id, name: 'Phone', backed_up: true, last_used_at: null, created_at: '2026-11-20T12:01:00.000000Z' },
  ])
  t.type(first.id, 'string')

  const body = { name: ' Laptop ', counter: 0, user_id: 1, credential_id: 'x', backed_up: true }
  const renamed = await owner.browser.put(`/user/passkeys/${first.id}`, body)
  t.equal(renamed.statusCode, 200, renamed.body)
  t.strictSame(renamed.json(), { passkey: { ...first, name: 'Laptop' } })
  t.match(await eventsOf(svc, 'passkey_renamed'), [{ userId: user.id, data: { passkey_id: Number(first.id) } }])
  for (const name of [undefined, '', 5, 'x'.repeat(256)])
    t.equal((await owner.browser.put(`/user/passkeys/${first.id}`, { name })).statusCode, 422)

  const before = (await svc.mailbox.to(user.email)).length
  const deleted = await owner.browser.delete(`/user/passkeys/${first.id}`)
  t.equal(deleted.statusCode, 200)
  t.strictSame(deleted.json(), { status: 'passkey-deleted' })
  t.match(await eventsOf(svc, 'passkey_deleted'), [{ userId: user.id, data: { passkey_id: Number(first.id) } }])
  t.equal((await svc.mailbox.to(user.email)).length, before + 1, 'the owner is notified')
  t.strictSame(
    (await new Visitor(svc.browser()).login(authenticator)).json(),
    refusal(texts.unknown, 'unknown_passkey'),
  )
  t.strictSame((await owner.browser.get('/user/passkeys')).json(), [second])
  t.equal((await owner.browser.delete(`/user/passkeys/${first.id}`)).statusCode, 404)
})

t.test("answers 403 for another user's passkey, and 404 for an unknown one", async (t) => {
  const svc = await buildPasskeyApp(t)
  const { owner } = await withPasskey(svc)
  const { visitor: other } = await signedIn(svc)
  const [{ id }] = (await owner.browser.get('/user/passkeys')).json()
  t.strictSame((await other.browser.get('/user/passkeys')).json(), [])
  for (const answer of [
    await other.browser.put(`/user/passkeys/${id}`, { name: 'Mine' }),
    await other.browser.put(`/user/passkeys/${id}`, {}),
    await other.browser.delete(`/user/passkeys/${id}`),
  ]) {
    t.equal(answer.statusCode, 403)
    t.strictSame(answer.json(), { message: 'Forbidden', code: 'forbidden' })
  }
  for (const none of [
    Number(id) + 1,
    0,
    '9223372036854775807',
    '9223372036854775808',
    '9'.repeat(19),
    '9'.repeat(40),
  ]) {
    t.equal((await other.browser.put(`/user/passkeys/${none}`, { name: 'x' })).statusCode, 404, String(none))
    t.equal((await other.browser.delete(`/user/passkeys/${none}`)).statusCode, 404, String(none))
  }
  for (const none of ['-1', 'x', '1.5', '%00', '1e3'])
    t.equal((await other.browser.delete(`/user/passkeys/${none}`)).statusCode, 404, none)
  t.match((await owner.browser.get('/user/passkeys')).json(), [{ id, name: 'Phone' }])
})

t.test('refuses to delete the last way to sign in', async (t) => {
  const svc = await buildPasskeyApp(t)
  const { user, authenticator } = await withPasskey(svc)
  await svc.database.prisma.user.update({ where: { id: BigInt(user.id) }, data: { password: null } })
  const visitor = new Visitor(svc.browser())
  t.equal((await visitor.login(authenticator)).statusCode, 200)
  const [{ id }] = (await visitor.browser.get('/user/passkeys')).json()
  const refused = await visitor.browser.delete(`/user/passkeys/${id}`)
  t.equal(refused.statusCode, 422)
  const text = 'This passkey is the only way into the account. Set a password or add another passkey first.'
  t.strictSame(refused.json().errors, { passkey: [text] })
  t.equal((await eventsOf(svc, 'passkey_deleted')).length, 0)
  const now = new Date(svc.clock.now())
  const link = { provider: 'removed', providerId: '1', userId: BigInt(user.id), createdAt: now, updatedAt: now }
  await svc.database.prisma.socialAccount.create({ data: link })
  const linked = await visitor.browser.delete(`/user/passkeys/${id}`)
  t.equal(linked.statusCode, 422, 'a provider that is no longer configured signs no user in')

  for (let round = 0; round < 4; round++) {
    for (let more = 0; more < 3; more++) t.equal((await visitor.register(new Authenticator())).statusCode, 200)
    const all: { id: string }[] = (await visitor.browser.get('/user/passkeys')).json()
    const answers = await Promise.all(all.map((each) => visitor.browser.delete(`/user/passkeys/${each.id}`)))
    t.strictSame(answers.map(({ statusCode }) => statusCode).sort(), [200, 200, 200, 422], 'not even concurrently')
  }
  t.equal((await visitor.browser.get('/user/passkeys')).json().length, 1)
})

t.test('deletes the passkeys with the account', async (t) => {
  const svc = await buildPasskeyApp(t)
  const { user, authenticator, guest } = await withPasskey(svc)
  await svc.database.prisma.user.delete({ where: { id: BigInt(user.id) } })
  t.strictSame((await guest.login(authenticator)).json(), refusal(texts.unknown, 'unknown_passkey'))
  t.equal(await svc.database.prisma.passkey.count(), 0)
})

t.test('answers 404 when passkeys are off', async (t) => {
  const svc = await buildPasskeyApp(t, { passkeys: { enabled: false } })
  const { visitor } = await signedIn(svc)
  const guest = svc.browser()
  for (const browser of [visitor.browser, guest]) {
    for (const path of ['login/options', 'confirm/options'])
      t.equal((await browser.get(`/passkeys/${path}`)).statusCode, 404, path)
    for (const path of ['login', 'confirm'])
      t.equal((await browser.post(`/passkeys/${path}`, {})).statusCode, 404, path)
    for (const path of ['', '/options']) t.equal((await browser.get(`/user/passkeys${path}`)).statusCode, 404, path)
    t.equal((await browser.post('/user/passkeys', {})).statusCode, 404)
    t.equal((await browser.put('/user/passkeys/1', {})).statusCode, 404)
    t.equal((await browser.delete('/user/passkeys/1')).statusCode, 404)
  }
})

t.test('returns what to tell the browser about the passkeys of the user alone', async (t) => {
  const svc = await buildPasskeyApp(t)
  const path = '/user/passkeys/signals'
  t.equal((await svc.browser().get(path)).statusCode, 401)
  const newcomer = await signedIn(svc)
  const nothing = { all_accepted_credentials: null, current_user_details: null }
  t.strictSame((await newcomer.visitor.browser.get(path)).json(), nothing)
  await withPasskey(svc)
  const { user, owner } = await withPasskey(svc)
  const { options } = (await owner.browser.get('/user/passkeys/options')).json()
  const [{ id }] = options.excludeCredentials
  const holder = { rpId: 'localhost', userId: options.user.id }
  const signals = (await owner.browser.get(path)).json()
  t.strictSame(signals, {
    all_accepted_credentials: { ...holder, allAcceptedCredentialIds: [id] },
    current_user_details: { ...holder, name: user.email, displayName: user.name },
  })
  const [passkey] = (await owner.browser.get('/user/passkeys')).json()
  await owner.browser.delete(`/user/passkeys/${passkey.id}`)
  t.match((await owner.browser.get(path)).json(), { all_accepted_credentials: { allAcceptedCredentialIds: [] } })
})
