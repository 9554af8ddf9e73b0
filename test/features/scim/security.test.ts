// engine: none
import t from 'tap'
import { runCommandOn } from '../../support/command.ts'
import { buildProvisioned, newUser, patch } from './client.ts'

t.test('gives an account that nobody verified to the owner of its address', async (t) => {
  const svc = await buildProvisioned(t)
  const mallory = await svc.createUser({ email: 'ceo@example.com', verified: false })
  const token = await svc.createToken(mallory)
  const answer = await svc.scim('PATCH', `/Users/${mallory.id}`, patch({ op: 'add', path: 'externalId', value: 'E1' }))
  t.equal(answer.statusCode, 200)
  t.equal((await svc.bearer(token, 'GET', '/api/user')).statusCode, 401, 'the tokens of the former user end')
  const row = await svc.database.prisma.user.findUniqueOrThrow({ where: { id: BigInt(mallory.id) } })
  t.match(row, { emailVerifiedAt: Date })
  t.ok(row.password === null || row.password.startsWith('!'), 'and the password')
})

t.test('refuses line breaks in filters and paths, for which the parser would take exponential time', async (t) => {
  const svc = await buildProvisioned(t)
  const { id } = await svc.createUser()
  const breaks = '\n'.repeat(60)
  const filter = await svc.scim('GET', `/Users?filter=${encodeURIComponent(`userName eq "${breaks}`)}`)
  t.match(filter.json(), { status: '400', scimType: 'invalidFilter', detail: /line break/ })
  const path = `emails[value eq "${breaks}`
  for (const operation of [
    { op: 'replace', path, value: 'x' },
    { op: 'remove', path },
    { op: 'add', value: { [path]: 'x' } },
    { op: 'add', path: 'name', value: { familyName: { [path]: 'x' } } },
  ]) {
    const answer = await svc.scim('PATCH', `/Users/${id}`, patch(operation))
    t.match(answer.json(), { status: '400', scimType: 'invalidPath' }, JSON.stringify(operation))
  }
  t.equal((await svc.scim('GET', '/Users?filter=userName%20eq%20%22a%5C%22%5Cnb%22')).statusCode, 200, 'escapes work')
})

t.test('deactivates a user whose userName is the address of somebody else', async (t) => {
  const svc = await buildProvisioned(t)
  const { id } = (
    await svc.scim('POST', '/Users', newUser('bob@upn.example', { emails: [{ value: 'bob@example.com' }] }))
  ).json()
  await svc.createUser({ email: 'bob@upn.example' })
  const off = await svc.scim('PATCH', `/Users/${id}`, patch({ op: 'replace', path: 'active', value: false }))
  t.match(off.json(), { active: false })
})

t.test('changes only what a patch names, also if the user changes meanwhile', async (t) => {
  const svc = await buildProvisioned(t)
  const { id } = (await svc.scim('POST', '/Users', newUser('ada@example.com'))).json()
  const answers = await Promise.all([
    svc.scim('PATCH', `/Users/${id}`, patch({ op: 'replace', path: 'active', value: false })),
    ...['One', 'Two', 'Three'].map((value) =>
      svc.scim('PATCH', `/Users/${id}`, patch({ op: 'replace', path: 'displayName', value })),
    ),
  ])
  for (const { statusCode } of answers) t.equal(statusCode, 200)
  t.match((await svc.scim('GET', `/Users/${id}`)).json(), { active: false })
  const { version } = (await svc.scim('GET', `/Users/${id}`)).json().meta
  const both = await Promise.all(
    ['A', 'B'].map((value) =>
      svc.scim('PATCH', `/Users/${id}`, patch({ op: 'replace', path: 'displayName', value }), { 'if-match': version }),
    ),
  )
  t.strictSame(both.map(({ statusCode }) => statusCode).sort(), [200, 412], 'a version is good for one change')
})

t.test('ignores attributes that svc does not have, and survives odd values', async (t) => {
  const svc = await buildProvisioned(t)
  const { id } = (await svc.scim('POST', '/Users', newUser('ada@example.com'))).json()
  const ignored = await svc.scim(
    'PATCH',
    `/Users/${id}`,
    patch(
      { op: 'Replace', path: 'phoneNumbers[type eq "mobile"].value', value: '1' },
      { op: 'Replace', path: 'roles[primary eq "True"].value', value: 'admin' },
      { op: 'Remove', path: 'addresses[type eq "work"]' },
      { op: 'Replace', path: 'department', value: 'prototype' },
      { op: 'Replace', path: 'active', value: 'False' },
    ),
  )
  t.match(ignored.json(), { active: false })
  let deep: unknown = 1
  for (let at = 0; at < 3_000; at++) deep = [deep]
  const odd = { toString: 1 }
  for (const [method, path, body] of [
    ['POST', '/Users', newUser('x@example.com', { active: odd })],
    ['POST', '/Users', newUser('x@example.com', { emails: [{ value: 'x@example.com', primary: odd }] })],
    ['POST', '/Users', newUser('x@example.com', { emails: odd })],
    ['PATCH', `/Users/${id}`, patch({ op: odd, path: 'active' })],
    ['POST', '/Users/.search', { filter: odd, count: odd }],
    ['PATCH', `/Users/${id}`, patch({ op: 'add', path: 'name', value: deep })],
    ['POST', '/Users', newUser('x@example.com', { active: deep })],
    ['POST', '/Groups', { displayName: odd, members: odd }],
    ['PUT', `/Users/${id}`, [1]],
  ] as const) {
    const { statusCode } = await svc.scim(method, path, body)
    t.ok([200, 201, 400, 409].includes(statusCode), `${method} ${path}: ${statusCode}`)
  }
  t.match(await svc.scim('GET', `/Users?filter=${encodeURIComponent('emails eq "Y@BÜCHER.example"')}`), {
    statusCode: 200,
  })
})

t.test('lets only clients and tokens with the scope in', async (t) => {
  const svc = await buildProvisioned(t, { admin: { roles: ['admin'] } })
  const [ada, admin] = [await svc.createUser(), await svc.createUser({ role: 'admin', email: 'admin@example.com' })]
  const ask = async (token: string, path = '/scim/v2/Users') => (await svc.bearer(token, 'GET', path)).statusCode
  t.equal(await ask(await svc.createToken(ada)), 403, '* does not include the scope')
  t.equal(await ask(await svc.createToken(ada, { abilities: ['svc:scim'] })), 403, 'not of a user without the role')
  t.equal(await ask(await svc.createToken(admin, { abilities: ['svc:admin'] })), 403)
  const token = await svc.createToken(admin, { abilities: ['svc:scim'] })
  t.equal(await ask(token), 200)
  t.equal(await ask(token, '/admin/v1/users'), 403)
  const paths = [
    '/Users',
    '/Users/1',
    '/Users/.search',
    '/Groups',
    '/Groups/x',
    '/Groups/.search',
    '/.search',
    '/Schemas',
    '/x',
  ]
  for (const path of paths) {
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const) {
      for (const headers of [{}, { authorization: 'Bearer 1|nonsense' }, { authorization: 'Bearer a.b.c' }]) {
        const answer = await svc.app.inject({ method, url: `/scim/v2${path}`, headers })
        t.ok([401, 405].includes(answer.statusCode), `${method} ${path}: ${answer.statusCode}`)
      }
    }
  }

  const taken = await svc.scim(
    'PATCH',
    `/Users/${admin.id}`,
    patch({ op: 'replace', path: 'emails', value: [{ value: 'mallory@example.com' }] }),
  )
  t.match(taken.json(), { status: '403', detail: 'SCIM does not change the address of an administrator.' })
  const role = await svc.scim(
    'PATCH',
    `/Users/${ada.id}`,
    patch({ op: 'add', path: 'roles', value: [{ value: 'admin' }] }),
  )
  t.equal(role.statusCode, 200)
  t.equal((await svc.database.prisma.user.findUniqueOrThrow({ where: { id: BigInt(ada.id) } })).role, 'user')
  const off = await svc.scim('PATCH', `/Users/${admin.id}`, patch({ op: 'replace', path: 'active', value: false }))
  t.match(off.json(), { active: false }, 'an administrator who leaves can be deactivated')
})

t.test('invalidates mailed links to a former address', async (t) => {
  const svc = await buildProvisioned(t)
  const ada = await svc.createUser({ email: 'old@example.com' })
  await runCommandOn(svc, 'user:reset-link', '--email=old@example.com')
  t.equal(await svc.database.prisma.passwordReset.count(), 1)
  await svc.scim(
    'PATCH',
    `/Users/${ada.id}`,
    patch({ op: 'replace', path: 'emails', value: [{ value: 'new@example.com' }] }),
  )
  t.equal(await svc.database.prisma.passwordReset.count(), 0)
})
