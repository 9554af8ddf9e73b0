// engine: none
import t from 'tap'
import { buildTestApp } from '../../support/app.ts'
import { minute } from '../../support/clock.ts'
import { challenged, enableTwoFactor } from '../../support/totp.ts'
import { routes } from './paths.ts'

t.test('stores values encrypted, and reads them after a rotation of the secret', async (t) => {
  const [old, next] = ['the-old-secret-of-this-test-is-32-bytes', 'the-new-secret-of-this-test-is-32-bytes']
  const svc = await buildTestApp(t, { env: { SVC_SECRET: old } })
  const ada = await enableTwoFactor(svc)
  const bob = await enableTwoFactor(svc)
  const rotated = await buildTestApp(t, {
    database: svc.where,
    clock: svc.clock,
    env: { SVC_SECRET: `${next},${old}` },
  })
  const visitor = await challenged(rotated, ada.email)
  t.equal((await visitor.post('/two-factor-challenge', { code: ada.code() })).statusCode, 204)
  const second = await challenged(rotated, ada.email)
  t.equal((await second.post('/two-factor-challenge', { recovery_code: ada.recoveryCodes[3] })).statusCode, 204)

  const row = await svc.database.prisma.user.findUniqueOrThrow({ where: { id: BigInt(ada.user.id) } })
  await svc.database.prisma.user.update({
    where: { id: BigInt(bob.user.id) },
    data: { twoFactorSecret: row.twoFactorSecret, twoFactorRecoveryCodes: row.twoFactorRecoveryCodes },
  })
  svc.clock.advance(minute)
  const thief = await challenged(svc, bob.email)
  const answer = await thief.post('/two-factor-challenge', { code: ada.code() })
  t.equal(answer.statusCode, 500, 'a row moved to another user cannot be decrypted')
  t.equal(answer.json().code, 'server_error')
})

t.test('ignores second factors when they are off', async (t) => {
  const svc = await buildTestApp(t)
  const { email } = await enableTwoFactor(svc)
  const off = await buildTestApp(t, {
    database: svc.where,
    clock: svc.clock,
    settings: { two_factor: { enabled: false } },
  })
  const spa = off.browser()
  t.equal((await spa.signIn(email)).json().two_factor, false)
  for (const [method, path] of routes) {
    t.equal((await spa.send(method, path, method === 'GET' ? undefined : {})).statusCode, 404, `${method} ${path}`)
  }
  t.equal((await spa.post('/two-factor-challenge', { code: '123456' })).statusCode, 404)
})
