import { hash as bcrypt } from '@node-rs/bcrypt'
import t from 'tap'
import { buildTestApp } from '../../support/app.ts'
import { hour, minute } from '../../support/clock.ts'
import { beforeNextTransaction } from '../../support/meanwhile.ts'
import { beginTogether } from '../../support/together.ts'
import { challenged, deviceWithFactor, enableTwoFactor, twoFactorReplicas } from '../../support/totp.ts'

// Every sign-in here costs a password check.
const challenge = '/two-factor-challenge'
const invalidCode = 'The provided two factor authentication code was invalid.'
const invalidRecovery = 'The provided two factor recovery code was invalid.'

t.test('completes the sign-in with a valid code, and keeps it waiting after an invalid one', async (t) => {
  const svc = await buildTestApp(t)
  const ada = await enableTwoFactor(svc)
  const guest = svc.browser()
  await guest.get('/svc/csrf-cookie')
  t.strictSame(
    (await guest.post(challenge, { code: ada.code() })).json().errors,
    { code: ['The challenge is invalid or has expired.'] },
    'no sign-in waits',
  )

  const spa = await challenged(svc, ada.email)
  for (const [body, errors] of [
    [{}, { code: [invalidCode] }],
    [{ code: null, recovery_code: null }, { code: [invalidCode] }],
    [{ code: ada.wrong() }, { code: [invalidCode] }],
    [{ code: '12345' }, { code: [invalidCode] }],
    [{ recovery_code: 'nothing' }, { recovery_code: [invalidRecovery] }],
  ] as const) {
    const answer = await spa.post(challenge, body)
    t.equal(answer.statusCode, 422, JSON.stringify(body))
    t.strictSame(answer.json().errors, errors)
  }
  for (const body of [{ code: 123456 }, { code: [ada.code()] }, { code: {} }, { recovery_code: true }]) {
    t.equal((await spa.post(challenge, body)).statusCode, 422, JSON.stringify(body))
  }
  t.equal((await spa.get('/api/user')).statusCode, 401)
  const code = ada.code()
  const done = await spa.post(challenge, { code: ` ${code.slice(0, 3)} ${code.slice(3)} ` })
  t.equal(done.statusCode, 204)
  t.equal(done.body, '')
  t.equal((await spa.get('/api/user')).json().id, ada.user.id)
  t.equal((await spa.post(challenge, { code: ada.code(1) })).statusCode, 422, 'no sign-in waits any more')
})

t.test('accepts a recovery code once, and replaces it', async (t) => {
  const svc = await buildTestApp(t)
  const ada = await enableTwoFactor(svc)
  const [first = '', second = ''] = ada.recoveryCodes
  const spa = await challenged(svc, ada.email)
  for (const wrong of [' –\u200e ', first.slice(1), `${first}x`])
    t.equal((await spa.post(challenge, { recovery_code: wrong })).statusCode, 422, wrong)
  t.equal((await spa.post(challenge, { recovery_code: ` ${first} ` })).statusCode, 204)
  const now: string[] = (await ada.browser.get('/user/two-factor-recovery-codes')).json()
  t.equal(now.length, 8)
  t.strictSame(now.slice(1), ada.recoveryCodes.slice(1), 'replaced in place')
  t.not(now[0], first)
  for (const code of now) t.match(code, /^[a-hjkmnp-z2-9]{10}-[a-hjkmnp-z2-9]{10}$/, 'no look-alike characters')
  const again = await challenged(svc, ada.email)
  t.equal((await again.post(challenge, { recovery_code: first })).statusCode, 422)
  t.equal(
    (await again.post(challenge, { recovery_code: first, code: ada.code() })).statusCode,
    204,
    'the code works too',
  )
  t.equal((await deviceWithFactor(svc, ada.email, { recovery_code: second, code: 'x' })).statusCode, 200)
  const events = await svc.database.prisma.event.findMany({ where: { type: 'recovery_code_used' } })
  t.equal(events.length, 2)
  const told = async () => (await svc.mailbox.to(ada.email)).filter(({ text }) => /recovery code/i.test(text)).length
  t.equal(await told(), 1)
  svc.clock.advance(hour)
  t.equal(await told(), 2, 'the same notice is sent at most once an hour')
})

