import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { strong } from '../../support/accounts.ts'
import { buildTestApp, type TestApp } from '../../support/app.ts'

t.setTimeout(110_000)

const password = 'correct horse'
const sameOrigin = { 'sec-fetch-site': 'same-origin' }

/** The token of the reset mail that was just asked for. */
async function resetToken(svc: TestApp, email: string): Promise<string> {
  await svc.browser().post('/forgot-password', { email }, sameOrigin)
  const text = (await svc.mailbox.to(email)).at(-1)?.text ?? ''
  return /reset-password\/([0-9a-f]{64})/.exec(text)?.[1] ?? ''
}

t.test('a device that signs in while the account is claimed by a reset is left with nothing', async (t) => {
  const svc = await buildTestApp(t, { settings: { rate_limits: { mail: null, login: null } } })
  for (let round = 0; round < 8; round++) {
    // Made by somebody who does not have the address, and knows the password.
    const email = `victim${round}@example.com`
    const user = await svc.createUser({ email, verified: false })
    const token = await resetToken(svc, email)
    const intruder = svc.browser()
    await intruder.signIn(email)
    const reset = svc
      .browser()
      .post('/reset-password', { token, email, password: strong, password_confirmation: strong }, sameOrigin)
    const body = { email, password, device_name: 'x' }
    // The reset hashes a password, and a login checks one: they come to their writes at about the same time.
    const attempts = [0, 1, 2].map(async (i) => {
      await sleep(i * 4 + round)
      return i === 1
        ? intruder.post('/api/tokens/create', { token_name: 'x' })
        : svc.bearer(null, 'POST', '/svc/token', body)
    })
    const answers = await Promise.all(attempts)
    t.equal((await reset).statusCode, 200)
    for (const answer of answers) {
      t.ok([200, 401, 422].includes(answer.statusCode), answer.body)
      if (answer.statusCode !== 200) continue
      t.equal((await svc.bearer(answer.json().token, 'GET', '/api/user')).statusCode, 401)
    }
    t.equal(await svc.database.prisma.personalAccessToken.count({ where: { tokenableId: BigInt(user.id) } }), 0)
    t.equal((await intruder.get('/api/user')).statusCode, 401)
  }
})
