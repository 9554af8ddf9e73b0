import t from 'tap'
import { openAdmin, robotToken } from '../../../support/admin.ts'
import type { TestApp } from '../../../support/app.ts'
import { runCommand, runCommandOn } from '../../../support/command.ts'

const json = (lines: readonly string[]) => lines.map((line) => JSON.parse(line))

/** The groups in the record of a user. */
const groupsOf = async ({ database: { prisma } }: TestApp, id: number): Promise<string[]> =>
  JSON.parse((await prisma.user.findUniqueOrThrow({ where: { id: BigInt(id) } })).groups)

const declared = { groups: { names: { staff: 'Everyone who works here' } } }

t.test('creates, lists, shows and deletes groups at the command line', async (t) => {
  const { svc, events } = await openAdmin(t, declared)
  const ada = await svc.createUser({ email: 'ada@example.com' })
  t.strictSame(json(await runCommandOn(svc, 'group:create', 'wiki-editors', '--description=May edit', '--reason=T1')), [
    { name: 'wiki-editors', description: 'May edit', declared_in: 'database', members: 0 },
  ])
  for (const name of ['staff', 'wiki-editors', '', 'a b', 'a,b', 'Ä', '_x', 'x'.repeat(101)]) {
    await t.rejects(runCommandOn(svc, 'group:create', name), { message: /"name"/ }, name)
  }
  t.match(await runCommandOn(svc, 'group:add', 'staff', '--email=ADA@example.com'), [/ada@example\.com is in staff/])
  await runCommandOn(svc, 'group:add', 'wiki-editors', `--id=${ada.id}`)
  t.strictSame(json(await runCommandOn(svc, 'group:list')), [
    { name: 'staff', description: 'Everyone who works here', declared_in: 'configuration', members: 1 },
    { name: 'wiki-editors', description: 'May edit', declared_in: 'database', members: 1 },
  ])
  const [shown] = json(await runCommandOn(svc, 'group:show', 'wiki-editors', '--json'))
  t.match(shown, { members: 1, users: [{ id: ada.id, email: 'ada@example.com', sources: ['admin'] }] })
  t.strictSame(await groupsOf(svc, ada.id), ['staff', 'wiki-editors'])
  const [found] = json(await runCommandOn(svc, 'user:find', '--group=wiki-editors', '--json'))
  t.match(found, { id: ada.id, groups: ['staff', 'wiki-editors'] })
  const [details] = json(await runCommandOn(svc, 'user:show', `--id=${ada.id}`, '--json'))
  t.match(details.memberships, [
    { group: 'staff', source: 'admin' },
    { group: 'wiki-editors', source: 'admin' },
  ])

  await runCommandOn(svc, 'group:remove', 'staff', `--id=${ada.id}`)
  t.strictSame(await groupsOf(svc, ada.id), ['wiki-editors'])
  await t.rejects(runCommandOn(svc, 'group:remove', 'staff', `--id=${ada.id}`), /not in the group staff/)
  await t.rejects(runCommandOn(svc, 'group:add', 'unknown', `--id=${ada.id}`), /unknown does not exist/)
  await t.rejects(runCommandOn(svc, 'group:show', 'unknown'), /unknown does not exist/)
  await t.rejects(runCommandOn(svc, 'group:delete', 'staff'), /Remove it there first/)
  await t.rejects(runCommandOn(svc, 'group:delete', 'wiki-editors'), /requires --yes/)
  t.match(await runCommandOn(svc, 'group:delete', 'wiki-editors', '--yes'), ['Group deleted.'])
  t.strictSame(await groupsOf(svc, ada.id), [])
  t.equal((await runCommandOn(svc, 'group:list')).length, 1)
  const [created] = await events('group_created')
  t.match(created, { target: 'group:wiki-editors', reason: 'T1', userId: null })
  t.equal((await events('group_deleted')).length, 1)
  const left = await events('group_member_removed')
  t.match(
    left.map(({ userId, data }) => [Number(userId), JSON.parse(data)]),
    [
      [ada.id, { group: 'staff', source: 'admin' }],
      [ada.id, { group: 'wiki-editors', source: 'admin' }],
    ],
  )
})

t.test('counts the members of a group whose name is a keyword of the database', async (t) => {
  const { svc, call } = await openAdmin(t)
  const ada = await svc.createUser()
  await call('POST', '/groups', { name: 'null' })
  await call('PUT', `/groups/null/members/${ada.id}`)
  t.match((await call('GET', '/groups/null')).json(), { name: 'null', members: 1 })
})