t.test('accepts a recovery code as people copy it', async (t) => {
  const svc = await buildTestApp(t)
  const ada = await enableTwoFactor(svc)
  const imported = 'Zx9QwErTyU-0OlI1aBcDe'
  const seal = svc.app.secondFactor.kept(ada.user.id, 'JBSWY3DPEHPK3PXP', [...ada.recoveryCodes, imported, '日本語'])
  await svc.database.prisma.user.update({
    where: { id: BigInt(ada.user.id) },
    data: { twoFactorRecoveryCodes: seal.recoveryCodes },
  })
  const [a = '', b = '', c = '', d = ''] = ada.recoveryCodes
  const copies = [
    a.toUpperCase(),
    b.replace('-', ''),
    c.replace('-', ' – '),
    ...[d.replace(/[a-z0-9]/g, (letter) => String.fromCodePoint(letter.charCodeAt(0) + 0xfee0))],
    ...[imported.toLowerCase(), ' 日本 語'],
  ]
  for (const recovery_code of copies)
    t.equal((await deviceWithFactor(svc, ada.email, { recovery_code })).statusCode, 200, recovery_code)
  t.equal((await deviceWithFactor(svc, ada.email, { recovery_code: a })).statusCode, 422, 'only once')
})

t.test(
  'accepts only current codes and the configured neighbours, never an earlier one after a later one',
  async (t) => {
    for (const [window, cases] of [
      [0, { '-1': 422, '1': 422, '0': 200 }],
      [1, { '-2': 422, '2': 422, '-1': 200, '1': 200 }],
      [2, { '-3': 422, '3': 422, '-2': 200, '2': 200 }],
    ] as const) {
      const svc = await buildTestApp(t, { settings: { two_factor: { window } } })
      const ada = await enableTwoFactor(svc)
      for (const [steps, status] of Object.entries(cases)) {
        svc.clock.advance(5 * minute)
        const answer = await deviceWithFactor(svc, ada.email, { code: ada.code(Number(steps)) })
        t.equal(answer.statusCode, status, `window ${window}, step ${steps}`)
      }
    }
    const svc = await buildTestApp(t)
    const ada = await enableTwoFactor(svc)
    const [early, now] = [ada.code(-1), ada.code()]
    t.equal((await deviceWithFactor(svc, ada.email, { code: now })).statusCode, 200)
    for (const code of [early, now])
      t.equal((await deviceWithFactor(svc, ada.email, { code })).statusCode, 422, 'used, or before it')
    const spa = await challenged(svc, ada.email)
    t.equal((await spa.post(challenge, { code: now })).statusCode, 422, 'nor at another channel')
    t.equal((await spa.post(challenge, { code: ada.code(1) })).statusCode, 204)
  },
)

t.test('accepts a code exactly once when two replicas and several entry points get it concurrently', async (t) => {
  const { svc, other, ada } = await twoFactorReplicas(t)
  for (let round = 0; round < 2; round++) {
    svc.clock.advance(2 * minute)
    const [one, two] = [await challenged(svc, ada.email), await challenged(other, ada.email)]
    const code = ada.code()
    beginTogether(svc, other)
    const answers = await Promise.all([one.post(challenge, { code }), two.post(challenge, { code })])
    t.strictSame(answers.map(({ statusCode }) => statusCode).sort(), [204, 422])
  }
  svc.clock.advance(2 * minute)
  const waiting = await Promise.all([svc, other].map((app) => challenged(app, ada.email)))
  const code = ada.code()
  const answers = await Promise.all([
    ...waiting.map((spa) => spa.post(challenge, { code })),
    deviceWithFactor(svc, ada.email, { code }),
    deviceWithFactor(other, ada.email, { code }),
  ])
  t.equal(answers.filter(({ statusCode }) => statusCode < 300).length, 1)
})

t.test('accepts one recovery code once, and different codes each, concurrently', async (t) => {
  const { svc, other, ada } = await twoFactorReplicas(t)
  const [first, second, third, ...rest] = ada.recoveryCodes
  const atOnce = async (...codes: (string | undefined)[]) => {
    const waiting = [await challenged(svc, ada.email), await challenged(other, ada.email)]
    beginTogether(svc, other)
    const answers = await Promise.all(waiting.map((spa, i) => spa.post(challenge, { recovery_code: codes[i] })))
    return answers.map(({ statusCode }) => statusCode).sort()
  }
  t.strictSame(await atOnce(first, first), [204, 422])
  t.strictSame(await atOnce(second, third), [204, 204])
  const many = await Promise.all(
    rest.slice(0, 4).map((recovery_code, i) => deviceWithFactor(i % 2 ? svc : other, ada.email, { recovery_code })),
  )
  t.strictSame(
    many.map(({ statusCode }) => statusCode),
    [200, 200, 200, 200],
  )
  const now: string[] = (await ada.browser.get('/user/two-factor-recovery-codes')).json()
  t.equal(new Set(now).size, 8)
  t.strictSame(now.slice(7), ada.recoveryCodes.slice(7))
})

