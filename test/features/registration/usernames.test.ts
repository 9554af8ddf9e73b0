import t from 'tap'
import { openAdmin, robotToken } from '../../support/admin.ts'
import { buildTestApp, type TestApp } from '../../support/app.ts'
import type { Browser } from '../../support/browser.ts'
import { runCommandOn } from '../../support/command.ts'
import { ScriptlessBrowser } from '../../support/plain.ts'

const password = 'a long enough password'

/** The body of a registration. */
const person = (email: string, more: object = {}) => ({
  ...{ name: 'Ada Lovelace', email, password, password_confirmation: password },
  ...more,
})

/** A browser that has loaded the page of the application. */
async function newBrowser(svc: TestApp): Promise<Browser> {
  const browser = svc.browser()
  await browser.get('/svc/csrf-cookie')
  return browser
}

const chosen = {
  users: { username: { enabled: true } },
  login: { identifiers: ['email', 'username'] },
  rate_limits: { register: null },
}

t.test('derives a username once, which nobody can get by choosing a name', async (t) => {
  const svc = await buildTestApp(t)
  const names: [name: string, base: string][] = [
    ['Ada Lovelace', 'ada-lovelace'],
    ['  Žofie  Ærø-Müßig Łódź ', 'zofie-aero-mussig-lodz'],
    ['山田 Taro', 'taro'],
    ['Иван Петров', 'user'],
    ['عمر', 'user'],
    ['1234', 'user'],
    ['🦊', 'user'],
    ['admin', 'admin'],
    [`${'x'.repeat(39)} yz`, 'x'.repeat(39)],
  ]
  for (const [index, [name, base]] of names.entries()) {
    const browser = await newBrowser(svc)
    const answer = await browser.post('/register', person(`a${index}@example.com`, { name, username: 'root' }))
    t.equal(answer.statusCode, 201)
    const { id, username } = (await browser.get('/api/user')).json()
    t.equal(username, `${base}-${id}`, name)
    await browser.put('/user/profile-information', { name: 'Someone Else', email: `a${index}@example.com` })
    t.equal((await browser.get('/api/user')).json().username, username, 'a new name changes nothing')
  }
})

t.test('lets users choose a username that is valid, free and not reserved', async (t) => {
  const svc = await buildTestApp(t, { settings: chosen })
  const register = async (username: unknown, email = 'ada@example.com') =>
    (await newBrowser(svc)).post('/register', person(email, { username }))
  const invalid = [
    'a@b',
    '-a',
    'a-',
    'a b',
    '12345',
    '1.2',
    'ä',
    'İ',
    'a/b',
    'a\0b',
    'x'.repeat(64),
    {},
    5,
    ['a'],
    true,
  ]
  for (const username of invalid) {
    const refused = await register(username)
    t.equal(refused.statusCode, 422, JSON.stringify(username))
    t.ok(refused.json().errors.username, JSON.stringify(username))
  }
  for (const username of ['admin', 'ROOT', ' svc ', 'user-1', 'user-99999']) {
    t.match((await register(username)).json(), { errors: { username: [/already been taken/] } }, username)
  }
  t.equal(await svc.database.prisma.user.count(), 0)
  t.equal((await register('  Ada.Lovelace_1 ')).statusCode, 201)
  const taken = await register('ada.lovelace_1', 'other@example.com')
  t.match(taken.json(), { errors: { username: ['The username has already been taken.'] } })
  t.equal((await register(null, 'null@example.com')).statusCode, 201, 'a username is optional')
  t.equal((await register('', 'empty@example.com')).statusCode, 201)
  t.match(await svc.database.prisma.user.findMany({ orderBy: { id: 'asc' } }), [
    { username: 'ada.lovelace_1' },
    { username: /^ada-lovelace-\d+$/ },
    { username: /^ada-lovelace-\d+$/ },
  ])
})

