// engine: none
import t from 'tap'
import { minute } from '../../../support/clock.ts'
import { post, request, response } from '../../../support/oauth.ts'
import { credentials, nextAddress } from '../../../support/plain.ts'
import { travel } from '../../../support/time.ts'
import { build, essential, ScriptedPerson, stepUp, tokensAt } from './people.ts'

t.test('asks again when an authorization is resumed without the second factor', async (t) => {
  const svc = await build(t)
  const ada = await (await ScriptedPerson.signedIn(svc)).addApp()
  for (const more of [essential('2'), { acr_values: '2' }]) {
    const page = await ada.ask(more)
    const uid = page.path.split('/').at(-1)
    const resumed = await ada.go(`/oauth/authorize/${uid}`)
    t.equal(resumed.page, stepUp)
    t.not(resumed.path, page.path)
    const approved = await ada.plain.post(resumed.path, { decision: 'approve', _token: await xsrf(ada) })
    t.equal(nextAddress(approved), resumed.path, 'consent is not a second factor')
  }
})

t.test('rejects a replayed interaction', async (t) => {
  const svc = await build(t)
  const ada = await (await ScriptedPerson.signedIn(svc)).addApp()
  const page = await ada.ask(essential('2'))
  const done = await ada.decide(await ada.press(page, { code: ada.code() }))
  t.ok(response(done).code)
  travel(svc, minute)
  t.equal((await ada.press(page, { code: ada.code() })).answer.statusCode, 404)
  t.equal((await ada.go(page.path)).answer.statusCode, 404)
})

t.test('does not pass the second factor of a session on to a remembered browser', async (t) => {
  const svc = await build(t, { session: { lifetime: '10m' } })
  const ada = await (await ScriptedPerson.signedIn(svc, { remember: '1' })).addApp()
  const page = await ada.ask(essential('2'))
  const consent = await ada.go((await ada.press(page, { code: ada.code() })).path)
  t.equal(consent.page, 'Authorize')
  travel(svc, 11 * minute)
  const fresh = await ada.go(consent.path)
  const after = fresh.page === 'Authorize' ? await ada.press(fresh, { decision: 'approve' }) : fresh
  t.equal(after.page, 'Sign in')
  t.equal(after.out, null)
})

t.test('does not count the second factor of another user in a second tab', async (t) => {
  const svc = await build(t)
  const ada = await (await ScriptedPerson.signedIn(svc)).addApp()
  const bob = await (await ScriptedPerson.signedIn(svc)).addApp()
  const page = await ada.ask(essential('2'))
  // Bob signs in in Ada's browser, and adds a new app there later: his session has used both factors.
  await ada.plain.send('/oauth/login?prompt=login', credentials(bob.email))
  await ada.plain.send('/oauth/login', { code: bob.code() })
  const other = await ada.go(page.path)
  const { id } = await tokensAt(ada, other)
  t.match(id, { sub: String(bob.user.id), acr: '2' })

  const again = await (await ScriptedPerson.signedIn(svc)).addApp()
  const asked = await again.ask(essential('2'))
  const wrong = await again.press(asked, { code: ada.code() })
  t.equal(wrong.answer.statusCode, 422, "another user's code")
})

t.test('rejects a code from another browser or without the CSRF token', async (t) => {
  const svc = await build(t)
  const ada = await (await ScriptedPerson.signedIn(svc)).addApp()
  const page = await ada.ask(essential('2'))
  const mallory = await ScriptedPerson.signedIn(svc)
  const forged = await mallory.plain.post(page.path, { code: ada.code(), _token: await xsrf(mallory) })
  t.equal(forged.statusCode, 404)
  const headers = { 'content-type': 'application/x-www-form-urlencoded', 'x-xsrf-token': undefined }
  const foreign = await ada.plain.browser.send('POST', page.path, Buffer.from(`code=${ada.code()}`), headers)
  t.equal(foreign.statusCode, 419, 'nor can a form without the token')
  t.match(response(await ada.ask({ ...essential('2'), prompt: 'none' })), { error: 'login_required' })
})

t.test('does not step up a session that was ended meanwhile', async (t) => {
  const svc = await build(t)
  const ada = await (await ScriptedPerson.signedIn(svc)).addApp()
  const page = await ada.ask(essential('2'))
  await svc.database.prisma.session.deleteMany()
  t.equal((await ada.press(page, { code: ada.code() })).page, 'Sign in')
})

t.test('enforces an essential acr although acr_values ask for less', async (t) => {
  const svc = await build(t)
  const ada = await ScriptedPerson.signedIn(svc)
  const stop = await ada.ask({ ...essential('2'), acr_values: '1' })
  t.match(response(stop), { error: 'unmet_authentication_requirements' })
})

t.test('ignores unknown, repeated and oversized acr_values', async (t) => {
  const svc = await build(t)
  const ada = await ScriptedPerson.signedIn(svc)
  const odd = [
    'x'.repeat(10_000),
    '2 '.repeat(4_000),
    '2 2 2',
    'urn:mace:incommon:iap:silver',
    ' ',
    '__proto__ constructor',
    '"; DROP',
  ]
  for (const acr_values of odd) {
    t.match(await ada.claims({ acr_values }), { acr: '1' }, acr_values.slice(0, 40))
  }
  const stored = await svc.database.prisma.oauthRecord.findMany()
  t.notOk(
    stored.some(({ payload }) => payload.length > 4_000),
    'ignored values are not stored',
  )
  const twice = new URLSearchParams(request('web', { scope: 'openid', acr_values: '1' }))
  twice.append('acr_values', '2')
  t.match(response(await ada.authorize(String(twice))), { error: 'invalid_request' })
  const parameters = { ...request('web', { scope: 'openid', acr_values: `${'y '.repeat(4_000)}1` }) }
  const pushed = await post(svc, '/oauth/par', 'web', parameters)
  t.equal(pushed.statusCode, 201, pushed.body)
  const { request_uri } = pushed.json()
  t.match((await tokensAt(ada, await ada.authorize({ client_id: 'web', request_uri }))).id, { acr: '1' })
  const device = await post(svc, '/oauth/device/code', 'tv', { acr_values: 'z'.repeat(10_000) })
  t.equal(device.statusCode, 200)
})

t.test('rejects an acr claim that is malformed', async (t) => {
  const svc = await build(t)
  const ada = await ScriptedPerson.signedIn(svc)
  await ada.claims()
  const bad = [
    { value: 2 },
    { values: '2' },
    { values: [2] },
    { values: { 0: '2' } },
    { value: ['2'] },
    { value: null },
  ]
  for (const acr of bad) {
    for (const more of [{}, { essential: true }, { essential: true, acr_values: '1' }]) {
      const claims = JSON.stringify({ id_token: { acr: { ...acr, ...more } } })
      t.match(response(await ada.ask({ claims })), { error: 'invalid_request' }, claims)
    }
  }
  for (const acr of [null, 'x', [], 7, true, {}, { essential: true }, { essential: 'true', value: '2' }]) {
    const claims = JSON.stringify({ id_token: { acr } })
    const answer = response(await ada.ask({ claims }))
    t.ok(answer.code ?? answer.error === 'invalid_request', claims)
  }
  const unknown = response(await ada.ask(essential('gold', 'silver')))
  t.match(unknown, { error: 'unmet_authentication_requirements' }, 'unknown essential values')
})

const xsrf = async (person: ScriptedPerson): Promise<string> =>
  /name="_token" value="([^"]+)"/.exec((await person.plain.open('/oauth/login?prompt=login')).body)?.[1] ?? ''