t.test('manages groups and members in the admin API', async (t) => {
  const { svc, call, events } = await openAdmin(t, declared)
  const [ada, bob] = [await svc.createUser({ email: 'ada@example.com' }), await svc.createUser()]
  const created = await call('POST', '/groups', { name: 'on-call', description: ' Rota ', reason: 'T2' })
  t.equal(created.statusCode, 201)
  t.strictSame(created.json(), { name: 'on-call', description: 'Rota', declared_in: 'database', members: 0 })
  for (const body of [{}, { name: 5 }, { name: 'a/b' }, { name: 'on-call' }, { name: 'staff' }, { name: 'x\0' }]) {
    const refused = await call('POST', '/groups', body)
    t.equal(refused.statusCode, 422, JSON.stringify(body))
    t.hasOwnProps(refused.json().errors, ['name'])
  }
  for (const { id } of [ada, bob, ada]) {
    t.equal((await call('PUT', `/groups/on-call/members/${id}`)).statusCode, 204)
  }
  const first = (await call('GET', '/groups/on-call/members?limit=1')).json()
  t.match(first, { data: [{ id: ada.id, email: 'ada@example.com', sources: ['admin'] }], next: String(ada.id) })
  const second = (await call('GET', `/groups/on-call/members?limit=1&after=${first.next}`)).json()
  t.match(second, { data: [{ id: bob.id }], next: null })
  t.match((await call('GET', '/groups?limit=1')).json(), { data: [{ name: 'on-call', members: 2 }], next: 'on-call' })
  t.match((await call('GET', '/groups?after=on-call')).json(), { data: [{ name: 'staff', members: 0 }], next: null })
  t.match((await call('GET', '/groups/on-call')).json(), { members: 2 })
  t.match((await call('GET', '/users?group=on-call')).json(), { data: [{ id: ada.id }, { id: bob.id }] })
  const details = (await call('GET', `/users/${ada.id}/details`)).json()
  t.match(details, { groups: ['on-call'], memberships: [{ group: 'on-call', source: 'admin', created_at: String }] })
  t.equal((await events('group_member_added')).length, 2, 'a member who is added again causes no event')

  const before = (await call('GET', `/users/${ada.id}`)).headers.etag
  const reason = { 'svc-reason': 'T3' }
  t.equal((await call('DELETE', `/groups/on-call/members/${ada.id}`, undefined, reason)).statusCode, 204)
  t.not((await call('GET', `/users/${ada.id}`)).headers.etag, before, 'the version of the user changes')
  t.match(await events('group_member_removed'), [{ actor: 'client:robot', reason: 'T3' }])
  const missing = [
    await call('DELETE', `/groups/on-call/members/${ada.id}`),
    await call('PUT', '/groups/on-call/members/999999'),
    await call('PUT', `/groups/unknown/members/${ada.id}`),
    await call('PUT', `/groups/%00/members/${ada.id}`),
    await call('GET', '/groups/unknown'),
    await call('GET', '/groups/unknown/members'),
    await call('DELETE', '/groups/unknown'),
    await call('DELETE', '/groups/on-call/members/x'),
  ]
  t.strictSame(
    missing.map(({ statusCode }) => statusCode),
    missing.map(() => 404),
  )
  for (const [name, value] of [
    ['limit', '0'],
    ['limit', 'x'],
    ['after', '-1'],
  ] as const) {
    const refused = await call('GET', `/groups/on-call/members?${name}=${value}`)
    t.equal(refused.statusCode, 422, `${name}=${value}`)
    t.hasOwnProps(refused.json().errors, [name])
  }
  t.equal((await call('DELETE', '/groups/staff')).statusCode, 422)
  t.equal((await call('DELETE', '/groups/on-call')).statusCode, 204)
  t.strictSame(await groupsOf(svc, bob.id), [])
})