t.test('gives one of several concurrent registrations the username, and the others an error', async (t) => {
  const svc = await buildTestApp(t, { settings: chosen })
  const answers = await Promise.all(
    Array.from({ length: 5 }, async (_, at) =>
      (await newBrowser(svc)).post('/register', person(`a${at}@example.com`, { username: 'ada' })),
    ),
  )
  t.strictSame(answers.map(({ statusCode }) => statusCode).sort(), [201, 422, 422, 422, 422])
  t.equal(await svc.database.prisma.user.count(), 1)
})

t.test('never gives a username to another user, also after the account is deleted', async (t) => {
  const svc = await buildTestApp(t, { settings: chosen })
  const browser = await newBrowser(svc)
  await browser.post('/register', person('ada@example.com', { username: 'ada' }))
  await browser.post('/user/confirm-password', { password })
  t.equal((await browser.delete('/user')).statusCode, 200)
  const again = await (await newBrowser(svc)).post('/register', person('thief@example.com', { username: 'ada' }))
  t.match(again.json(), { errors: { username: [/already been taken/] } })
  t.notMatch(JSON.stringify(await svc.database.prisma.usedUsername.findMany()), /ada/, 'only a hash stays')
})

t.test('signs users in by username, with the limits of their address', async (t) => {
  const limited = { ...chosen, rate_limits: { login: '3/1m', register: null } }
  const svc = await buildTestApp(t, { settings: limited })
  await (await newBrowser(svc)).post('/register', person('ada@example.com', { username: 'ada' }))
  const browser = await newBrowser(svc)
  t.equal((await browser.post('/login', { username: ' ADA ', password })).statusCode, 200)
  t.match((await browser.get('/api/user')).json(), { email: 'ada@example.com', username: 'ada' })
  const token = await svc.app.inject({
    method: 'POST',
    url: '/svc/token',
    headers: { accept: 'application/json' },
    payload: { username: 'ada', password, device_name: 'Phone' },
  })
  t.match(token, { statusCode: 200 })
  const attempt = async (body: object) => (await newBrowser(svc)).post('/login', { password: 'wrong', ...body })
  const wrong = await attempt({ username: 'ada' })
  t.match(wrong.json(), { code: 'invalid_credentials', errors: { username: [String] } })
  for (const username of ['a\0b', 'a@b', 'x'.repeat(300)]) {
    t.match((await attempt({ username })).statusCode, 422, JSON.stringify(username))
  }
  const unknown = await attempt({ username: 'nobody-here' })
  t.strictSame({ ...unknown.json() }, { ...wrong.json() }, 'an unknown username gets the same answer')
  await attempt({ email: 'ada@example.com' })
  await attempt({ username: 'ada' })
  t.equal((await attempt({ email: 'ada@example.com' })).statusCode, 429, 'username and address share the failures')
  t.equal((await attempt({ username: 'ada' })).statusCode, 429)
  await attempt({ username: 'nobody-here' })
  await attempt({ username: 'nobody-here' })
  t.equal((await attempt({ username: 'nobody-here' })).statusCode, 429, 'as for an unknown username')
})

t.test('signs in users of an earlier version, who have no username, by their id', async (t) => {
  const svc = await buildTestApp(t, { settings: chosen })
  const { id } = await svc.createUser({ email: 'old@example.com' })
  const row = { where: { id: BigInt(id) } }
  await svc.database.prisma.user.update({ ...row, data: { username: null } })
  const browser = await newBrowser(svc)
  t.equal((await browser.post('/login', { username: `user-${id}`, password: 'correct horse' })).statusCode, 200)
  t.equal((await browser.get('/api/user')).json().username, `user-${id}`)
  await svc.database.prisma.user.update({ ...row, data: { username: 'ada' } })
  const other = await newBrowser(svc)
  t.equal((await other.post('/login', { username: `user-${id}`, password: 'correct horse' })).statusCode, 401)
})

