import t from 'tap'
import { adminCall, openAdmin, robotToken } from '../../../support/admin.ts'
import { confirming } from '../../../support/app.ts'

t.test('protects changes', async (t) => {
  const { svc, admin, call, signIn, events } = await openAdmin(t, confirming)
  const ada = await svc.createUser({ email: 'ada@example.com' })
  const create = (body: object, headers = {}) => call('POST', '/users', body, headers)

  await t.test('requires a CSRF token and a recent confirmation of sessions', async (t) => {
    const browser = await signIn()
    const without = { 'x-xsrf-token': undefined }
    const path = `/admin/v1/users/${ada.id}`
    t.equal((await browser.send('PATCH', path, { role: 'x' }, without)).statusCode, 419)
    t.equal((await browser.send('PATCH', path, { role: 'x' })).statusCode, 423)
    await browser.post('/user/confirm-password', { password: 'correct horse' })
    t.equal((await browser.send('PATCH', path, { role: 'x' }, without)).statusCode, 419)
    t.equal((await browser.send('PATCH', path, { role: 'x' })).statusCode, 200)
    const override = { 'x-http-method-override': 'DELETE' }
    t.equal((await browser.post(path, {}, { ...override, ...without })).statusCode, 419)
    await svc.database.prisma.user.update({ where: { id: BigInt(admin.id) }, data: { role: 'user' } })
    t.equal((await browser.send('PATCH', path, { role: 'y' })).statusCode, 403, 'the role was removed')
    await svc.database.prisma.user.update({ where: { id: BigInt(admin.id) }, data: { role: 'admin' } })
  })

  await t.test('changes only the declared fields', async (t) => {
    const more = {
      id: 1,
      email: 'x@example.com',
      password: 'x',
      two_factor_enabled: true,
      created_at: 'x',
      email_verified_at: null,
    }
    t.equal((await call('PATCH', `/users/${ada.id}`, more)).statusCode, 422)
    const answer = (await call('PATCH', `/users/${ada.id}`, { ...more, role: 'editor' })).json()
    t.match(answer, { id: ada.id, email: 'ada@example.com', role: 'editor', two_factor_enabled: false })
    t.equal((await svc.browser().signIn(ada.email)).statusCode, 200)
    const created = await create({
      name: 'Eve',
      email: 'eve@example.com',
      id: 99,
      disabled: true,
      two_factor_enabled: true,
    })
    t.match(created.json(), { disabled: false, role: 'user', email_verified_at: null })
    t.not(created.json().id, 99)
    t.equal((await svc.browser().signIn('eve@example.com', 'null')).statusCode, 401, 'no password signs in')
  })

  await t.test('explains invalid input', async (t) => {
    const cases: [string, object, string][] = [
      ['/users', {}, 'email'],
      ['/users', { email: 'x', name: 'x' }, 'email'],
      ['/users', { email: 'x@example.com', name: 'a\tb' }, 'name'],
      ['/users', { email: 'x@example.com', name: 'x', password: '' }, 'password'],
      ['/users', { email: 'x@example.com', name: 'x', password: 'short' }, 'password'],
      ['/users', { email: 'x@example.com', name: 'x', password: 'password123' }, 'password'],
      [`/users/${ada.id}/password`, { password: 'short' }, 'password'],
      [`/users/${ada.id}/password`, { password: 'x'.repeat(4_096) }, 'password'],
      ['/users', { email: 'x@example.com', name: 'x', verified: 'yes' }, 'verified'],
      ['/users', { email: 'x@example.com', name: 'x', reason: 'x'.repeat(501) }, 'reason'],
      ['/users', { email: 'ADA@example.com', name: 'x' }, 'email'],
      ['/invitations', { email: 7 }, 'email'],
      [`/users/${ada.id}/password`, {}, 'password'],
      [`/users/${ada.id}/reset-link`, { mail: 'x' }, 'mail'],
      ['/keys/rotate', { algorithm: 'HS256' }, 'algorithm'],
      ['/keys/rotate', { when: 'never' }, 'when'],
    ]
    for (const [path, body, field] of cases) {
      const answer = await call('POST', path, body)
      t.equal(answer.statusCode, 422, `${path} ${JSON.stringify(body)}`)
      t.ok(field in answer.json().errors, field)
    }
    for (const body of [
      {},
      { role: '' },
      { verified: false },
      { disabled: 'x' },
      { reset_two_factor: false },
      { reason: 'x' },
    ]) {
      t.equal((await call('PATCH', `/users/${ada.id}`, body)).statusCode, 422, JSON.stringify(body))
    }
    for (const [method, path] of [
      ['PATCH', '/users/999'],
      ['DELETE', '/users/999'],
      ['POST', '/users/999/logout'],
      ['POST', '/users/999/unlock'],
      ['POST', '/users/999/reset-link'],
      ['DELETE', '/users/999/tokens'],
      ['DELETE', '/tokens/999'],
      ['DELETE', '/tokens/99999999999999999999'],
      ['DELETE', "/tokens/'"],
      ['DELETE', '/sessions/x'],
      ['DELETE', '/sessions/12'],
    ] as const) {
      t.equal((await call(method, path, method === 'PATCH' ? { role: 'x' } : undefined)).statusCode, 404, path)
    }
    t.equal((await call('POST', '/users/999/password', { password: 'a pale horse' })).statusCode, 404)
  })

  await t.test('treats all spellings of an address as one account', async (t) => {
    // In lower case, the capital letter has a second combining mark, which then has to change places.
    const created = await create({ name: 'Odd', email: '\u0130\u0316@example.com', password: 'correct horse' })
    const { id, email } = created.json()
    t.equal(created.statusCode, 201, created.body)
    t.equal((await svc.browser().signIn(email)).statusCode, 200, 'the address that svc shows signs in')
    t.match((await create({ name: 'Other', email })).json(), { errors: { email: [/taken/] } })
    t.match((await call('PATCH', `/users/${id}`, { disabled: true })).json(), { id, disabled: true })
  })

  await t.test(
    'changes the account of the id, although an earlier version stored another form of its address',
    async (t) => {
      const other = await svc.createUser({ email: 'i\u0316\u0307@example.net' })
      const odd = await svc.createUser({ email: 'odd@example.net' })
      const where = { id: BigInt(odd.id) }
      await svc.database.prisma.user.update({ where, data: { email: 'i\u0307\u0316@example.net' } })
      const answer = await call('PATCH', `/users/${odd.id}`, { disabled: true, role: 'former' })
      t.match(answer.json(), { id: odd.id, disabled: true, role: 'former' })
      t.match((await call('GET', `/users/${other.id}`)).json(), { disabled: false, role: 'user' })
    },
  )

  await t.test('lets one of two concurrent changes of a version through', async (t) => {
    const { etag } = (await call('GET', `/users/${ada.id}`)).headers
    const change = (role: string) => call('PATCH', `/users/${ada.id}`, { role }, { 'if-match': String(etag) })
    const answers = await Promise.all(['a', 'b', 'c', 'd'].map(change))
    t.same(answers.map(({ statusCode }) => statusCode).sort(), [200, 412, 412, 412])
    t.equal((await call('PATCH', `/users/${ada.id}`, { role: 'x' }, { 'if-match': '*' })).statusCode, 200)
    t.equal((await call('PATCH', `/users/${ada.id}`, { role: 'x' }, { 'if-match': '' })).statusCode, 412)
  })

  await t.test('creates a user once for one idempotency key', async (t) => {
    const body = { name: 'Once', email: 'once@example.com', password: 'a pale horse' }
    const key = { 'idempotency-key': 'k1' }
    const answers = await Promise.all([create(body, key), create(body, key), create(body, key)])
    t.same(
      answers.map(({ statusCode }) => statusCode),
      [201, 201, 201],
      answers.map((one) => one.body).join(),
    )
    t.equal(new Set(answers.map((one) => one.json().id)).size, 1)
    t.equal(answers.filter(({ headers }) => headers['idempotent-replayed'] === 'true').length, 2)
    t.equal((await events('user_created')).filter(({ userId }) => Number(userId) === answers[0]?.json().id).length, 1)

    for (const other of [{ email: 'other@example.com' }, { password: 'another horse' }, { role: 'admin' }]) {
      const answer = await create({ ...body, ...other }, key)
      t.match([answer.statusCode, answer.json().code], [422, 'idempotency_key_reused'])
    }
    const stranger = adminCall(svc, await svc.createToken(admin, { abilities: ['svc:admin'] }))
    t.equal((await stranger('POST', '/users', body, key)).statusCode, 422, 'the key of another caller is another key')
    t.match((await stranger('POST', '/users', body, key)).json(), { errors: { email: [/taken/] } })
    for (const bad of ['', 'a b', 'x'.repeat(256)])
      t.equal((await create(body, { 'idempotency-key': bad })).statusCode, 422)

    const failed = { 'idempotency-key': 'k2' }
    t.equal((await create(body, failed)).statusCode, 422)
    t.equal((await create({ ...body, email: 'k2@example.com' }, failed)).statusCode, 201, 'a failure uses no key')

    const invite = (email: string) => call('POST', '/invitations', { email }, { 'idempotency-key': 'k1' })
    t.equal((await invite('new@example.com')).statusCode, 201)
    t.equal((await invite('new@example.com')).headers['idempotent-replayed'], 'true')
    t.equal((await svc.mailbox.to('new@example.com')).length, 1)
    t.equal((await invite('newer@example.com')).statusCode, 422)

    await call('DELETE', `/users/${answers[0]?.json().id}`)
    t.match((await create(body, key)).json(), { code: 'idempotency_key_reused' }, 'the user was deleted')
    const { rows } = { rows: await svc.database.prisma.idempotencyKey.findMany() }
    t.notMatch(
      JSON.stringify(rows, (_key, value) => (typeof value === 'bigint' ? Number(value) : value)),
      /horse|once@/,
    )
    svc.clock.advance(86_400_001)
    const later = adminCall(svc, await robotToken(svc))
    t.equal((await later('POST', '/users', body, key)).statusCode, 201, 'a day later the key is new')
  })
})
