// engine: none
import t from 'tap'
import { exchange, handIn } from './mobile.ts'
import { buildSocial, mobileUri, Visitor } from './visitor.ts'

const acme = { redirect_uris: [mobileUri] }

t.test('creates no account for a code while registration is disabled', async (t) => {
  const svc = await buildSocial(t, { acme, settings: { registration: { enabled: false } } })
  const answer = await exchange(svc, await handIn(svc, 'grace'))
  t.equal(answer.statusCode, 403, answer.body)
  t.match(answer.json(), { code: 'registration_disabled' })
  t.equal(await svc.database.prisma.user.count(), 0)
})

t.test('rejects a code of an account whose address another user has', async (t) => {
  const svc = await buildSocial(t, { acme: { ...acme, trust_email: false } })
  await svc.createUser({ email: 'grace@example.com' })
  const answer = await exchange(svc, await handIn(svc, 'grace'))
  t.equal(answer.statusCode, 409, answer.body)
  t.match(answer.json(), { code: 'account_exists' })
  t.equal(await svc.database.prisma.personalAccessToken.count(), 0)
})

t.test('answers 503 to a code while the database is away', async (t) => {
  const svc = await buildSocial(t, { acme })
  const fields = await handIn(svc, 'grace')
  const { transaction, prisma } = svc.database
  const fail = () => {
    throw Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
  }
  Object.assign(svc.database, { transaction: fail, prisma: new Proxy(prisma, { get: fail }) })
  const answer = await exchange(svc, fields)
  t.match(answer, { statusCode: 503, headers: { 'retry-after': /^\d+$/ } }, answer.body)
  t.match(answer.json(), { code: 'unavailable' })
  Object.assign(svc.database, { transaction, prisma })
  t.equal((await exchange(svc, await handIn(svc, 'grace'))).statusCode, 200)
})

t.test('requires a device name for a sign-in without a session', async (t) => {
  const svc = await buildSocial(t)
  const { browser } = new Visitor(svc)
  for (const query of ['stateless=1', 'stateless=1&device_name=', 'stateless=1&device_name=%20']) {
    const answer = await browser.get(`/auth/acme/redirect?${query}`)
    t.equal(answer.statusCode, 422, query)
    t.match(answer.json(), { errors: { device_name: ['The device name field is required.'] } })
  }
})
