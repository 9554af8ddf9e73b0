import t from 'tap'
import { removePassword } from '../../support/accounts.ts'
import type { TestApp } from '../../support/app.ts'
import { Authenticator } from '../../support/authenticator.ts'
import { minute } from '../../support/clock.ts'
import { Device } from '../../support/device.ts'
import { buildPasskeyApp, eventsOf, forgedCeremonies, refusal, signedIn, texts, Visitor } from './visitor.ts'

const optionsPath = '/svc/passkeys/registration-options'
const path = '/svc/passkeys'
const password = 'correct horse'

/** An app with the API token of a user. */
async function appOf(svc: TestApp, abilities = ['*']) {
  const user = await svc.createUser()
  const token = await svc.createToken(user, { abilities })
  const post = (url: string, body: object) => svc.bearer(token, 'POST', url, body)
  return { user, token, post, begin: async () => (await post(optionsPath, { password })).json() }
}

t.test('registers a passkey in an app, which then signs in with it', async (t) => {
  const svc = await buildPasskeyApp(t, { passkeys: { confirm_password: true } })
  const { user, post } = await appOf(svc)
  const begun = await post(optionsPath, { password })
  t.equal(begun.statusCode, 200, begun.body)
  t.equal(begun.headers['set-cookie'], undefined)
  const { options, challenge_token } = begun.json()
  t.match(options, { rp: { id: 'localhost' }, user: { name: user.email }, excludeCredentials: [] })
  const authenticator = new Authenticator()
  const credential = authenticator.register(options)
  const more = { user_id: 999, backed_up: true, counter: 5 }
  const answer = await post(path, { name: ' Phone ', credential, challenge_token, ...more })
  t.equal(answer.statusCode, 200, answer.body)
  t.match(answer.json(), { id: String, name: 'Phone', status: 'passkey-registered' })
  t.equal(answer.headers['set-cookie'], undefined)
  t.equal((await new Device(svc).passkey(authenticator)).json().user.id, user.id)
  t.match((await eventsOf(svc, 'passkey_registered')).at(-1), { userId: user.id })
  const subjects = (await svc.mailbox.to(user.email)).map(({ subject }) => subject)
  t.ok(subjects.includes('A passkey was added'), subjects.join(', '))
  const again = await post(path, { name: 'Phone', credential, challenge_token })
  t.strictSame(again.json(), refusal(texts.registrationExpired), 'once')
  t.equal((await post(optionsPath, { password })).json().options.excludeCredentials.length, 1)
})

t.test('requires the password, whose failures are limited', async (t) => {
  const settings = { passkeys: { confirm_password: true }, rate_limits: { login: '3/1m' } }
  const svc = await buildPasskeyApp(t, settings)
  const { user, post } = await appOf(svc)
  for (const body of [{}, { password: null }, { password: '' }])
    t.strictSame((await post(optionsPath, body)).json().errors, { password: ['The password field is required.'] })
  for (let tries = 0; tries < 3; tries++)
    t.strictSame((await post(optionsPath, { password: 'wrong' })).json().errors, {
      password: ['The provided password was incorrect.'],
    })
  t.equal((await post(optionsPath, { password })).statusCode, 429)
  svc.clock.advance(minute)
  t.equal((await post(optionsPath, { password })).statusCode, 200)
  await removePassword(svc, user.id)
  t.equal((await post(optionsPath, { password })).statusCode, 422, 'users without a password use a page')
  t.equal(await svc.database.prisma.passkeyChallenge.count(), 1)
})

t.test('rejects sessions, limited tokens and revoked tokens', async (t) => {
  const svc = await buildPasskeyApp(t)
  const limited = await appOf(svc, ['view-tasks'])
  const { visitor } = await signedIn(svc)
  for (const url of [optionsPath, path]) {
    const body = { name: 'x', credential: {}, challenge_token: 'x' }
    t.equal((await limited.post(url, body)).statusCode, 403)
    t.equal((await visitor.browser.post(url, body)).statusCode, 403, 'a session has routes of its own')
  }
  const { token, post, begin } = await appOf(svc)
  const { options, challenge_token } = await begin()
  await svc.bearer(token, 'POST', '/logout')
  const body = { name: 'x', credential: new Authenticator().register(options), challenge_token }
  t.equal((await post(path, body)).statusCode, 401)
  t.equal(await svc.database.prisma.passkey.count(), 0)
})

t.test('binds a registration to its user, token and purpose, on 20 parallel requests', async (t) => {
  const svc = await buildPasskeyApp(t)
  const [ada, bob] = [await appOf(svc), await appOf(svc)]
  const device = new Device(svc)
  const send = (app: typeof ada, { options, challenge_token }: Awaited<ReturnType<typeof ada.begin>>) =>
    app.post(path, { name: 'x', credential: new Authenticator().register(options), challenge_token })
  t.strictSame((await send(bob, await ada.begin())).json(), refusal(texts.registrationExpired), "another user's")
  t.strictSame((await send(ada, await device.begin())).json(), refusal(texts.registrationExpired), 'of a sign-in')
  const { options, challenge_token } = await ada.begin()
  const assertion = new Authenticator().assert(options)
  t.strictSame((await device.token({ credential: assertion, challenge_token })).json(), refusal(texts.loginExpired))
  const browser = new Visitor(svc.browser())
  await browser.browser.signIn(ada.user.email)
  const inBrowser = await browser.answer('register', new Authenticator().register(options))
  t.strictSame(inBrowser.json(), refusal(texts.registrationExpired), 'in a browser')
  for (const [name, forgery] of Object.entries(forgedCeremonies)) {
    const begun = await ada.begin()
    const credential = new Authenticator().register(begun.options, forgery)
    const answer = await ada.post(path, { name: 'x', credential, challenge_token: begun.challenge_token })
    t.strictSame(answer.json(), refusal(texts.notRegistered), name)
  }
  const late = await ada.begin()
  svc.clock.advance(6 * minute)
  t.strictSame((await send(ada, late)).json(), refusal(texts.registrationExpired), 'expired')
  const begun = await ada.begin()
  const answers = await Promise.all(Array.from({ length: 20 }, () => send(ada, begun)))
  t.equal(answers.filter(({ statusCode }) => statusCode === 200).length, 1)
  t.equal(await svc.database.prisma.passkey.count(), 1)
})

t.test('validates the fields of a registration', async (t) => {
  const svc = await buildPasskeyApp(t)
  const { post, begin } = await appOf(svc)
  const { options, challenge_token } = await begin()
  const credential = new Authenticator().register(options)
  const good = { name: 'x', credential, challenge_token }
  for (const [more, field] of [
    [{ name: 'a\nb' }, 'name'],
    [{ name: 'x'.repeat(256) }, 'name'],
    [{ challenge_token: null }, 'challenge_token'],
    [{ challenge_token: 'x'.repeat(256) }, 'challenge_token'],
    [{ credential: 'x' }, 'credential'],
  ] as const)
    t.same(Object.keys((await post(path, { ...good, ...more })).json().errors), [field], field)
  t.equal((await post(path, good)).statusCode, 200)
})
