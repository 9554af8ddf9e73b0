// engine: none
import t from 'tap'
import { hour, minute } from '../../../support/clock.ts'
import { introspect, refresh, response } from '../../../support/oauth.ts'
import { travel } from '../../../support/time.ts'
import { build, essential, ScriptedPerson, stepUp, tokensAt } from './people.ts'

const seconds = (milliseconds: number): number => Math.floor(milliseconds / 1000)

t.test('asks for the code of the authenticator app when a client wants two factors', async (t) => {
  const svc = await build(t)
  const began = seconds(svc.clock.now())
  const ada = await (await ScriptedPerson.signedIn(svc)).addApp()
  t.match(await ada.claims(), { acr: '1', amr: ['pwd'] }, 'the session that added the app has used one factor')
  travel(svc, 10 * minute)

  const page = await ada.ask({ acr_values: '2' })
  t.equal(page.page, stepUp)
  const wrong = await ada.press(page, { code: '000000' })
  t.equal(wrong.answer.statusCode, 422)
  t.match(wrong.answer.body, 'The provided two factor authentication code was invalid.')
  const { id, access, body } = await tokensAt(ada, await ada.press(wrong, { code: ada.code() }))
  t.match(id, { acr: '2', amr: ['pwd', 'otp', 'mfa'] })
  t.match(access, { acr: '2', auth_time: began }, 'the time of the sign-in stays')
  t.match(await introspect(svc, 'watcher', body.access_token), { acr: '2', auth_time: began })
  t.equal(await svc.database.prisma.event.count({ where: { type: 'stepped_up' } }), 1)

  t.match(await ada.claims({ acr_values: '2', prompt: 'none' }), { acr: '2' }, 'the session keeps it')
  t.match(await ada.claims(essential('2')), { acr: '2' })
  travel(svc, hour)
  const renewed = (await refresh(svc, 'web', body.refresh_token)).json()
  t.match(await introspect(svc, 'watcher', renewed.access_token), { acr: '2', auth_time: began }, 'so do refreshes')
})

t.test('accepts a recovery code for a step-up', async (t) => {
  const svc = await build(t)
  const ada = await (await ScriptedPerson.signedIn(svc)).addApp()
  const [recovery_code = ''] = (await ada.plain.browser.get('/user/two-factor-recovery-codes')).json()
  const page = await ada.ask({ acr_values: '2' })
  const wrong = await ada.press(page, { recovery_code: 'aaaaaaaaaa-bbbbbbbbbb' })
  t.equal(wrong.answer.statusCode, 422)
  t.match((await tokensAt(ada, await ada.press(wrong, { recovery_code }))).id, { acr: '2' })
})

t.test('limits wrong codes at a step-up together with those at all other entry points', async (t) => {
  const svc = await build(t)
  const ada = await (await ScriptedPerson.signedIn(svc)).addApp()
  const page = await ada.ask({ acr_values: '2' })
  for (let count = 0; count < 5; count++) {
    t.equal((await ada.press(page, { code: '000000' })).answer.statusCode, 422)
  }
  const limited = await ada.press(page, { code: ada.code() })
  t.equal(limited.answer.statusCode, 429)
  t.ok(limited.answer.headers['retry-after'])
  t.equal(limited.page, stepUp)
})

t.test('asks for a passkey when a client wants phishing-resistant authentication', async (t) => {
  const svc = await build(t)
  const ada = await ScriptedPerson.signedIn(svc)
  const authenticator = await ada.addPasskey()
  const page = await ada.ask({ acr_values: 'phr' })
  t.equal(page.page, stepUp)
  t.match(page.answer.body, 'id="passkey-confirm"')
  t.notMatch(page.answer.body, 'name="code"', 'a code does not reach it')
  await ada.confirm(authenticator)
  const { id, access } = await tokensAt(ada, await ada.go(page.path))
  t.match(id, { acr: 'phr', amr: ['pwd', 'pop', 'user', 'mfa'] })
  t.match(access, { acr: 'phr' })
  t.match(await ada.claims({ acr_values: '2 phr' }), { acr: '2' }, 'the client gets the first of its values')
  t.match(await ada.claims({ acr_values: 'phr 2' }), { acr: 'phr' })
  t.match(await ada.claims({ acr_values: '1' }), { acr: '1' })
  t.match(await ada.claims(), { acr: 'phr' }, 'and the highest if it names none')
})

t.test('rejects an essential acr immediately for a user without a second factor', async (t) => {
  const svc = await build(t)
  const ada = await ScriptedPerson.signedIn(svc)
  for (const more of [{}, { prompt: 'none' }]) {
    const stop = await ada.ask({ ...essential('2', 'phr'), ...more })
    t.match(response(stop), { error: 'unmet_authentication_requirements', state: 'the-state' })
  }
  t.match(await ada.claims({ acr_values: '2 phr' }), { acr: '1' }, 'acr_values alone are voluntary')
  t.match(await ada.claims({ acr_values: '2', prompt: 'none' }), { acr: '1' })
  const voluntary = { claims: JSON.stringify({ id_token: { acr: { values: ['phr'] } } }) }
  t.match(await ada.claims(voluntary), { acr: '1' })
  await ada.addApp()
  t.match(response(await ada.ask(essential('phr'))), { error: 'unmet_authentication_requirements' })
  t.equal((await ada.ask(essential('2', 'phr'))).page, stepUp, 'one of several values is enough')
})

t.test('answers prompt=none without asking anything', async (t) => {
  const svc = await build(t)
  const ada = await (await ScriptedPerson.signedIn(svc)).addApp()
  t.match(response(await ada.ask({ ...essential('2'), prompt: 'none' })), { error: 'login_required' })
  await ada.claims()
  t.match(await ada.claims({ acr_values: '2', prompt: 'none' }), { acr: '1' }, 'a voluntary value is not an error')
  const guest = ada.elsewhere()
  t.match(response(await guest.ask({ ...essential('2'), prompt: 'none' })), { error: 'login_required' })
})

t.test('signs a visitor in first, with both factors', async (t) => {
  const svc = await build(t)
  const ada = (await (await ScriptedPerson.signedIn(svc)).addApp()).elsewhere()
  const challenge = await ada.ask(essential('2'))
  t.equal(challenge.page, 'Two-factor authentication')
  const done = await ada.decide(await ada.press(challenge, { code: ada.code() }))
  t.match((await tokensAt(ada, done)).id, { acr: '2', amr: ['pwd', 'otp', 'mfa'] })
})

t.test('returns the requested class to a client that asks for less', async (t) => {
  const svc = await build(t)
  const ada = await (await ScriptedPerson.signedIn(svc)).addApp()
  await ada.claims()
  for (const [acr_values, acr] of [
    ['0', '0'],
    ['1', '1'],
    ['1 0', '1'],
    ['2 1', '1'],
    ['unknown 1', '1'],
  ] as const) {
    t.match(await ada.claims({ acr_values, prompt: 'none' }), { acr }, acr_values)
  }
})

t.test('honours max_age and acr_values in one request', async (t) => {
  const svc = await build(t)
  const ada = await (await ScriptedPerson.signedIn(svc)).addApp()
  travel(svc, hour)
  const challenge = await ada.ask({ max_age: '60', acr_values: '2' })
  t.equal(
    challenge.page,
    'Two-factor authentication',
    'after a new sign-in: a step-up in the old session is not recent',
  )
  const done = await ada.decide(await ada.press(challenge, { code: ada.code() }))
  t.match((await tokensAt(ada, done)).access, { acr: '2', auth_time: seconds(svc.clock.now()) })
})
