// engine: none
import { decodeJwt } from 'jose'
import t from 'tap'
import { buildTestApp } from '../../../support/app.ts'
import { second } from '../../../support/clock.ts'
import { runCommandOn } from '../../../support/command.ts'
import { codeFlow, oauthSettings, Person } from '../../../support/oauth.ts'
import { stopTime, travel } from '../../../support/time.ts'
import { otherProcess } from './other-process.ts'

t.test('accepts a key immediately after another replica starts to sign with it', async (t) => {
  const svc = await buildTestApp(t, { settings: oauthSettings, clock: stopTime(t) })
  const ada = new Person(svc, (await svc.createUser()).email)
  const { access_token } = await codeFlow(svc, ada, 'web', { scope: 'openid' })
  const { ring, sign } = await otherProcess(t, svc)
  await runCommandOn(svc, 'keys:rotate', '--now')
  travel(svc, 31 * second)
  await ring.refresh()
  const token = await sign(decodeJwt(access_token))
  t.not(JSON.parse(atob(token.split('.')[0] ?? '')).kid, JSON.parse(atob(access_token.split('.')[0] ?? '')).kid)
  t.equal((await svc.bearer(token, 'GET', '/api/user')).statusCode, 200)
  t.equal((await svc.bearer(access_token, 'GET', '/api/user')).statusCode, 200, 'and earlier keys still work')
})

t.test('rejects tokens of a withdrawn key on every replica when the command returns', async (t) => {
  const svc = await buildTestApp(t, { settings: oauthSettings, clock: stopTime(t) })
  const other = await buildTestApp(t, { settings: oauthSettings, clock: svc.clock, database: svc.where })
  const ada = new Person(svc, (await svc.createUser()).email)
  const { access_token } = await codeFlow(svc, ada, 'web', { scope: 'openid' })
  for (const app of [svc, other]) t.equal((await app.bearer(access_token, 'GET', '/api/user')).statusCode, 200)
  await runCommandOn(svc, 'keys:rotate', '--withdraw')
  for (const app of [svc, other]) t.equal((await app.bearer(access_token, 'GET', '/api/user')).statusCode, 401)
})

t.test('rejects a token that it verified before once the key is withdrawn', async (t) => {
  const svc = await buildTestApp(t, { settings: oauthSettings, clock: stopTime(t) })
  const ada = new Person(svc, (await svc.createUser()).email)
  const { access_token } = await codeFlow(svc, ada, 'web', { scope: 'openid' })
  t.equal((await svc.bearer(access_token, 'GET', '/api/user')).statusCode, 200)
  const { ring, sign } = await otherProcess(t, svc)
  await runCommandOn(svc, 'keys:rotate', '--withdraw')
  travel(svc, 31 * second)
  await ring.refresh()
  const token = await sign(decodeJwt(access_token))
  t.equal((await svc.bearer(token, 'GET', '/api/user')).statusCode, 200, 'svc looks for an unknown key')
  t.equal((await svc.bearer(access_token, 'GET', '/api/user')).statusCode, 401)
})
