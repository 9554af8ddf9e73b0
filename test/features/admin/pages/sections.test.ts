import t, { type Test } from 'tap'
import { languages } from '../../../../src/platform/languages/languages.ts'
import { openAdminPages } from '../../../support/admin-pages.ts'
import { redirectOf, type ScriptlessBrowser } from '../../../support/plain.ts'

const redirected = async (
  t: Test,
  browser: ScriptlessBrowser,
  path: string,
  fields: Record<string, string>,
  to = path,
) => t.strictSame(redirectOf(await browser.send(path, fields)), [303, `${to}?done=1`])

t.test('invites a person, and revokes the invitation', async (t) => {
  const { svc, browser } = await openAdminPages(t, { groups: { names: { staff: 'Everyone' } } })
  const path = '/admin/invitations'
  await redirected(t, browser, path, { email: 'new@example.com', name: 'Nia', role: 'editor', groups: 'staff' })
  const { body } = await browser.open(path)
  for (const text of ['new@example.com', 'Nia', 'editor', 'staff']) t.match(body, text)
  t.equal((await svc.mailbox.to('new@example.com')).length, 1)
  for (const [fields, message] of [
    [{ email: 'boss@example.com' }, 'The email has already been taken.'],
    [{ email: 'x' }, 'The email field must be a valid email address.'],
    [{ email: 'a@example.com', groups: 'nobody' }, 'The group nobody does not exist.'],
    [{ email: 'a@example.com', name: '\u202e' }, 'contains characters that are not allowed'],
    [{ email: 'a@example.com', role: 'x'.repeat(256) }, 'must not be greater than 255 characters'],
  ] as const) {
    const refused = await browser.send(path, fields)
    t.equal(refused.statusCode, 422, message)
    t.match(refused.body, message)
  }
  const [, action = ''] = /action="(\/admin\/invitations\/\d+\/revoke)"/.exec(body) ?? []
  const token = /name="_token" value="([^"]*)"/.exec(body)?.[1] ?? ''
  t.strictSame(redirectOf(await browser.post(action, { _token: token })), [303, `${path}?done=1`])
  t.equal((await browser.post(action, { _token: token })).statusCode, 404)
  t.match((await browser.open(path)).body, 'Nothing found.')
})

t.test('creates a group, changes its members and deletes it', async (t) => {
  const { svc, browser } = await openAdminPages(t, { groups: { names: { staff: 'Everyone' } } })
  await svc.createUser({ email: 'ada@example.com' })
  const path = '/admin/groups'
  await redirected(t, browser, path, { name: 'wiki:editors', description: 'May edit' }, `${path}/wiki%3Aeditors`)
  t.match((await browser.open(path)).body, 'May edit')
  for (const [name, message] of [
    ['wiki:editors', 'The group exists already.'],
    ['staff', 'The configuration declares this group already.'],
    [' ', 'The name must have up to 100'],
  ] as const) {
    const refused = await browser.send(path, { name })
    t.equal(refused.statusCode, 422, message)
    t.match(refused.body, message)
  }
  const group = `${path}/wiki%3Aeditors`
  await redirected(t, browser, group, { email: 'ada@example.com' })
  t.equal((await browser.send(group, { email: 'nobody@example.com' })).statusCode, 422)
  const { body } = await browser.open(group)
  t.match(body, 'ada@example.com')
  const [, action = ''] = new RegExp(`action="(${group}/members/\\d+/remove)"`).exec(body) ?? []
  const token = /name="_token" value="([^"]*)"/.exec(body)?.[1] ?? ''
  t.strictSame(redirectOf(await browser.post(action, { _token: token })), [303, `${group}?done=1`])
  t.match((await browser.open(`${group}/delete`)).body, 'All members leave the group.')
  t.strictSame(redirectOf(await browser.post(`${group}/delete`, { _token: token })), [303, `${path}?done=1`])
  t.equal((await browser.open(group)).statusCode, 404)
  t.equal((await browser.post(`${path}/staff/delete`, { _token: token })).statusCode, 422)
  t.notMatch((await browser.open(`${path}/staff`)).body, 'Delete the group', 'only the file can')
})

t.test('shows events with their filters, and records following them once an hour', async (t) => {
  const { admin, browser, events } = await openAdminPages(t)
  const all = await browser.open('/admin/events')
  t.match(all.body, 'Signed in')
  t.match(all.body, `user:${admin.user.id}`)
  t.match(all.body, 'id="follow"')
  t.notMatch((await browser.open('/admin/events?type=logout')).body, 'id="trail"')
  t.match((await browser.open(`/admin/events?user_id=${admin.user.id}&type=login`)).body, 'id="trail"')
  const reads = (await events('admin_read')).length
  for (let at = 0; at < 3; at++) t.equal((await browser.open('/admin/events?follow=1')).statusCode, 200)
  t.equal((await events('admin_read')).length, reads)
  const followed = `/admin/events?follow=1&user_id=${admin.user.id}`
  t.equal((await browser.open(followed)).statusCode, 200)
  const [, next = ''] = /href="(\/admin\/events\?[^"]*before=[^"]*)"/.exec(all.body) ?? []
  await browser.open(`${next || '/admin/events?before=x'}&follow=1`.replaceAll('&amp;', '&'))
  t.equal((await events('admin_read')).length, reads + 1, 'an older page is not followed')
  t.equal((await events('events_followed'))[1]?.userId, BigInt(admin.user.id), 'the trail names whose events')
  t.match((await events('events_followed')).slice(0, 1), [{ repeats: 2, actor: `user:${admin.user.id}` }])
  for (const query of ['type=x', 'user_id=x', 'user_id=99999999999999999999', 'client_id=%00', 'before=x']) {
    t.equal((await browser.open(`/admin/events?${query}`)).statusCode, 200, query)
  }
})

