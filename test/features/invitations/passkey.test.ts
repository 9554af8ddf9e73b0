import t from 'tap'
import { isPassword } from '../../../src/platform/crypto/stored-password.ts'
import { buildTestApp } from '../../support/app.ts'
import { Authenticator } from '../../support/authenticator.ts'
import { minute } from '../../support/clock.ts'
import { beforeNextTransaction } from '../../support/meanwhile.ts'
import { eventsOf } from '../passkeys/visitor.ts'
import { email, invited, tokenOf } from './setup.ts'

const settings = { passkeys: { origins: ['http://localhost:5173'] }, rate_limits: { register: null } }
const optionsPath = '/passkeys/invitation/options'
const acceptPath = '/passkeys/invitation'
const name = 'Grace Hopper'

t.test('creates an account with a passkey and without a password', async (t) => {
  const svc = await buildTestApp(t, { settings: { ...settings, registration: { enabled: false } } })
  const token = tokenOf(await invited(svc, email))
  const browser = svc.browser()
  await browser.get('/svc/csrf-cookie')
  const { options } = (await browser.post(optionsPath, { token, name })).json()
  t.match(options, { user: { name: email, displayName: name, id: /^[\w-]{43}$/ }, rp: { id: 'localhost' } })
  const authenticator = new Authenticator()
  const credential = authenticator.register(options)
  const answer = await browser.post(acceptPath, { token, name, credential })
  t.equal(answer.statusCode, 200, answer.body)
  t.strictSame(answer.json(), { redirect: 'http://localhost:8000/' })
  const user = (await browser.get('/api/user')).json()
  t.match(user, { email, name, email_verified_at: String })
  const row = await svc.database.prisma.user.findFirstOrThrow()
  t.equal(isPassword(row.password), false)
  t.equal(row.passkeyHandle, options.user.id)
  t.match(await eventsOf(svc, 'passkey_registered'), [{ userId: user.id }])

  const later = svc.browser()
  await later.get('/svc/csrf-cookie')
  const asked = (await later.get('/passkeys/login/options')).json()
  const signedIn = await later.post('/passkeys/login', { credential: authenticator.assert(asked.options) })
  t.equal(signedIn.statusCode, 200, signedIn.body)
  t.equal((await later.get('/api/user')).json().id, user.id)
  t.equal((await browser.post(acceptPath, { token, name, credential })).statusCode, 422, 'used up')
  t.equal((await browser.post(optionsPath, { token, name })).statusCode, 422)
})

t.test('rejects a response of another session, another invitation or another time', async (t) => {
  const svc = await buildTestApp(t, { settings })
  const [token, other] = [tokenOf(await invited(svc, email)), tokenOf(await invited(svc, 'other@example.com'))]
  const [browser, stranger] = [svc.browser(), svc.browser()]
  for (const each of [browser, stranger]) await each.get('/svc/csrf-cookie')
  const begin = async () => (await browser.post(optionsPath, { token, name })).json().options
  const refused = async (sender: typeof browser, given: string, credential: object, label: string) => {
    const answer = await sender.post(acceptPath, { token: given, name, credential })
    t.equal(answer.statusCode, 422, label)
    t.equal(await svc.database.prisma.user.count(), 0, label)
  }
  await refused(stranger, token, new Authenticator().register(await begin()), 'another session')
  await refused(browser, other, new Authenticator().register(await begin()), 'another invitation')
  await refused(browser, 'x'.repeat(43), new Authenticator().register(await begin()), 'an unknown invitation')
  const old = new Authenticator().register(await begin())
  svc.clock.advance(6 * minute)
  await refused(browser, token, old, 'an expired challenge')
  const used = new Authenticator().register(await begin())
  await refused(
    browser,
    token,
    { ...used, response: { ...used.response, attestationObject: 'AAAA' } },
    'a forged response',
  )
  await refused(browser, token, used, 'a used challenge')
  for (const odd of [null, 1, 'x', [], {}]) await refused(browser, token, odd as object, JSON.stringify(odd))
  t.equal((await browser.post(optionsPath, { token, name: '' })).statusCode, 422)
  t.equal((await browser.post(optionsPath, { token: { a: 1 }, name })).statusCode, 422)
  t.equal((await browser.post(acceptPath, { token, name, credential: {} }, { 'x-xsrf-token': 'x' })).statusCode, 419)
  t.equal((await browser.post(optionsPath, { token, name }, { 'x-xsrf-token': 'x' })).statusCode, 419)
})

t.test('refuses an address that got an account during the ceremony, and an account that was disabled', async (t) => {
  const svc = await buildTestApp(t, { settings })
  const token = tokenOf(await invited(svc, email))
  const browser = svc.browser()
  await browser.get('/svc/csrf-cookie')
  const { options } = (await browser.post(optionsPath, { token, name })).json()
  const credential = new Authenticator().register(options)
  await svc.createUser({ email })
  const taken = await browser.post(acceptPath, { token, name, credential })
  t.equal(taken.statusCode, 422)
  t.strictSame(taken.json().errors, { email: ['The email has already been taken.'] })
  t.equal(await svc.database.prisma.passkey.count(), 0)

  const next = tokenOf(await invited(svc, 'next@example.com'))
  const again = (await browser.post(optionsPath, { token: next, name })).json()
  const fresh = new Authenticator().register(again.options)
  const transaction = svc.database.transaction.bind(svc.database)
  svc.database.transaction = async (work) => {
    const result = await transaction(work)
    svc.database.transaction = transaction
    beforeNextTransaction(svc, () => svc.database.prisma.user.updateMany({ data: { disabledAt: new Date(0) } }))
    return result
  }
  t.equal((await browser.post(acceptPath, { token: next, name, credential: fresh })).statusCode, 401)
})

t.test('has no passkeys where they are disabled', async (t) => {
  const svc = await buildTestApp(t, { settings: { passkeys: { enabled: false } } })
  const link = await invited(svc, email)
  const browser = svc.browser()
  await browser.get('/svc/csrf-cookie')
  for (const path of [optionsPath, acceptPath])
    t.equal((await browser.post(path, { token: tokenOf(link), name, credential: {} })).statusCode, 404)
  t.notMatch((await browser.get(link, { accept: 'text/html' })).body, 'passkey')
})
