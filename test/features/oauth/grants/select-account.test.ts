// engine: none
import t from 'tap'
import { buildTestApp } from '../../../support/app.ts'
import { second } from '../../../support/clock.ts'
import { oauthSettings, Person, request, response } from '../../../support/oauth.ts'
import { credentials } from '../../../support/plain.ts'
import { stopTime } from '../../../support/time.ts'

const query = request('own', { scope: 'openid', prompt: 'select_account' })

t.test('offers the account that is signed in with prompt=select_account', async (t) => {
  const svc = await buildTestApp(t, { settings: oauthSettings, clock: stopTime(t) })
  const { email } = await svc.createUser()
  const ada = new Person(svc, email)
  await ada.signIn()
  svc.clock.advance(second)
  const page = await ada.authorize(query)
  t.equal(page.page, 'Choose an account')
  t.match(page.answer.body, email)
  t.ok(response(await ada.press(page, { decision: 'continue' })).code)
  const again = await ada.authorize(query)
  t.equal(again.page, 'Choose an account', 'with each request')
  t.match(response(await ada.press(again, { decision: 'deny' })), { error: 'access_denied' })
})

t.test('continues with another account', async (t) => {
  const svc = await buildTestApp(t, { settings: oauthSettings, clock: stopTime(t) })
  const [ada, bob] = [await svc.createUser(), await svc.createUser()]
  const person = new Person(svc, ada.email)
  await person.signIn()
  svc.clock.advance(second)
  const page = await person.authorize(query)
  const href = /id="select-account-other" href="([^"]+)"/.exec(page.answer.body)?.[1] ?? ''
  const signIn = await person.go(href.replaceAll('&amp;', '&').replace('http://localhost:8000', ''))
  t.equal(signIn.page, 'Sign in')
  const { code } = response(await person.press(signIn, credentials(bob.email)))
  t.ok(code)
  t.equal(await person.plain.user(), bob.id)
})

t.test('asks a guest to sign in, once', async (t) => {
  const svc = await buildTestApp(t, { settings: oauthSettings, clock: stopTime(t) })
  const { email } = await svc.createUser()
  const ada = new Person(svc, email)
  const signIn = await ada.authorize(query)
  t.equal(signIn.page, 'Sign in')
  t.ok(response(await ada.press(signIn, credentials(email))).code)
})

t.test('combines select_account with login and consent', async (t) => {
  const svc = await buildTestApp(t, { settings: oauthSettings, clock: stopTime(t) })
  const { email } = await svc.createUser()
  const ada = new Person(svc, email)
  await ada.signIn()
  svc.clock.advance(second)
  const page = await ada.authorize(request('web', { scope: 'openid', prompt: 'select_account consent' }))
  t.equal(page.page, 'Choose an account')
  const consent = await ada.press(page, { decision: 'continue' })
  t.equal(consent.page, 'Authorize')
  t.ok(response(await ada.press(consent, { decision: 'approve' })).code)
  svc.clock.advance(second)
  const both = await ada.authorize(request('own', { scope: 'openid', prompt: 'select_account login' }))
  t.equal(both.page, 'Choose an account')
  const signIn = await ada.press(both, { decision: 'continue' })
  t.equal(signIn.page, 'Sign in')
  t.ok(response(await ada.press(signIn, credentials(email))).code)
})

t.test('announces select_account, and logs values of prompt that it does not know', async (t) => {
  const svc = await buildTestApp(t, { settings: oauthSettings, clock: stopTime(t) })
  const metadata = (await svc.app.inject('/.well-known/openid-configuration')).json()
  t.ok(metadata.prompt_values_supported.includes('select_account'))
  const stop = await new Person(svc, '').authorize(request('web', { prompt: 'choose_account' }))
  t.match(response(stop), { error: 'invalid_request' })
  t.match(svc.logs.join(), /prompt \\"choose_account\\" has a value that svc does not know/)
  t.match(svc.logs.join(), /"client":"web"/)
  const none = await new Person(svc, '').authorize(request('web', { prompt: 'none select_account' }))
  t.match(response(none), { error: 'invalid_request' })
})

t.test('leads from the sign-in pages of an authorization back to the application', async (t) => {
  const svc = await buildTestApp(t, { settings: oauthSettings, clock: stopTime(t) })
  const guest = new Person(svc, 'ada@example.com')
  const signIn = await guest.authorize(request('web', { scope: 'openid' }))
  t.match(signIn.answer.body, 'Back to The Web Shop')
  t.match(response(await guest.press(signIn, { decision: 'deny' })), { error: 'access_denied', state: 'the-state' })
  t.notMatch((await guest.go('/oauth/login')).answer.body, 'id="cancel"', 'nor elsewhere')
})