t.test('shows clients, providers and the configuration without secrets', async (t) => {
  const client_secret = 'the secret of the provider'
  const social = { acme: { client_id: 'svc', client_secret, issuer: 'https://login.acme.example' } }
  const { browser } = await openAdminPages(t, { social })
  const clients = await browser.open('/admin/clients')
  t.match(clients.body, 'robot')
  const client = await browser.open('/admin/clients/robot')
  t.match(client.body, 'client_credentials')
  t.equal((await browser.open('/admin/clients/unknown')).statusCode, 404)
  t.match((await browser.open('/admin/providers')).body, 'https://login.acme.example')
  const values = await browser.open('/admin/configuration?key=social')
  t.match(values.body, 'social.acme.client_secret')
  t.match(values.body, 'test.yaml:')
  for (const { body } of [clients, client, values]) t.notMatch(body, client_secret)
  const [, next = ''] =
    /href="(\/admin\/configuration\?[^"]*after=[^"]*)"/.exec((await browser.open('/admin/configuration')).body) ?? []
  t.equal((await browser.open(next.replaceAll('&amp;', '&'))).statusCode, 200)
})

t.test('tries a request under the rules of the guard', async (t) => {
  const rules = [{ name: 'wiki', hosts: ['wiki.example.com'], roles: ['admin'] }]
  const { svc, browser } = await openAdminPages(t, { guard: { rules } })
  await svc.createUser({ email: 'ada@example.com' })
  const ask = async (fields: Record<string, string>) =>
    browser.send('/admin/guard', { method: 'GET', url: 'https://wiki.example.com/', ...fields })
  t.match((await browser.open('/admin/guard')).body, 'roles: admin')
  t.match((await ask({ email: 'boss@example.com' })).body, /allows the request\. Decided by: wiki/)
  t.match((await ask({ email: 'ada@example.com' })).body, /denies the request: 403 .*wiki/)
  t.match((await ask({})).body, 'denies the request: 401')
  t.match((await ask({ url: 'https://other.example.com/' })).body, 'guard.default: deny')
  for (const fields of [{ url: 'x' }, { url: 'http://' }, { email: 'x@example.com' }, { method: 'G T' }]) {
    t.equal((await ask(fields)).statusCode, 422, JSON.stringify(fields))
  }
})

t.test('creates signing keys, and tries failed deliveries again', async (t) => {
  const { svc, admin, browser } = await openAdminPages(t)
  const { body } = await browser.open('/admin/keys')
  const token = /name="_token" value="([^"]*)"/.exec(body)?.[1] ?? ''
  const before = body.match(/<li/g)?.length ?? 0
  t.strictSame(redirectOf(await browser.post('/admin/keys/rotate', { _token: token })), [303, '/admin/keys?done=1'])
  t.ok(((await browser.open('/admin/keys')).body.match(/<li/g)?.length ?? 0) > before)

  await svc.app.database.transaction((tx) => svc.app.outbox.add(tx, 'without-handler', {}))
  await svc.database.prisma.outbox.updateMany({
    where: { kind: 'without-handler' },
    data: { failedAt: new Date(), lastError: '550 no such mailbox' },
  })
  const failed = await browser.open('/admin/deliveries')
  t.match(failed.body, '550 no such mailbox')
  const [, action = ''] = /action="(\/admin\/deliveries\/\d+\/retry)"/.exec(failed.body) ?? []
  t.strictSame(redirectOf(await browser.post(action, { _token: token })), [303, '/admin/deliveries?done=1'])
  t.equal((await browser.post(action, { _token: token })).statusCode, 404)
  const retried = await svc.database.prisma.event.findMany({ where: { type: 'delivery_retried' } })
  t.match(retried, [{ actor: `user:${admin.user.id}`, target: /^job:\d+$/ }])
  t.notMatch((await browser.open('/admin/deliveries')).body, '550 no such mailbox')
})

t.test('answers odd queries with a page', async (t) => {
  const { browser } = await openAdminPages(t)
  for (const query of [
    'users?text=%00',
    'users?role=a%00',
    'users?group=%00',
    'users?after=-1',
    'events?client_id=%00',
    'events?before=%00',
    'groups?after=%00',
    `groups?after=${'x'.repeat(500)}`,
    'invitations?after=%00',
    'clients?after=%00',
    'configuration?key=%00&after=%00',
    'deliveries?before=%00',
  ]) {
    t.equal((await browser.open(`/admin/${query}`)).statusCode, 200, query)
  }
})

t.test('speaks every language', async (t) => {
  const { browser } = await openAdminPages(t)
  for (const tag of languages) {
    const { body, statusCode } = await browser.open('/admin/users', { 'accept-language': tag })
    t.equal(statusCode, 200)
    if (tag !== 'en') t.notMatch(body, 'Start of the name')
  }
})
