// engine: none
import t from 'tap'
import { hour, minute } from '../../../support/clock.ts'
import { hiddenFields, post, request } from '../../../support/oauth.ts'
import { credentials } from '../../../support/plain.ts'
import { build, cookiesOf, newPerson, storedRecords } from './anonymous-browsers.ts'

t.test('keeps the session of the device page in its cookie for an hour', async (t) => {
  const svc = await build(t)
  const visitor = newPerson(svc)
  const page = await visitor.go('/oauth/device')
  const [cookie] = await cookiesOf(visitor, 'svc_oauth_session')
  t.ok((cookie?.value.length ?? 0) > 100)
  const begin = async () => (await post(svc, '/oauth/device/code', 'tv', {})).json().user_code
  const send = async (fields: Record<string, string>) =>
    (await visitor.plain.post('/oauth/device', { user_code: await begin(), ...fields })).body
  const secret = hiddenFields(page.answer.body)
  t.match(await send(secret), 'name="confirm"', 'the next page')
  t.notMatch(await send({ xsrf: 'x'.repeat(48) }), 'name="confirm"', 'another secret')
  svc.clock.advance(hour + minute)
  t.notMatch(await send(secret), 'name="confirm"', 'too late')
  t.same(await storedRecords(svc), { DeviceCode: 3 })
})

t.test('accepts the correct user code after rejected ones', async (t) => {
  const svc = await build(t)
  const visitor = newPerson(svc)
  const { user_code } = (await post(svc, '/oauth/device/code', 'tv', {})).json()
  const first = await visitor.go('/oauth/device')
  const wrong = await visitor.press(first, { user_code: 'WRONGCODE' })
  t.equal(wrong.answer.statusCode, 400)
  t.match(wrong.answer.body, 'role="alert"')
  const empty = await visitor.press(wrong, { user_code: '' })
  const forged = await visitor.plain.post('/oauth/device', { ...hiddenFields(first.answer.body), user_code })
  t.equal(forged.statusCode, 400, 'the secret of an earlier form')
  const confirm = await visitor.press({ ...empty, answer: forged }, { user_code })
  t.equal(confirm.answer.statusCode, 200)
  t.match(confirm.answer.body, 'name="confirm"')
  t.same(await storedRecords(svc), { DeviceCode: 1 })
})

t.test('connects a device through a browser that signs in during the flow', async (t) => {
  const svc = await build(t)
  const ada = newPerson(svc, (await svc.createUser()).email)
  const { device_code, user_code } = (await post(svc, '/oauth/device/code', 'tv', {})).json()
  const confirm = await ada.press(await ada.go('/oauth/device'), { user_code })
  const question = await ada.press(confirm, { confirm: 'yes' })
  t.equal(question.page, 'Sign in')
  t.same(await storedRecords(svc), { DeviceCode: 1 })
  t.equal((await ada.decide(question)).page, 'Connect a device')
  const grant_type = 'urn:ietf:params:oauth:grant-type:device_code'
  t.equal((await post(svc, '/oauth/token', 'tv', { grant_type, device_code })).statusCode, 200)
})

t.test('ends the interactions of a user with the account', async (t) => {
  const svc = await build(t)
  const user = await svc.createUser()
  const ada = newPerson(svc, user.email)
  const asked = await ada.press(await ada.authorize(request('web', { scope: 'openid' })), credentials(user.email))
  t.equal(asked.page, 'Authorize')
  const where = { kind: 'Interaction', userId: BigInt(user.id) }
  t.ok((await svc.database.prisma.oauthRecord.count({ where })) > 0)
  await svc.database.prisma.user.delete({ where: { id: BigInt(user.id) } })
  t.equal(await svc.database.prisma.oauthRecord.count({ where: { kind: 'Interaction' } }), 0)
})
