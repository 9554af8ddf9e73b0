// engine: none
import t from 'tap'
import { runCommandOn } from '../../support/command.ts'
import { buildProvisioned, patch } from './client.ts'

const group = (displayName: string, more: object = {}) => ({
  schemas: ['urn:ietf:params:scim:schemas:core:2.0:Group'],
  displayName,
  ...more,
})

t.test('creates a group with members, whom the guard and tokens see at once', async (t) => {
  const svc = await buildProvisioned(t)
  const [ada, bob] = [await svc.createUser(), await svc.createUser()]
  const created = await svc.scim(
    'POST',
    '/Groups',
    group('Vertrieb Süd', { externalId: 'G1', members: [{ value: String(ada.id) }] }),
  )
  t.equal(created.statusCode, 201)
  t.match(created.json(), {
    id: 'Vertrieb-Sud',
    displayName: 'Vertrieb Süd',
    externalId: 'G1',
    members: [{ value: String(ada.id), type: 'User' }],
  })
  const groupsOf = async (id: number) => (await svc.scim('GET', `/Users/${id}`)).json().groups
  t.match(await groupsOf(ada.id), [{ value: 'Vertrieb-Sud', display: 'Vertrieb Süd', $ref: /\/Groups\/Vertrieb-Sud$/ }])
  const at = '/Groups/Vertrieb-Sud'
  const membersAfter = async (...operations: object[]) => {
    const answer = await svc.scim('PATCH', at, patch(...operations))
    t.equal(answer.statusCode, 200, answer.body)
    return answer.json().members.map(({ value }: { value: string }) => Number(value))
  }
  t.strictSame(await membersAfter({ op: 'add', path: 'members', value: [{ value: String(bob.id) }] }), [ada.id, bob.id])
  t.strictSame(
    await membersAfter({ op: 'Remove', path: 'members', value: [{ value: String(ada.id) }] }),
    [bob.id],
    'as Entra removes',
  )
  t.strictSame(await membersAfter({ op: 'remove', path: `members[value eq "${bob.id}"]` }), [], 'as the RFC removes')
  t.strictSame(
    await membersAfter({
      op: 'replace',
      path: 'members',
      value: [{ value: String(bob.id) }, { value: String(ada.id) }],
    }),
    [ada.id, bob.id],
  )
  t.strictSame(await membersAfter({ op: 'remove', path: 'members' }), [])
  t.strictSame(await membersAfter({ op: 'add', value: { members: [{ value: String(ada.id) }] } }), [ada.id])
  t.match(
    (await svc.scim('PATCH', at, patch({ op: 'replace', value: { id: 'Vertrieb-Sud', displayName: 'Sales' } }))).json(),
    {
      ...{ id: 'Vertrieb-Sud', displayName: 'Sales' },
      members: [{ value: String(ada.id) }],
    },
  )
  t.strictSame((await svc.scim('PUT', at, group('Sales'))).json().members, [])
  t.equal((await svc.scim('DELETE', at)).statusCode, 204)
  t.equal((await svc.scim('GET', at)).statusCode, 404)
})

t.test('changes no membership that came from elsewhere', async (t) => {
  const svc = await buildProvisioned(t, {
    groups: { names: { staff: 'Staff' } },
    clients: [
      {
        client_id: 'entra',
        type: 'confidential',
        secret: 'a-secret-that-is-long-enough',
        grants: ['client_credentials'],
        scopes: ['svc:scim'],
      },
    ],
  })
  const [ada, bob] = [await svc.createUser(), await svc.createUser()]
  await runCommandOn(svc, 'group:add', 'staff', `--id=${ada.id}`)
  t.match((await svc.scim('GET', '/Groups/staff')).json(), { displayName: 'staff', members: [] })
  const added = await svc.scim(
    'PATCH',
    '/Groups/staff',
    patch({ op: 'add', path: 'members', value: [{ value: String(bob.id) }] }),
  )
  t.match(added.json(), { members: [{ value: String(bob.id) }] })
  await svc.scim('PUT', '/Groups/staff', group('Everyone', { members: [] }))
  const { prisma } = svc.database
  t.match(await prisma.groupMembership.findMany(), [{ userId: BigInt(ada.id), source: 'admin' }])
  t.equal(await prisma.groupMembership.count(), 1)
  t.equal((await svc.scim('DELETE', '/Groups/staff')).statusCode, 403, 'it has members of others')
  const list = (await svc.scim('GET', '/Groups?filter=displayName+eq+%22EVERYONE%22')).json()
  t.match(list, { totalResults: 1, Resources: [{ id: 'staff', displayName: 'Everyone' }] })
  const without = (await svc.scim('GET', '/Groups?excludedAttributes=members')).json()
  t.notOk('members' in without.Resources[0])
})

