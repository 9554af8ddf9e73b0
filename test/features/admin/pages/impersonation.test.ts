// engine: none
import t, { type Test } from 'tap'
import { mailedLink } from '../../../support/accounts.ts'
import { adminCall, robotToken } from '../../../support/admin.ts'
import { openAdminPages } from '../../../support/admin-pages.ts'
import type { Settings } from '../../../support/app.ts'
import { minute } from '../../../support/clock.ts'
import { request } from '../../../support/oauth.ts'
import { nextAddress, redirectOf } from '../../../support/plain.ts'

interface Described {
  security?: unknown[]
  responses: Record<string, object>
}

const impersonation = { roles: ['admin'], max: '15m' }

/** An administrator who acts as Ada. */
async function actAsAda(t: Test, settings: Settings = {}) {
  const opened = await openAdminPages(t, { admin: { impersonation }, ...settings })
  const { svc, browser } = opened
  const ada = await svc.createUser({ email: 'ada@example.com' })
  const path = `/admin/users/${ada.id}/impersonate`
  t.strictSame(redirectOf(await browser.send(path, { reason: 'ticket 7' })), [303, '/'])
  t.equal(await browser.user(), ada.id)
  return { ...opened, ada }
}

t.test('shows an administrator what the user sees, with a banner, and mails the user', async (t) => {
  const { svc, admin, browser, ada, events } = await actAsAda(t)
  for (const path of ['/', '/account', '/account/sessions', '/account/activity']) {
    const { statusCode, body } = await browser.open(path)
    t.equal(statusCode, 200, path)
    t.match(body, 'id="end-impersonation"', `${path} has the banner`)
  }
  const [mail] = await svc.mailbox.to(ada.email)
  t.equal(mail?.subject, 'An administrator acts as you, to see what you see')
  t.match(await events('impersonation_started'), [
    { userId: BigInt(ada.id), actor: `user:${admin.user.id}`, reason: 'ticket 7' },
  ])
  const hers = svc.browser()
  await hers.signIn(ada.email)
  const sessions: { impersonated: boolean }[] = (await hers.get('/user/sessions')).json()
  t.same(sessions.map(({ impersonated }) => impersonated).sort(), [false, true])
})

t.test('changes nothing at svc, and reads nothing that needs a confirmation', async (t) => {
  const { browser, ada, svc } = await actAsAda(t)
  const refused = async (method: 'PUT' | 'POST' | 'DELETE' | 'GET', path: string, body?: object) => {
    const answer = await browser.browser.send(method, path, body, {
      'x-xsrf-token': await browser.browser.cookie('XSRF-TOKEN'),
    })
    t.match({ status: answer.statusCode, ...answer.json() }, { status: 403, code: 'impersonated' }, `${method} ${path}`)
  }
  await refused('PUT', '/user/password', {
    current_password: 'correct horse',
    password: 'x',
    password_confirmation: 'x',
  })
  await refused('PUT', '/user/profile-information', { name: 'Eve', email: 'eve@example.com' })
  await refused('POST', '/user/confirm-password', { password: 'correct horse' })
  await refused('POST', '/user/two-factor-authentication')
  await refused('GET', '/user/two-factor-secret-key')
  await refused('POST', '/api/tokens/create', { token_name: 'kept' })
  await refused('DELETE', '/user')
  const page = await browser.send('/account/profile', { name: 'Eve' })
  t.equal(page.statusCode, 403)
  t.match(page.body, 'You can see this account, but not change it. Stop acting as the user first.')
  const user = await svc.database.prisma.user.findUnique({ where: { id: BigInt(ada.id) } })
  t.match(user, { email: 'ada@example.com', twoFactorSecret: null })
})

