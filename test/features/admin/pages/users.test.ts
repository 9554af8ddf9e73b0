import t from 'tap'
import { openAdminPages } from '../../../support/admin-pages.ts'
import { redirectOf } from '../../../support/plain.ts'

t.test('finds a user, shows the account, and changes it with a reason', async (t) => {
  const { svc, admin, browser, events } = await openAdminPages(t)
  const ada = await svc.createUser({ email: 'ada@example.com', verified: false })
  await svc.createToken(ada)
  const overview = await browser.open('/admin')
  t.equal(overview.statusCode, 200)
  for (const section of ['users', 'events', 'guard', 'configuration'])
    t.match(overview.body, `href="/admin/${section}"`)

  const found = await browser.open('/admin/users?text=ada@')
  t.match(found.body, 'ada@example.com')
  t.notMatch(found.body, admin.email)
  const page = `/admin/users/${ada.id}`
  t.match(found.body, `href="${page}"`)

  const shown = (await browser.open(page)).body
  for (const text of ['ada@example.com', 'Not verified', 'Disable the account']) t.match(shown, text)
  t.notMatch(shown, 'Enable the account')

  t.strictSame(redirectOf(await browser.send(`${page}/verify`, { reason: 'ticket 7' })), [303, `${page}?done=1`])
  t.match((await browser.open(`${page}?done=1`)).body, 'The change is made.')
  const [changed] = await events('user_updated')
  t.match(changed, { actor: `user:${admin.user.id}`, reason: 'ticket 7', userId: BigInt(ada.id) })

  t.strictSame(redirectOf(await browser.send(`${page}/role`, { value: 'editor' })), [303, `${page}?done=1`])
  t.match((await browser.open(page)).body, 'editor')
  const refused = await browser.send(`${page}/add_group`, { value: 'unknown' })
  t.equal(refused.statusCode, 422)
  t.match(refused.body, 'The group unknown does not exist.')

  t.strictSame(redirectOf(await browser.send(`${page}/disable`, { reason: '' })), [303, `${page}?done=1`])
  t.match((await browser.open(page)).body, 'Enable the account')
  t.equal((await svc.browser().signIn('ada@example.com')).statusCode, 401)
  t.strictSame(redirectOf(await browser.send(`${page}/enable`, { reason: '' })), [303, `${page}?done=1`])

  t.strictSame(redirectOf(await browser.send(`${page}/reset_link`, { reason: '' })), [303, `${page}?done=1`])
  t.equal((await svc.mailbox.to('ada@example.com')).length > 0, true, 'the link is mailed')
  t.strictSame(redirectOf(await browser.send(`${page}/delete`, { reason: '' })), [303, '/admin/users?done=1'])
  t.equal((await browser.open(page)).statusCode, 404)
})

t.test('ends a session, revokes a token and takes a user out of a group', async (t) => {
  const { svc, browser } = await openAdminPages(t, { groups: { names: { 'team@c++': 'Everyone' } } })
  const ada = await svc.createUser({ email: 'ada@example.com' })
  const bearer = await svc.createToken(ada)
  const hers = svc.browser()
  await hers.signIn(ada.email)
  const page = `/admin/users/${ada.id}`
  t.strictSame(redirectOf(await browser.send(`${page}/add_group`, { value: 'team@c++' })), [303, `${page}?done=1`])
  for (const kind of ['session', 'token', 'group']) {
    const { body } = await browser.open(page)
    const [, action = ''] = new RegExp(`action="(${page}/${kind}/[^"]+)"`).exec(body) ?? []
    const token = /name="_token" value="([^"]*)"/.exec(body)?.[1] ?? ''
    t.strictSame(redirectOf(await browser.post(action, { _token: token })), [303, `${page}?done=1`], kind)
    t.equal((await browser.post(action, { _token: token })).statusCode, 404, `the ${kind} is gone`)
  }
  t.equal((await hers.get('/api/user')).statusCode, 401)
  t.equal((await svc.bearer(bearer, 'GET', '/api/user')).statusCode, 401)
  t.notMatch((await browser.open(page)).body, 'team@c')
})

t.test('lists all tokens of a user in pages', async (t) => {
  const { svc, browser } = await openAdminPages(t)
  const ada = await svc.createUser({ email: 'ada@example.com' })
  for (let at = 0; at < 101; at++) await svc.createToken(ada, { name: `token-${at}` })
  const { body } = await browser.open(`/admin/users/${ada.id}`)
  t.notMatch(body, 'token-100')
  const [, next = ''] = /href="(\/admin\/users\/\d+\?after=\d+)#tokens"/.exec(body) ?? []
  t.match((await browser.open(next)).body, 'token-100')
})

t.test('offers no action with which administrators lock themselves out', async (t) => {
  const { admin, browser } = await openAdminPages(t)
  const page = `/admin/users/${admin.user.id}`
  const { body } = await browser.open(page)
  for (const action of ['disable', 'delete', 'role', 'reset_two_factor']) {
    t.notMatch(body, `${page}/${action}`)
    t.equal((await browser.open(`${page}/${action}`)).statusCode, 404)
  }
  const token = /name="_token" value="([^"]*)"/.exec(body)?.[1] ?? ''
  t.equal((await browser.post(`${page}/delete`, { _token: token })).statusCode, 404)
  t.equal((await browser.open(page)).statusCode, 200)
})

t.test('lists users in pages, with every filter', async (t) => {
  const { svc, browser } = await openAdminPages(t)
  for (let at = 0; at < 51; at++) await svc.createUser({ email: `user${at}@example.com`, role: 'many' })
  const first = await browser.open('/admin/users?role=many')
  const [, next = ''] = /href="(\/admin\/users\?[^"]*after=[^"]*)"/.exec(first.body) ?? []
  t.match(next, 'role=many')
  const rest = await browser.open(next.replaceAll('&amp;', '&'))
  t.equal(rest.body.match(/many<\/span>/g)?.length, 1)
  t.match((await browser.open('/admin/users?state=disabled')).body, 'Nothing found.')
  for (const query of [
    'text=%00',
    'after=x',
    'state=x',
    'role=%F0%9F%98%80',
    `text=${'x'.repeat(300)}`,
    'text=a&text=b',
  ]) {
    t.equal((await browser.open(`/admin/users?${query}`)).statusCode, 200, query)
  }
  for (const path of ['/admin/users/0', '/admin/users/x', '/admin/users/999', '/admin/users/1/unknown']) {
    t.equal((await browser.open(path)).statusCode, 404, path)
  }
})