t.test('accepts only what login.identifiers lists', async (t) => {
  const byEmail = await buildTestApp(t, { settings: { users: { username: { enabled: true } } } })
  await (await newBrowser(byEmail)).post('/register', person('ada@example.com', { username: 'ada' }))
  const refused = await (await newBrowser(byEmail)).post('/login', { username: 'ada', password })
  t.match(refused.json(), { errors: { email: ['The email field is required.'] } })
  t.match((await (await newBrowser(byEmail)).post('/login', {})).json(), {
    errors: { email: ['The email field is required.'], password: ['The password field is required.'] },
  })

  const settings = { users: { username: { enabled: true } }, login: { identifiers: ['username'] } }
  const byName = await buildTestApp(t, { settings })
  await (await newBrowser(byName)).post('/register', person('ada@example.com', { username: 'ada' }))
  const other = await (await newBrowser(byName)).post('/login', { email: 'ada@example.com', password })
  t.match(other.json(), { errors: { username: ['The username field is required.'] } })
  t.equal((await (await newBrowser(byName)).post('/login', { username: 'ada', password })).statusCode, 200)
})

t.test('changes a username only where the configuration allows it, three times in 30 days', async (t) => {
  const email = 'ada@example.com'
  const name = 'Ada'
  const fixed = await buildTestApp(t, { settings: chosen })
  const browser = await newBrowser(fixed)
  await browser.post('/register', person(email, { username: 'ada' }))
  t.equal((await browser.put('/user/profile-information', { name, email, username: 'Ada' })).statusCode, 200)
  const refused = await browser.put('/user/profile-information', { name, email, username: 'eve' })
  t.match(refused.json(), { errors: { username: ['The username cannot be changed.'] } })

  const users = { username: { enabled: true, editable: true } }
  const svc = await buildTestApp(t, { settings: { ...chosen, users } })
  await (await newBrowser(svc)).post('/register', person('bob@example.com', { username: 'bob' }))
  const ada = await newBrowser(svc)
  await ada.post('/register', person(email, { username: 'ada' }))
  const change = (username: unknown) => ada.put('/user/profile-information', { name, email, username })
  t.match((await change('bob')).json(), { errors: { username: [/already been taken/] } })
  t.match((await change('a b')).json(), { errors: { username: [/up to 63 letters/] } })
  for (const username of ['ada1', 'ada2', 'ada3']) t.equal((await change(username)).statusCode, 200)
  t.equal((await change('ada4')).statusCode, 429)
  t.equal((await change(undefined)).statusCode, 200, 'other changes stay possible')
  t.equal((await ada.get('/api/user')).json().username, 'ada3')
  t.match(
    (await (await newBrowser(svc)).post('/register', person('e@example.com', { username: 'ada1' }))).statusCode,
    422,
  )
})

t.test('lets administrators give usernames and names', async (t) => {
  const { svc, call } = await openAdmin(t)
  const body = { email: 'ada@example.com', name: 'Ada', username: 'Root', given_name: 'Ada', family_name: ' ' }
  const created = (await call('POST', '/users', body)).json()
  t.match(created, { username: 'root', given_name: 'Ada' })
  t.notHas(created, { family_name: '' })
  t.equal((await call('POST', '/users', { ...body, email: 'b@example.com' })).statusCode, 422)
  t.match((await call('PATCH', `/users/${created.id}`, { username: 'a b' })).statusCode, 422)
  const changed = await call('PATCH', `/users/${created.id}`, {
    username: 'ada',
    family_name: 'King',
    given_name: null,
  })
  t.match(changed.json(), { username: 'ada', family_name: 'King' })
  t.notHas(changed.json(), { given_name: '' })
  await runCommandOn(svc, 'user:update', `--id=${created.id}`, '--username=ada.king')
  t.match((await call('GET', `/users/${created.id}`)).json(), { username: 'ada.king', family_name: 'King' })
  await t.rejects(runCommandOn(svc, 'user:update', `--id=${created.id}`, '--username=root'), /already been taken/)
})