t.test('refuses every change that the API describes', async (t) => {
  const social = { acme: { client_id: 'svc', client_secret: 's', issuer: 'https://login.acme.example' } }
  const { svc, browser } = await actAsAda(t, { social })
  const { paths } = (await svc.app.inject('/openapi.json')).json()
  const token = (await browser.browser.cookie('XSRF-TOKEN')) ?? ''
  let asked = 0
  for (const [path, operations] of Object.entries<Record<string, Described>>(paths)) {
    for (const method of ['get', 'post', 'put', 'patch', 'delete'] as const) {
      const operation = operations[method]
      if (!JSON.stringify(operation?.security ?? []).includes('session') || /^\/logout$|conditional/.test(path))
        continue
      // Reading what requires a confirmation is refused too.
      if (method === 'get' && !(operation?.responses['423'] && operation.responses['403'])) continue
      const url = path.replaceAll(/\{\w+\}/g, '1')
      const verb = method.toUpperCase() as 'POST'
      const answer = await browser.browser.send(verb, url, undefined, { 'x-xsrf-token': token })
      t.equal(answer.statusCode, 403, `${method} ${path} ${answer.body}`)
      asked++
    }
  }
  t.ok(asked > 60, `${asked} routes`)
})

t.test('acts on no account through routes for guests', async (t) => {
  const { svc, browser, ada, events } = await actAsAda(t, { app: { url: 'http://localhost:8000' } })
  for (const path of ['/oauth/login', '/oauth/verify-email', '/oauth/link-provider']) {
    const { body } = await browser.open(path)
    t.notMatch(body, ada.email, path)
  }
  t.match((await browser.open('/oauth/login')).body, 'id="end-impersonation"', 'with the banner')
  const _token = /name="_token" value="([^"]*)"/.exec((await browser.open('/account')).body)?.[1] ?? ''
  t.equal((await browser.post('/oauth/language', { _token, language: 'de', return_to: '/' })).statusCode, 303)
  t.equal((await svc.database.prisma.user.findUnique({ where: { id: BigInt(ada.id) } }))?.language, null)
  await svc.database.prisma.user.update({ where: { id: BigInt(ada.id) }, data: { emailVerifiedAt: null } })
  const hers = svc.browser()
  await hers.signIn(ada.email)
  await hers.post('/email/verification-notification')
  const link = await mailedLink(svc, ada.email)
  t.equal((await browser.browser.get(link)).statusCode, 401, 'a mailed link needs a session of the user')
  const found = await svc.database.prisma.user.findUnique({ where: { id: BigInt(ada.id) } })
  t.equal(found?.emailVerifiedAt, null)

  const bob = await svc.createUser({ email: 'bob@example.com' })
  await browser.send('/oauth/login', { email: bob.email, password: 'correct horse' })
  t.equal(await browser.user(), bob.id)
  const [login] = (await events('login')).filter(({ userId }) => userId === BigInt(bob.id))
  t.equal(login?.actor, `user:${bob.id}`, 'the sign-in of another user is not that of the administrator')
  t.equal((await events('impersonation_ended')).length, 1)
})

t.test('signs in to no application, without a loop', async (t) => {
  const { browser } = await actAsAda(t)
  let path: string | undefined = `/oauth/authorize?${new URLSearchParams(request('web'))}`
  for (let hops = 0; path !== undefined && hops < 6; hops++) {
    const answer = await browser.open(path)
    if (answer.statusCode === 200) {
      t.match(answer.body, 'name="password"', 'asks who signs in')
      return
    }
    path = nextAddress(answer)?.replace('http://localhost:8000', '')
  }
  t.fail('no page')
})

t.test('tells other services and the events who acts', async (t) => {
  const apis = { wiki: { audience: 'https://wiki.example.com', scopes: ['orders:read'] } }
  const { svc, admin, browser, events } = await actAsAda(t, {
    server: { trust_proxy: ['127.0.0.1/32'] },
    guard: { rules: [{ hosts: ['localhost:8000', 'localhost'], audience: 'wiki' }] },
    apis,
  })
  const cookie = await browser.browser.jar.getCookieString('http://localhost:8000/')
  const answer = await svc.app.inject({
    url: '/svc/guard',
    remoteAddress: '127.0.0.1',
    headers: {
      cookie,
      'x-original-method': 'GET',
      'x-original-url': 'http://localhost:8000/page',
      'sec-fetch-site': 'same-origin',
    },
  })
  t.equal(answer.statusCode, 200, answer.body)
  t.equal(answer.headers['svc-actor'], String(admin.user.id))
  const [, payload = ''] = String(answer.headers.authorization).split('.')
  t.match(JSON.parse(Buffer.from(payload, 'base64url').toString()), { act: { sub: String(admin.user.id) } })
  await browser.press('/account', 'end-impersonation')
  t.match(await events('impersonation_ended'), [{ actor: `user:${admin.user.id}` }])
  t.equal(await browser.user(), null)
})

