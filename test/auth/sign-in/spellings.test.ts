import { pbkdf2Sync } from 'node:crypto'
import { hashSync } from '@node-rs/argon2'
import t from 'tap'
import { readLegacyCosts } from '../../../src/auth/sign-in/legacy-costs.ts'
import { formsOf } from '../../../src/platform/crypto/canonical-password.ts'
import {
  argon2Parameters,
  checksOf,
  costOf,
  legacyCostsOf,
  maxLegacyCosts,
} from '../../../src/platform/crypto/stored-password.ts'
import { strongPassword } from '../../support/accounts.ts'
import { buildTestApp } from '../../support/app.ts'
import { runCommandOn } from '../../support/command.ts'

/** Spellings of one mailbox, as browsers and programs send them. */
const spellings = {
  'x@xn--mller-kva.example': ['x@müller.example', 'X@MÜLLER.example', 'x@mu\u0308ller.example', ' x@Müller.Example '],
  'zoë@xn--r8jz45g.jp': ['zoë@例え.jp', 'zoe\u0308@例え.jp', 'ZOË@例え.JP'],
  'ali@xn--mgbh0fb.example': ['ali@مثال.example'],
} as const

t.test('has one account for a mailbox, whichever way its address is written', async (t) => {
  const svc = await buildTestApp(t, {
    settings: { login: { email_code: true }, rate_limits: { register: null, mail: null } },
  })
  for (const [canonical, others] of Object.entries(spellings)) {
    const body = { name: 'X', password: strongPassword, password_confirmation: strongPassword }
    const register = async (email: string) => {
      const browser = svc.browser()
      await browser.get('/svc/csrf-cookie')
      return browser.post('/register', { ...body, email })
    }
    const [first = ''] = others
    t.equal((await register(first)).statusCode, 201)
    for (const email of [canonical, ...others]) {
      t.match((await register(email)).json(), { errors: { email: [/already been taken/] } }, email)
      t.equal((await svc.browser().signIn(email, strongPassword)).statusCode, 200, email)
      const app = { email, password: strongPassword, device_name: 'x' }
      t.match((await svc.bearer(null, 'POST', '/svc/token', app)).json(), { user: { email: canonical } })
      const browser = svc.browser()
      await browser.get('/svc/csrf-cookie')
      await browser.post('/forgot-password', { email })
      await browser.post('/login/email-code', { email })
      const found = await runCommandOn(svc, 'user:find', email.trim())
      t.match(found.join(), canonical, `user:find ${email}`)
    }
  }
  t.equal(await svc.database.prisma.user.count(), 3)
})

const composed = 'café au lait'
const decomposed = composed.normalize('NFD')

t.test('takes a password in every composition of its letters', async (t) => {
  const svc = await buildTestApp(t)
  for (const [registered, others] of [
    [composed, [decomposed, 'cafe\u0301\u00a0au lait', 'café\u3000au lait']],
    [decomposed, [composed]],
  ] as const) {
    const { email } = await svc.createUser({ password: registered })
    for (const password of [registered, ...others])
      t.equal((await svc.browser().signIn(email, password)).statusCode, 200, JSON.stringify(password))
    for (const wrong of ['cafe au lait', 'CAFÉ AU LAIT', 'cafè au lait'])
      t.equal((await svc.browser().signIn(email, wrong)).statusCode, 401, wrong)
  }
})

t.test('replaces a stored hash of another form after a sign-in', async (t) => {
  const svc = await buildTestApp(t)
  const { id, email } = await svc.createUser()
  const password = hashSync(decomposed, argon2Parameters)
  await svc.database.prisma.user.update({ where: { id: BigInt(id) }, data: { password } })
  t.equal((await svc.browser().signIn(email, composed)).statusCode, 200)
  const stored = await svc.database.prisma.user.findUniqueOrThrow({ where: { id: BigInt(id) } })
  t.not(stored.password, password)
  t.equal((await svc.browser().signIn(email, decomposed)).statusCode, 200)
})

t.test('tries the same forms for every account', async (t) => {
  t.same(formsOf('plain'), ['plain'])
  t.same(formsOf(composed), [composed, decomposed])
  t.same(formsOf(decomposed), [composed, decomposed])
  t.equal(formsOf('e\u0301 é\u00a0').length, 3)
})

const legacy = (iterations: number, size = 32): string => {
  const salt = Buffer.alloc(16, 1)
  const hash = pbkdf2Sync('correct horse', salt, iterations, size, 'sha512')
  const text = (bytes: Buffer) => bytes.toString('base64').replaceAll('=', '')
  return `$pbkdf2-sha512$i=${iterations},l=${size}$${text(salt)}$${text(hash)}`
}

t.test('checks decoys with the parameters of the hashes in use', async (t) => {
  const kinds = [
    legacy(1_000, 64),
    legacy(1_000, 20),
    `$2b$10$${'a'.repeat(53)}`,
    '$argon2i$v=19$m=65536,t=3,p=2$c29tZXNhbHQ$RdescudvJCsgt3ub+b2dWRWJTmaaJObG',
    '$scrypt$ln=14,r=8,p=1$c29tZXNhbHQ$RdescudvJCsgt3ub+b2dWRWJTmaaJObG',
  ]
  const costs = legacyCostsOf(kinds)
  t.equal(costs.size, kinds.length)
  const work = (stored: string | null) => checksOf(stored, costs).map(costOf).sort()
  const expected = work(null)
  t.notOk(expected.includes(null), 'no decoy is rejected before its check')
  for (const stored of kinds) t.same(work(stored), expected, stored)
})

t.test('admits five kinds of hashes in the whole database, until their last user is gone', async (t) => {
  const svc = await buildTestApp(t, { settings: { admin: { roles: ['admin'] } } })
  const admin = await svc.createUser({ role: 'admin' })
  const token = await svc.createToken(admin, { abilities: ['svc:admin'] })
  const line = (index: number) =>
    JSON.stringify({ email: `u${index}@example.com`, name: 'U', password_hash: legacy(1_000 + index) })
  const load = async (...indexes: number[]) => {
    const answer = await svc.app.inject({
      method: 'POST',
      url: '/admin/v1/users/import',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/x-ndjson', 'svc-reason': 'test' },
      payload: indexes.map(line).join('\n'),
    })
    return answer.json()
  }
  t.match(await load(1, 2, 3), { created: 3 })
  const second = await load(4, 5, 6)
  t.match(second, { created: 2, invalid: 1 })
  t.match(second.lines[2].errors.password_hash[0], `svc has users with ${maxLegacyCosts} other kinds`)
  for (const index of [1, 2, 3]) t.equal((await svc.browser().signIn(`u${index}@example.com`)).statusCode, 200)
  await readLegacyCosts(svc.app)
  t.match(await load(6), { created: 1 }, 'three kinds are gone')
})
