import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { strong } from '../../support/accounts.ts'
import { buildTestApp, type TestApp } from '../../support/app.ts'
import type { Browser } from '../../support/browser.ts'

t.setTimeout(110_000)

const password = 'correct horse'
const sameOrigin = { 'sec-fetch-site': 'same-origin' }

/** The token of the reset mail that was just asked for. */
async function resetToken(svc: TestApp, email: string): Promise<string> {
  await svc.browser().post('/forgot-password', { email }, sameOrigin)
  const text = (await svc.mailbox.to(email)).at(-1)?.text ?? ''
  return /reset-password\/([0-9a-f]{64})/.exec(text)?.[1] ?? ''
}

/** What an intruder may have under way to keep the account, or to spoil it. */
const intrusions: Record<string, (spa: Browser, email: string) => Promise<{ statusCode: number }>> = {
  address: (spa, email) => spa.put('/user/profile-information', { name: 'Intruder', email: `intruder-${email}` }),
  name: (spa, email) => spa.put('/user/profile-information', { name: 'Intruder', email }),
  deletion: (spa) => spa.delete('/user'),
}

t.test('what an intruder has under way while the account is claimed by a reset does not come after it', async (t) => {
  const svc = await buildTestApp(t, { settings: { rate_limits: { mail: null, login: null } } })
  let round = 0
  for (const [name, begin] of Object.entries(intrusions)) {
    for (let i = 0; i < 4; i++) {
      const email = `victim${round++}@example.com`
      const user = await svc.createUser({ email, verified: false })
      const token = await resetToken(svc, email)
      const spas = [svc.browser(), svc.browser(), svc.browser(), svc.browser()]
      for (const spa of spas) {
        await spa.signIn(email)
        await spa.post('/user/confirm-password', { password })
      }
      const form = { token, email, password: strong, password_confirmation: strong }
      const reset = svc.browser().post('/reset-password', form, sameOrigin)
      // The reset hashes a password first; these come to their writes around its own.
      await sleep(14 + 6 * i)
      const answers = await Promise.all(
        spas.map(async (spa, j) => {
          await sleep(3 * j)
          return begin(spa, email)
        }),
      )
      for (const { statusCode } of answers) t.ok([200, 401, 422].includes(statusCode), `${name} ${statusCode}`)
      if ((await reset).statusCode !== 200) continue
      const row = await svc.database.prisma.user.findUnique({ where: { id: BigInt(user.id) } })
      t.equal(row?.email, email, `${name}: the claimed account is its owner's`)
      t.ok(row?.emailVerifiedAt, name)
      t.equal((await svc.browser().signIn(email, strong)).statusCode, 200, name)
    }
  }
})