t.test('imports usernames, and reports those that are taken', async (t) => {
  const { svc } = await openAdmin(t)
  const lines = [
    { email: 'a@example.com', name: 'A', username: 'Ann', given_name: 'Ann' },
    { email: 'b@example.com', name: 'B', username: 'ann' },
    { email: 'c@example.com', name: 'C', username: 'boss@example' },
    { email: 'd@example.com', name: 'D' },
  ]
  const authorization = `Bearer ${await robotToken(svc)}`
  const send = () =>
    svc.app.inject({
      method: 'POST',
      url: '/admin/v1/users/import',
      headers: { 'content-type': 'application/x-ndjson', accept: 'application/json', authorization },
      payload: lines.map((line) => JSON.stringify(line)).join('\n'),
    })
  const statuses = async () => (await send()).json().lines.map(({ status }: { status: string }) => status)
  t.strictSame(await statuses(), ['created', 'invalid', 'invalid', 'created'])
  t.strictSame(await statuses(), ['exists', 'invalid', 'invalid', 'exists'], 'an import can be repeated')
  t.match(await svc.database.prisma.user.findUnique({ where: { email: 'a@example.com' } }), { username: 'ann' })
})

t.test('stores the parts of a name where the configuration allows it', async (t) => {
  const parts = { given_name: ' 太郎 ', family_name: '山田' }
  const off = await buildTestApp(t)
  const browser = await newBrowser(off)
  await browser.post('/register', person('a@example.com', parts))
  t.notHas((await browser.get('/api/user')).json(), { given_name: '' })

  const svc = await buildTestApp(t, { settings: { users: { name_parts: true } } })
  const taro = await newBrowser(svc)
  await taro.post('/register', person('a@example.com', parts))
  t.match((await taro.get('/api/user')).json(), { given_name: '太郎', family_name: '山田' })
  const change = (more: object) =>
    taro.put('/user/profile-information', { name: 'Taro', email: 'a@example.com', ...more })
  await change({})
  t.match((await taro.get('/api/user')).json(), { given_name: '太郎', family_name: '山田' }, 'missing fields stay')
  await change({ given_name: null, family_name: '' })
  t.notHas((await taro.get('/api/user')).json(), { given_name: '' })
  for (const given_name of ['x'.repeat(256), 'a\nb', {}, 5]) t.equal((await change({ given_name })).statusCode, 422)
})

t.test('asks for the configured fields on the pages', async (t) => {
  const users = { username: { enabled: true, editable: true }, name_parts: true }
  const svc = await buildTestApp(t, { settings: { ...chosen, users } })
  const page = new ScriptlessBrowser(svc)
  const shown = (await page.open('/oauth/register')).body
  for (const name of ['given_name', 'family_name', 'username']) t.match(shown, `name="${name}"`)
  const form = { name: 'Ada', email: 'ada@example.com', password, given_name: 'Ada', family_name: '', username: 'a b' }
  const refused = await page.send('/oauth/register', form)
  t.equal(refused.statusCode, 422)
  t.match(refused.body, 'value="a b"')
  t.equal((await page.send('/oauth/register', { ...form, username: 'ada' })).statusCode, 303)
  const user = () => svc.database.prisma.user.findFirstOrThrow()
  t.match(await user(), { username: 'ada', attributes: '{"given_name":"Ada"}' })
  t.match((await page.open('/account/profile')).body, /name="username" value="ada"/)
  t.equal((await page.send('/account/profile', { name: 'Ada', given_name: '', username: 'ada2' })).statusCode, 303)
  t.match(await user(), { username: 'ada2', attributes: '{}' })

  const other = new ScriptlessBrowser(svc)
  t.match((await other.open('/oauth/login')).body, 'Email address or username')
  t.equal((await other.send('/oauth/login', { email: 'nobody', password })).statusCode, 401)
  t.equal((await other.send('/oauth/login', { email: 'no body', password })).statusCode, 422)
  t.equal((await other.send('/oauth/login', { email: 'ADA2', password })).statusCode, 303)
})
