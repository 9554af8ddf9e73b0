import t from 'tap'
import { passwordsOf } from '../../../src/auth/sign-in/limit-names.ts'
import { sha256Hex } from '../../../src/platform/crypto/hash.ts'
import { buildTestApp } from '../../support/app.ts'
import { oauthSettings, passwordClient, post } from '../../support/oauth.ts'
import { stopTime } from '../../support/time.ts'
import { enableTwoFactor } from '../../support/totp.ts'
import { hooked, startService } from './policy.ts'

t.test('counts a right password as no failure while the service decides, or the user looks for a code', async (t) => {
  const service = await startService(t)
  const rate_limits = { login: '5/1m', mail: null }
  const settings = {
    rate_limits,
    ...hooked(service, { before_sign_in: {} }),
    ...oauthSettings,
    clients: [passwordClient],
  }
  const svc = await buildTestApp(t, { settings, clock: stopTime(t) })
  const { email } = await svc.createUser()
  const counted = () => svc.database.prisma.loginLimit.count({ where: { key: sha256Hex(passwordsOf(email)) } })
  const during: number[] = []
  service.answer = () => ({ body: '{}', after: counted().then((count) => during.push(count)) })
  const body = { email, password: 'correct horse' }
  const grant = { grant_type: 'password', username: email, password: 'correct horse', scope: 'orders:read' }
  for (const send of [
    () => svc.browser().signIn(email),
    () => svc.bearer(null, 'POST', '/svc/token', { ...body, device_name: 'phone' }),
    () => post(svc, '/oauth/token', passwordClient.client_id, grant),
  ])
    t.equal((await send()).statusCode, 200)
  t.same(during, [0, 0, 0])

  const enrolled = await enableTwoFactor(svc)
  const spa = svc.browser()
  t.equal((await spa.signIn(enrolled.email)).json().two_factor, true)
  t.equal(await svc.database.prisma.loginLimit.count({ where: { key: sha256Hex(passwordsOf(enrolled.email)) } }), 0)
})