t.test('gives each group its own name, whatever its display name', async (t) => {
  const svc = await buildProvisioned(t)
  const idOf = async (displayName: string) => (await svc.scim('POST', '/Groups', group(displayName))).json().id
  t.equal(await idOf('R&D'), 'R-D')
  t.equal(await idOf('R/D'), 'R-D-2')
  t.equal(await idOf('営業部'), 'group')
  t.equal(await idOf('開発部'), 'group-2')
  t.equal(await idOf('  -x- '), 'x')
  const again = await svc.scim('POST', '/Groups', group('r&d'))
  t.match(again.json(), { status: '409', scimType: 'uniqueness' })
  t.match((await svc.scim('PUT', '/Groups/R-D-2', group('R&D'))).json(), { status: '409' })
})

t.test('refuses members that svc cannot have', async (t) => {
  const svc = await buildProvisioned(t)
  const ada = await svc.createUser()
  for (const [members, detail] of [
    [[{ value: '999999' }], 'No user has the id 999999.'],
    [[{ value: 'abc' }], 'members.value must be the id of a user.'],
    [[{ value: String(ada.id), type: 'Group' }], 'members must be users. svc has no groups within groups.'],
    ['x', 'members.value must be the id of a user.'],
  ] as const) {
    const answer = await svc.scim('POST', '/Groups', group('Team', { members }))
    t.match(answer.json(), { status: '400', scimType: 'invalidValue', detail })
  }
  t.equal((await svc.scim('GET', '/Groups')).json().totalResults, 0, 'no group was created')
  t.match((await svc.scim('POST', '/Groups', {})).json(), { detail: 'displayName is required.' })
  for (const path of ['/Groups/none', '/Groups/a%20b', '/Groups/%00'])
    t.equal((await svc.scim('GET', path)).statusCode, 404, path)
})

t.test('describes itself', async (t) => {
  const svc = await buildProvisioned(t)
  const get = async (path: string) => (await svc.scim('GET', path)).json()
  t.match(await get('/ServiceProviderConfig'), {
    patch: { supported: true },
    etag: { supported: true },
    filter: { supported: true, maxResults: 1000 },
  })
  t.match(await get('/ResourceTypes'), { totalResults: 2, Resources: [{ id: 'User' }, { id: 'Group' }] })
  t.match(await get('/ResourceTypes/Group'), { endpoint: '/Groups' })
  t.match(await get('/Schemas/urn:ietf:params:scim:schemas:core:2.0:User'), {
    attributes: [{ name: 'userName', required: true, returned: 'default' }],
  })
  t.equal((await svc.scim('GET', '/Schemas/other')).statusCode, 404)
  t.equal((await svc.scim('POST', '/ResourceTypes', {})).statusCode, 405)
})

t.test('deletes no group that SCIM did not make, and keeps nothing of one that it cannot fill', async (t) => {
  const svc = await buildProvisioned(t)
  const ada = await svc.createUser()
  await runCommandOn(svc, 'group:create', 'vip')
  await runCommandOn(svc, 'group:add', 'vip', `--id=${ada.id}`)
  t.match((await svc.scim('DELETE', '/Groups/vip')).json(), { status: '403', scimType: 'mutability' })
  t.equal(await svc.database.prisma.groupMembership.count(), 1)
  for (let at = 0; at < 99; at++) {
    await runCommandOn(svc, 'group:create', `g${at}`)
    await runCommandOn(svc, 'group:add', `g${at}`, `--id=${ada.id}`)
  }
  const members = [{ value: String(ada.id) }]
  t.equal((await svc.scim('POST', '/Groups', group('last', { members }))).statusCode, 400)
  t.equal((await svc.scim('GET', '/Groups/last')).statusCode, 404, 'the group is gone')
  t.match((await svc.scim('POST', '/Groups', group('vip'))).json(), { status: '409' })
  const made = await svc.scim('POST', '/Groups', group('made'))
  t.equal(made.statusCode, 201)
  t.match(
    (await svc.scim('PUT', '/Groups/made', group('VIP'))).json(),
    { status: '409' },
    'nor the name of a group of svc',
  )
})

t.test('applies only what a patch changes, so that requests at the same time do not undo each other', async (t) => {
  const svc = await buildProvisioned(t)
  const users = []
  for (let at = 0; at < 6; at++) users.push(await svc.createUser())
  const [first, ...others] = users.map(({ id }) => String(id))
  await svc.scim('POST', '/Groups', group('Team', { members: [{ value: first }] }))
  const answers = await Promise.all([
    svc.scim('PATCH', '/Groups/Team', patch({ op: 'remove', path: `members[value eq "${first}"]` })),
    ...others.map((value) =>
      svc.scim('PATCH', '/Groups/Team', patch({ op: 'add', path: 'members', value: [{ value }] })),
    ),
  ])
  for (const { statusCode } of answers) t.equal(statusCode, 200)
  const { members } = (await svc.scim('GET', '/Groups/Team')).json()
  t.strictSame(
    members.map(({ value }: { value: string }) => value),
    others,
  )
})

t.test('adds nobody to a group who registered with an address that is not verified', async (t) => {
  const svc = await buildProvisioned(t)
  const mallory = await svc.createUser({ email: 'ceo@example.com', verified: false })
  const members = [{ value: String(mallory.id) }]
  t.match((await svc.scim('POST', '/Groups', group('admins', { members }))).json(), {
    detail: `The user ${mallory.id} has not verified the email address.`,
  })
})
