import { decodeJwt } from 'jose'
import t from 'tap'
import { keyCommands } from '../../../../src/features/oauth/keys/commands.ts'
import { buildTestApp, type TestApp } from '../../../support/app.ts'
import { second } from '../../../support/clock.ts'
import { codeFlow, oauthSettings, Person } from '../../../support/oauth.ts'
import { stopTime, travel } from '../../../support/time.ts'
import { otherProcess } from './other-process.ts'

/** Runs `svc keys:rotate` on the app's database. */
async function rotateKeys({ database, config, clock }: TestApp, options: Record<string, true>): Promise<void> {
  const rotate = keyCommands.find(({ name }) => name === 'svc:keys:rotate')
  await rotate?.run({ config, database, now: clock.now(), options, print: () => {} } as never)
}

t.test('accepts a key immediately after another replica starts to sign with it', async (t) => {
  const svc = await buildTestApp(t, { settings: oauthSettings, clock: stopTime(t) })
  const ada = new Person(svc, (await svc.createUser()).email)
  const { access_token } = await codeFlow(svc, ada, 'web', { scope: 'openid' })
  const { ring, sign } = await otherProcess(t, svc)
  await rotateKeys(svc, { now: true })
  travel(svc, 31 * second)
  await ring.refresh()
  const token = await sign(decodeJwt(access_token))
  t.not(JSON.parse(atob(token.split('.')[0] ?? '')).kid, JSON.parse(atob(access_token.split('.')[0] ?? '')).kid)
  t.equal((await svc.bearer(token, 'GET', '/api/user')).statusCode, 200)
  t.equal((await svc.bearer(access_token, 'GET', '/api/user')).statusCode, 200, 'and earlier keys still work')
})

t.test('rejects a token that it verified before once the key is withdrawn', async (t) => {
  const svc = await buildTestApp(t, { settings: oauthSettings, clock: stopTime(t) })
  const ada = new Person(svc, (await svc.createUser()).email)
  const { access_token } = await codeFlow(svc, ada, 'web', { scope: 'openid' })
  t.equal((await svc.bearer(access_token, 'GET', '/api/user')).statusCode, 200)
  const { ring, sign } = await otherProcess(t, svc)
  await rotateKeys(svc, { withdraw: true })
  travel(svc, 31 * second)
  await ring.refresh()
  const token = await sign(decodeJwt(access_token))
  t.equal((await svc.bearer(token, 'GET', '/api/user')).statusCode, 200, 'svc looks for an unknown key')
  t.equal((await svc.bearer(access_token, 'GET', '/api/user')).statusCode, 401)
})
