import t from 'tap'
import { requestReset, strongPassword } from '../../support/accounts.ts'
import { buildTestApp } from '../../support/app.ts'
import type { Browser } from '../../support/browser.ts'
import { holdTransactions } from '../../support/hold.ts'
import { until } from '../../support/until.ts'

const password = 'correct horse'
const sameOrigin = { 'sec-fetch-site': 'same-origin' }

/** Requests with which an intruder may try to keep or damage the account. */
const intrusions: Record<string, (spa: Browser, email: string) => Promise<{ statusCode: number }>> = {
  address: (spa, email) => spa.put('/user/profile-information', { name: 'Intruder', email: `intruder-${email}` }),
  name: (spa, email) => spa.put('/user/profile-information', { name: 'Intruder', email }),
  deletion: (spa) => spa.delete('/user'),
}

t.test("rejects an intruder's requests that are in flight during a reset", async (t) => {
  const svc = await buildTestApp(t, { settings: { rate_limits: { mail: null, login: null } } })
  for (const [name, begin] of Object.entries(intrusions)) {
    const email = `${name}@example.com`
    const user = await svc.createUser({ email, verified: false })
    const token = await requestReset(svc, email)
    const spas = [svc.browser(), svc.browser(), svc.browser(), svc.browser()]
    for (const spa of spas) {
      await spa.signIn(email)
      await spa.post('/user/confirm-password', { password })
    }
    const form = { token, email, password: strongPassword, password_confirmation: strongPassword }
    // They are authenticated on arrival, and write after the reset is done.
    const held = holdTransactions(svc)
    const intruding = spas.map((spa) => begin(spa, email))
    await until(() => held.count() === spas.length)
    held.passOthers()
    t.equal((await svc.browser().post('/reset-password', form, sameOrigin)).statusCode, 200, name)
    held.release()
    for (const { statusCode } of await Promise.all(intruding)) t.equal(statusCode, 401, name)
    const row = await svc.database.prisma.user.findUnique({ where: { id: BigInt(user.id) } })
    t.equal(row?.email, email, `${name}: the account keeps its address`)
    t.ok(row?.emailVerifiedAt, name)
    t.equal((await svc.browser().signIn(email, strongPassword)).statusCode, 200, name)
  }
})
