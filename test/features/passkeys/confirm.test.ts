// engine: none
import t from 'tap'
import { Authenticator } from '../../support/authenticator.ts'
import { hour, second } from '../../support/clock.ts'
import { buildPasskeyApp, eventsOf, refusal, texts, Visitor, withPasskey } from './visitor.ts'

t.test('confirms a user without a password by passkey', async (t) => {
  const svc = await buildPasskeyApp(t, { session: { lifetime: '600m', confirmed_by_sign_in: 'off' } })
  const { user, authenticator } = await withPasskey(svc)
  await svc.database.prisma.user.update({ where: { id: BigInt(user.id) }, data: { password: null } })
  const { app, passkeys } = svc.config.current()
  svc.config.swap({ ...svc.config.current(), app, passkeys: { ...passkeys, confirm_password: true } })
  const visitor = new Visitor(svc.browser())
  t.equal((await visitor.login(authenticator)).statusCode, 200)

  const management = async () => [
    (await visitor.browser.get('/user/passkeys/options')).statusCode,
    (await visitor.browser.post('/user/passkeys', {})).statusCode,
    (await visitor.browser.put('/user/passkeys/1', {})).statusCode,
  ]
  t.strictSame(await management(), [423, 423, 423], 'a login is not a confirmation')
  t.strictSame((await visitor.browser.delete('/user/passkeys/1')).json(), {
    message: 'Password confirmation required.',
    code: 'password_confirmation_required',
  })
  t.equal((await visitor.browser.get('/user/passkeys')).statusCode, 200, 'reading needs none')
  const { options } = (await visitor.browser.get('/passkeys/confirm/options')).json()
  t.strictSame(
    { ...options, challenge: '' },
    {
      ...{ challenge: '', rpId: 'localhost', timeout: 300_000, userVerification: 'required' },
      allowCredentials: [{ id: authenticator.id, type: 'public-key', transports: ['hybrid', 'internal'] }],
    },
  )
  const session = await visitor.browser.cookie('svc_session')
  const answer = await visitor.answer('confirm', authenticator.assert(options))
  t.equal(answer.statusCode, 200, answer.body)
  t.strictSame(answer.json(), { redirect: 'http://localhost:5173/' })
  t.equal(await visitor.browser.cookie('svc_session'), session, 'the session continues')
  t.match(await eventsOf(svc, 'password_confirmed'), [{ userId: user.id, data: { method: 'passkey' } }])
  t.strictSame(await management(), [200, 422, 422])
  svc.clock.advance(hour)
  t.equal((await visitor.confirm(authenticator)).statusCode, 200)
  svc.clock.advance(3 * hour)
  t.strictSame(await management(), [200, 422, 422])
  svc.clock.advance(second)
  t.strictSame(await management(), [423, 423, 423], 'after three hours')
})

t.test("confirms only with the user's own passkey in the same session", async (t) => {
  const svc = await buildPasskeyApp(t)
  const { user, authenticator, owner } = await withPasskey(svc)
  const other = await withPasskey(svc)
  const foreign = await owner.confirm(other.authenticator)
  t.strictSame(foreign.json(), refusal(texts.unknown))
  t.strictSame(await eventsOf(svc, 'passkey_failed'), [
    { userId: user.id, data: { ceremony: 'confirm', reason: 'other_user' } },
  ])
  t.strictSame((await owner.confirm(new Authenticator())).json(), refusal(texts.unknown, 'unknown_passkey'))
  for (const forgery of [
    { origin: 'https://evil.example' },
    { rpId: 'evil.example' },
    { type: 'webauthn.create' },
    { challenge: 'A'.repeat(43) },
    { userVerified: false },
    { userPresent: false },
    { counter: 1 },
    { crossOrigin: true },
    { userHandle: 'A'.repeat(43) },
  ]) {
    const answer = await owner.confirm(authenticator, forgery)
    t.equal(answer.statusCode, 422)
    t.strictSame(answer.json(), refusal(texts.refused), JSON.stringify(forgery))
  }
  t.strictSame(await eventsOf(svc, 'password_confirmed'), [])
  const stolen = authenticator.assert(await other.owner.options('confirm'))
  t.strictSame(
    (await owner.answer('confirm', stolen)).json(),
    refusal(texts.loginExpired),
    "another session's challenge",
  )
  t.equal((await owner.confirm(authenticator)).statusCode, 200)
  const token = await svc.createToken(user)
  for (const url of ['/passkeys/confirm/options', '/user/passkeys', '/user/passkeys/options'])
    t.equal((await svc.bearer(token, 'GET', url)).statusCode, 401, 'a token is not a session')
})
