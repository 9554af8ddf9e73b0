import t from 'tap'
import { openAdmin } from '../../../support/admin.ts'

t.test('shows users, credentials, events, clients and keys', async (t) => {
  const { svc, admin, call, signIn, events } = await openAdmin(t)
  const ada = await svc.createUser({ email: 'ada@example.com' })
  const eve = await svc.createUser({ email: 'eve@example.com', verified: false })
  await svc.createToken(ada, { name: 'one' })
  await svc.createToken(ada, { name: 'two' })
  const browser = await signIn(ada.email)
  const get = async (path: string) => {
    const answer = await call('GET', path)
    t.equal(answer.statusCode, 200, `${path} ${answer.body}`)
    return answer.json()
  }
  const status = async (path: string) => (await call('GET', path)).statusCode

  await t.test('finds users in pages, with filters', async (t) => {
    const first = await get('/users?limit=2')
    t.match(first, { data: [{ id: admin.id, disabled: false }, { email: 'ada@example.com' }], next: String(ada.id) })
    t.match(await get(`/users?limit=2&after=${first.next}`), { data: [{ id: eve.id }], next: null })
    t.match(await get('/users?email=ADA@example.com'), { data: [{ id: ada.id }] })
    t.match((await get('/users?state=unverified')).data.length, 1)
    t.match((await get('/users?role=admin')).data, [{ id: admin.id }])
    t.same((await get('/users?text=xample')).data, [])
    t.equal((await get('/users?text=xample&inside=true')).data.length, 3)
    t.notMatch((await call('GET', '/users')).body, /argon2|password/)
  })

  await t.test('rejects invalid parameters', async (t) => {
    for (const query of [
      'limit=0',
      'limit=1001',
      'limit=x',
      'limit=1&limit=2',
      'after=x',
      'after=9999999999999999',
      'after=-1',
      'state=x',
      'text=%00',
      'inside=maybe',
      "after=1'--",
    ]) {
      t.equal(await status(`/users?${query}`), 422, query)
    }
    for (const query of [
      'type=x',
      'after=x',
      'after=1',
      'after=1-99999999999999999999',
      'user_id=0',
      'user_id=x',
      'since=yesterday',
      'since=2026-02-30',
      'client_id=%00',
    ]) {
      t.equal(await status(`/events?${query}`), 422, query)
    }
    for (const path of [
      '/users/0',
      '/users/x',
      '/users/99999999999999999999',
      '/users/999',
      '/users/999/details',
      '/users/999/tokens',
      '/users/999/sessions',
      '/clients/x',
      '/clients/%00',
      '/clients/https%3A%2F%2Fapp.example%2F%00',
      '/nothing',
    ]) {
      t.equal(await status(path), 404, path)
    }
  })

  await t.test('shows a user with a version and details', async (t) => {
    const answer = await call('GET', `/users/${ada.id}`)
    t.match(answer.json(), { id: ada.id, email: 'ada@example.com', disabled: false })
    t.match(answer.headers.etag, /^"[0-9a-f]{32}"$/)
    const details = await get(`/users/${ada.id}/details`)
    t.match(details, {
      id: ada.id,
      has_password: true,
      sessions: [{ ip_address: '203.0.113.77' }],
      tokens: [{ name: 'one' }, {}],
    })
    t.notMatch(JSON.stringify(details), /argon2/)
  })

  await t.test('lists tokens in pages, and sessions', async (t) => {
    const page = await get(`/users/${ada.id}/tokens?limit=1`)
    t.match(page, { data: [{ kind: 'api_token', name: 'one' }], next: page.data[0].id })
    t.match(await get(`/users/${ada.id}/tokens?limit=1&after=${page.next}`), { data: [{ name: 'two' }], next: null })
    t.match(await get(`/users/${ada.id}/sessions`), [{ kind: 'session', ip_address: '203.0.113.77' }])
  })

  await t.test('lists events in pages, by type, user, client and time', async (t) => {
    t.match(await get(`/events?type=login&user_id=${ada.id}`), {
      data: [{ type: 'login', actor: `user:${ada.id}` }],
      next: null,
    })
    const page = await get('/events?limit=1')
    const next = await get(`/events?limit=1&after=${page.next}`)
    t.not(next.data[0].id, page.data[0].id)
    t.same((await get('/events?since=2100-01-01')).data, [])
    t.same((await get('/events?until=2000-01-01T00:00:00Z')).data, [])
    t.match((await get('/events?client_id=robot&type=admin_read&limit=1')).data, [{ client_id: 'robot' }])
  })

  await t.test('shows clients and keys without secrets', async (t) => {
    t.match((await get('/clients')).at(-1), { client_id: 'robot', scopes: ['svc:admin', 'orders:read'] })
    t.match(await get('/clients/robot'), { has_secret: true, audience: null })
    t.notMatch((await call('GET', '/clients/robot')).body, /that-is-long-enough/)
    t.match(await get('/keys'), [{ state: 'signing', readable: true }])
    t.notMatch((await call('GET', '/keys')).body, /"d"|sealed/)
  })

  await t.test('records who read what, and why', async (t) => {
    await call('GET', `/users/${ada.id}`, undefined, { 'svc-reason': 'ticket 7' })
    const read = (await events('admin_read')).at(-1)
    t.match(read, {
      actor: 'client:robot',
      userId: BigInt(ada.id),
      clientId: 'robot',
      reason: 'ticket 7',
      credential: /^jwt:/,
    })
    t.match(JSON.parse(read?.data ?? ''), { operation: 'adminGetUser' })
    await call('GET', '/users')
    t.match((await events('admin_read')).at(-1), { userId: null, target: 'users', reason: null })
    await call('GET', '/users', undefined, { 'svc-reason': `${'x'.repeat(499)}éé` })
    t.equal((await events('admin_read')).at(-1)?.reason?.length, 500)
    const before = (await events('admin_read')).length
    await call('GET', '/users/999')
    t.equal((await events('admin_read')).length, before)
  })

  await t.test("keeps the administrator's address out of the pages of the user", async (t) => {
    const boss = await signIn()
    await boss.send('GET', `/admin/v1/users/${ada.id}`, undefined, { 'user-agent': 'SecretBrowser/1' })
    const page = await browser.get('/account/activity', { accept: 'text/html' })
    t.match(page.body, /viewed by an administrator/)
    t.notMatch(page.body, /SecretBrowser/)
  })
})