t.test('makes one session when two proofs complete a waiting sign-in concurrently', async (t) => {
  const { svc, ada } = await twoFactorReplicas(t)
  const spa = await challenged(svc, ada.email)
  const before = await svc.database.prisma.session.count({ where: { userId: BigInt(ada.user.id) } })
  const answers = await Promise.all([
    spa.post(challenge, { code: ada.code() }),
    spa.post(challenge, { recovery_code: ada.recoveryCodes[0] }),
  ])
  t.strictSame(answers.map(({ statusCode }) => statusCode).sort(), [204, 422])
  t.equal(await svc.database.prisma.session.count({ where: { userId: BigInt(ada.user.id) } }), before + 1)
})

t.test("rejects another user's code, and counts attempts by user", async (t) => {
  const svc = await buildTestApp(t)
  const [ada, bob] = [await enableTwoFactor(svc), await enableTwoFactor(svc)]
  const spa = await challenged(svc, ada.email)
  t.equal((await spa.post(challenge, { code: bob.code() })).statusCode, 422)
  t.equal((await spa.post(challenge, { recovery_code: bob.recoveryCodes[0] })).statusCode, 422)
  t.equal((await deviceWithFactor(svc, bob.email, { code: bob.code() })).statusCode, 200, 'neither code was used up')
  t.equal((await deviceWithFactor(svc, bob.email, { recovery_code: bob.recoveryCodes[0] })).statusCode, 200)
})

t.test('asks for the code at device login, and reveals this only with the right password', async (t) => {
  const svc = await buildTestApp(t)
  const ada = await enableTwoFactor(svc)
  const missing = await deviceWithFactor(svc, ada.email, {})
  t.equal(missing.statusCode, 422)
  t.strictSame(missing.json().errors, { code: ['Enter the code of your second factor.'] })
  const wrong = await deviceWithFactor(svc, ada.email, { recovery_code: 'x' })
  t.strictSame(wrong.json().errors, { recovery_code: [invalidRecovery] })
  const guess = await deviceWithFactor(svc, ada.email, { password: 'wrong', code: ada.code() })
  t.strictSame(guess.json().errors, { email: ['The provided credentials are incorrect.'] })
  const good = await deviceWithFactor(svc, ada.email, { code: ada.code() })
  t.equal(good.statusCode, 200, 'no code was used up')
  t.equal((await svc.bearer(good.json().token, 'GET', '/api/user')).json().id, ada.user.id)
  const page = svc.browser({ origin: 'http://localhost:8000' })
  await page.get('/test-login', { accept: 'text/html' })
  const test = await page.post('/test-login', { email: ada.email, password: 'correct horse' }, { accept: 'text/html' })
  t.equal(test.statusCode, 401, 'rejects sign-ins with a second factor on the test page, which has no second form')
})

t.test('rehashes the password even when the answer is a challenge', async (t) => {
  const svc = await buildTestApp(t)
  const ada = await enableTwoFactor(svc)
  const where = { id: BigInt(ada.user.id) }
  const password = await bcrypt('correct horse', 4)
  await svc.database.prisma.user.update({ where, data: { password } })
  const spa = await challenged(svc, ada.email)
  t.match((await svc.database.prisma.user.findUniqueOrThrow({ where })).password, /^\$argon2id\$/)
  t.equal(
    (await spa.post(challenge, { code: ada.code() })).statusCode,
    204,
    'and the sign-in continues with the new hash',
  )
  t.equal((await spa.get('/api/user')).statusCode, 200)
})

t.test('rejects a password sign-in during which the account got a second factor', async (t) => {
  const svc = await buildTestApp(t)
  const { id, email } = await svc.createUser()
  const { prisma } = svc.database
  const addFactor = () => prisma.user.update({ where: { id }, data: { twoFactorConfirmedAt: new Date() } })
  const login = { email, password: 'correct horse' }

  beforeNextTransaction(svc, addFactor)
  const browser = svc.browser()
  t.equal((await browser.post('/login', login, { 'sec-fetch-site': 'same-origin' })).statusCode, 401)
  t.equal((await browser.get('/api/user')).statusCode, 401)
  t.equal(await prisma.session.count({ where: { userId: id } }), 0)

  await prisma.user.update({ where: { id }, data: { twoFactorConfirmedAt: null } })
  beforeNextTransaction(svc, addFactor)
  t.equal((await svc.bearer(null, 'POST', '/svc/token', { ...login, device_name: 'phone' })).statusCode, 401)
  t.equal(await prisma.personalAccessToken.count({ where: { tokenableId: id } }), 0)
})
