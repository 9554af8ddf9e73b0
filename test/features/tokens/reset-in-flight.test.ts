import t from 'tap'
import { requestReset, strongPassword } from '../../support/accounts.ts'
import { buildTestApp } from '../../support/app.ts'
import { holdTransactions } from '../../support/hold.ts'
import { until } from '../../support/until.ts'

const password = 'correct horse'
const sameOrigin = { 'sec-fetch-site': 'same-origin' }

t.test('revokes the token of a device that signs in during a reset', async (t) => {
  const svc = await buildTestApp(t, { settings: { rate_limits: { mail: null, login: null } } })
  for (const order of ['the reset goes first', 'all at once', 'all at once', 'all at once']) {
    // Created by a client that knows the password but does not own the address.
    const user = await svc.createUser({ verified: false })
    const { email } = user
    const token = await requestReset(svc, email)
    const intruder = svc.browser()
    await intruder.signIn(email)
    const body = { email, password, device_name: 'x' }
    const form = { token, email, password: strongPassword, password_confirmation: strongPassword }
    const reset = () => svc.browser().post('/reset-password', form, sameOrigin)
    const intrude = () => [
      svc.bearer(null, 'POST', '/svc/token', body),
      intruder.post('/api/tokens/create', { token_name: 'x' }),
      svc.bearer(null, 'POST', '/svc/token', body),
    ]
    const held = order === 'all at once' ? null : holdTransactions(svc)
    const attempts = intrude()
    if (held) await until(() => held.count() === attempts.length)
    held?.passOthers()
    t.equal((await reset()).statusCode, 200, order)
    held?.release()
    for (const answer of await Promise.all(attempts)) {
      t.ok((held ? [401, 422] : [200, 401, 422]).includes(answer.statusCode), `${order}: ${answer.body}`)
      const left = answer.statusCode === 200 ? answer.json().token : '1|none'
      t.equal((await svc.bearer(left, 'GET', '/api/user')).statusCode, 401)
    }
    t.equal(await svc.database.prisma.personalAccessToken.count({ where: { tokenableId: BigInt(user.id) } }), 0)
    t.equal((await intruder.get('/api/user')).statusCode, 401)
  }
})