t.test('gives new accounts their groups', async (t) => {
  const { svc, call, events } = await openAdmin(t, declared)
  await runCommandOn(svc, 'group:create', 'on-call')
  const body = { email: 'a@example.com', name: 'A', groups: ['staff', 'on-call', 'staff'] }
  const created = await call('POST', '/users', body)
  t.equal(created.statusCode, 201)
  t.strictSame(created.json().groups, ['on-call', 'staff'])
  for (const groups of [['unknown'], ['a b'], 'staff', [null], Array.from({ length: 101 }, (_, at) => `g${at}`)]) {
    const email = 'b@example.com'
    const refused = [
      await call('POST', '/users', { email, name: 'B', groups }),
      await call('POST', '/invitations', { email, groups }),
    ]
    t.strictSame(
      refused.map(({ statusCode }) => statusCode),
      [422, 422],
      JSON.stringify(groups).slice(0, 60),
    )
  }
  t.equal(await svc.database.prisma.user.count({ where: { email: 'b@example.com' } }), 0)
  const services = { config: svc.config, database: svc.database, subscriber: svc.app.subscriber, now: svc.clock.now() }
  const readPassword = async () => 'a long enough password'
  const words = ['--email=c@example.com', '--name=C', '--groups=staff, on-call']
  const [byCommand] = json(await runCommand({ ...services, readPassword }, 'user:create', ...words))
  t.strictSame(byCommand.groups, ['on-call', 'staff'])

  const invited = await call('POST', '/invitations', { email: 'd@example.com', groups: ['staff', 'on-call'] })
  t.strictSame(invited.json().groups, ['on-call', 'staff'])
  await runCommandOn(svc, 'user:invite', '--email=e@example.com', '--groups=staff')
  await runCommandOn(svc, 'group:delete', 'on-call', '--yes')
  const path = await svc.mailbox.find('d@example.com', /http:\/\/localhost:8000(\/oauth\/invitation\/\S+)/)
  const browser = svc.browser()
  await browser.get(path)
  const password = 'a long enough password'
  const accepted = await browser.post(path, { name: 'D', password, password_confirmation: password })
  t.equal(accepted.statusCode, 303)
  const d = (await browser.get('/api/user')).json()
  t.strictSame(d.groups, ['staff'], 'without the group that was deleted meanwhile')
  const joined = (await events('group_member_added')).at(-1)
  t.match(JSON.parse(joined?.data ?? ''), { group: 'staff', source: 'invitation' })
})

t.test('imports groups, and reports those that do not exist', async (t) => {
  const { svc } = await openAdmin(t, declared)
  const lines = [
    { email: 'a@example.com', name: 'A', groups: ['staff'] },
    { email: 'b@example.com', name: 'B', groups: ['staff', 'unknown'] },
    { email: 'c@example.com', name: 'C', groups: 'staff' },
    { email: 'd@example.com', name: 'D' },
  ]
  const payload = lines.map((line) => JSON.stringify(line)).join('\n')
  const authorization = `Bearer ${await robotToken(svc)}`
  const send = (query = '') =>
    svc.app.inject({
      method: 'POST',
      url: `/admin/v1/users/import${query}`,
      headers: { 'content-type': 'application/x-ndjson', accept: 'application/json', authorization },
      payload,
    })
  for (const answer of [await send('?dry_run=true'), await send()]) {
    t.match(answer.json(), {
      created: 2,
      invalid: 2,
      lines: [
        { line: 1, status: 'created' },
        { line: 2, status: 'invalid', errors: { groups: ['The group unknown does not exist.'] } },
        { line: 3, status: 'invalid' },
        { line: 4, status: 'created' },
      ],
    })
  }
  const { members, users } = json(await runCommandOn(svc, 'group:show', 'staff', '--json'))[0]
  t.match({ members, users }, { members: 1, users: [{ email: 'a@example.com', sources: ['import'] }] })
})

t.test('keeps the names of roles apart from groups while roles are listed as groups', async (t) => {
  const { svc, call } = await openAdmin(t, { groups: { include_role: true, names: { staff: 'Staff' } } })
  const user = await svc.createUser({ role: 'editor' })
  for (const name of ['admin', 'user', 'editor']) {
    t.match((await call('POST', '/groups', { name })).json(), { errors: { name: [/that of a role/] } }, name)
  }
  const refused = [
    await call('PATCH', `/users/${user.id}`, { role: 'staff' }),
    await call('POST', '/users', { email: 'x@example.com', name: 'X', role: 'staff' }),
    await call('POST', '/invitations', { email: 'x@example.com', role: 'staff' }),
  ]
  for (const answer of refused) t.match(answer.json(), { errors: { role: [/name of a group/] } })
  t.equal((await call('PATCH', `/users/${user.id}`, { role: 'author' })).statusCode, 200)
})

t.test('keeps users at 100 groups', async (t) => {
  const { svc, call } = await openAdmin(t)
  const { id } = await svc.createUser()
  const now = new Date()
  const names = Array.from({ length: 101 }, (_, at) => `group-${at}`)
  await svc.database.prisma.group.createMany({ data: names.map((name) => ({ name, createdAt: now })) })
  for (const name of names.slice(0, 100)) {
    const added = await call('PUT', `/groups/${name}/members/${id}`)
    if (added.statusCode !== 204) t.fail(`${name}: ${added.body}`)
  }
  const refused = await call('PUT', `/groups/group-100/members/${id}`)
  t.equal(refused.statusCode, 422)
  t.match(refused.json(), { errors: { groups: [/at most 100 groups/] } })
  t.equal((await groupsOf(svc, id)).length, 100)
})