t.test('signs in to no application, and opens no admin page', async (t) => {
  const { svc, browser, ada } = await actAsAda(t)
  t.equal((await browser.open('/admin')).statusCode, 403)
  await svc.database.prisma.user.update({ where: { id: BigInt(ada.id) }, data: { role: 'admin' } })
  t.equal((await browser.open('/admin')).statusCode, 303, 'acting as an administrator has ended')
  t.equal(await browser.user(), null)
})

t.test('ends by itself, by the user, and with the rights of the administrator', async (t) => {
  const { svc, admin, browser, ada } = await actAsAda(t)
  svc.clock.advance(14 * minute)
  t.equal(await browser.user(), ada.id)
  svc.clock.advance(minute)
  t.equal(await browser.user(), null, 'after the maximum')

  for (const end of [
    () => svc.database.prisma.user.update({ where: { id: BigInt(admin.user.id) }, data: { role: 'user' } }),
    () => svc.database.prisma.user.update({ where: { id: BigInt(admin.user.id) }, data: { disabledAt: new Date() } }),
    async () => {
      const body = { current_password: 'correct horse', password: 'violet engine on the hill' }
      const changed = await admin.browser.put('/user/password', { ...body, password_confirmation: body.password })
      t.equal(changed.statusCode, 200, changed.body)
      t.equal(await browser.user(), null, 'after a new password of the administrator')
      const back = {
        current_password: body.password,
        password: 'correct horse',
        password_confirmation: 'correct horse',
      }
      t.equal((await admin.browser.put('/user/password', back)).statusCode, 200)
    },
    async () => {
      const call = adminCall(svc, await robotToken(svc))
      t.equal((await call('POST', `/users/${admin.user.id}/logout`, {})).statusCode, 200)
    },
    async () => {
      const config = svc.config.current()
      svc.config.swap({ ...config, admin: { ...config.admin, impersonation: { roles: [], max: 60_000 } } })
      t.equal(await browser.user(), null, 'after a reload')
      svc.config.swap(config)
    },
    async () => {
      const hers = svc.browser()
      await hers.signIn(ada.email)
      const sessions: { id: string; impersonated: boolean }[] = (await hers.get('/user/sessions')).json()
      const other = sessions.find(({ impersonated }) => impersonated)
      t.equal((await hers.delete(`/user/sessions/${other?.id}`)).statusCode, 200)
    },
  ]) {
    await svc.database.prisma.user.update({
      where: { id: BigInt(admin.user.id) },
      data: { role: 'admin', disabledAt: null },
    })
    svc.clock.advance(minute)
    await browser.send('/oauth/login', { email: admin.email, password: 'correct horse' })
    await browser.send('/oauth/login', { code: admin.code() })
    await browser.send(`/admin/users/${ada.id}/impersonate`, { reason: 'again' })
    t.equal(await browser.user(), ada.id)
    await end()
    t.equal(await browser.user(), null)
  }
})

t.test('refuses without the setting, without a reason, and for administrators', async (t) => {
  const { svc, browser } = await openAdminPages(t, { admin: { impersonation } })
  const ada = await svc.createUser({ email: 'ada@example.com' })
  const other = await svc.createUser({ email: 'other@example.com', role: 'admin' })
  t.equal((await browser.send(`/admin/users/${ada.id}/impersonate`, { reason: ' ' })).statusCode, 422)
  t.equal((await browser.open(`/admin/users/${other.id}/impersonate`)).statusCode, 404)
  const off = await openAdminPages(t)
  const bea = await off.svc.createUser({ email: 'bea@example.com' })
  t.equal((await off.browser.open(`/admin/users/${bea.id}/impersonate`)).statusCode, 404)
})
