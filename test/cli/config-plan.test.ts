// engine: none
import t from 'tap'
import { removePassword } from '../support/accounts.ts'
import { runCommandOn } from '../support/command.ts'
import { codeFlow, oauthSettings, Person } from '../support/oauth.ts'
import { buildPlanned } from '../support/planned.ts'

t.test('says in words what changes, and what needs a restart', async (t) => {
  const before = {
    scopes: { 'orders:read': 'Read' },
    clients: [{ client_id: 'web', type: 'public', grants: ['device_code'], scopes: ['orders:read'], name: 'Web' }],
    social: { acme: { issuer: 'https://acme.example', client_id: 'a', client_secret: 'social-secret-one' } },
    guard: {
      rules: [
        { name: 'orders', hosts: ['api.example.com'], roles: ['staff'] },
        { paths: ['/health'], access: 'public' },
        { name: 'gone', paths: ['/old'] },
      ],
    },
    session: { lifetime: '2h' },
  }
  const { plan, read } = await buildPlanned(t, before)
  const same = await plan(before, '--replay=1h')
  t.match(same, { code: 0, changes: [], restart: [], affected: [], replay: { decisions: 0, flips: [] } })

  const after = {
    app: { url: 'http://localhost:9000' },
    server: { port: 9000 },
    scopes: { 'orders:read': 'See', 'orders:write': 'Write' },
    clients: [
      { client_id: 'web', type: 'public', grants: ['device_code', 'refresh_token'], scopes: ['orders:write'] },
      { client_id: 'tv', type: 'public', grants: ['device_code'] },
    ],
    social: { acme: { issuer: 'https://acme.example', client_id: 'a', client_secret: 'social-secret-two' } },
    guard: {
      rules: [
        { paths: ['/health'], access: 'public' },
        { name: 'orders', hosts: ['api.example.com'], roles: ['staff', 'admin'], second_factor: true },
        { name: 'new', paths: ['/new'] },
      ],
    },
    session: { lifetime: '1h' },
    rate_limits: { login: '10/1m', global: '60/1m' },
    registration: { enabled: false },
  }
  const found = await plan(after)
  t.strictSame(found.changes.sort(), [
    'Client tv is added',
    'Client web: grants gets refresh_token',
    'Client web: name changes: Web → null',
    'Client web: scopes gets orders:write and loses orders:read',
    'Guard rule gone is removed',
    'Guard rule new (authenticated) is added',
    'Guard rule orders: roles gets admin',
    'Guard rule orders: second_factor is turned on',
    'Limit global allows less: null → 60/1m',
    'Limit login allows more: 5/1m → 10/1m',
    'Provider acme: client_secret changes',
    'Scope orders:read changes: Read → See',
    'Scope orders:write is added',
    'The guard rules are in another order',
    'app.url changes: http://localhost:8000 → http://localhost:9000 (after a restart)',
    'registration.enabled is turned off',
    'server.port changes: 8000 → 9000 (after a restart)',
    'session.lifetime becomes shorter: 2h → 1h',
  ])
  t.strictSame(found.restart.sort(), ['app.url', 'server.port'])
  const lines = await read(after)
  t.match(lines.join('\n'), /compared with .*old\.yaml:\n {2}app\.url changes: .*\(after a restart\)\.\n/)
  t.ok(lines.includes('No stored session, token or user is affected.'))
  t.notMatch(lines.join('\n'), /social-secret/)
})

t.test('names the sessions that would end, and the tokens that would expire', async (t) => {
  const svc = await buildPlanned(t, { session: { lifetime: '2h' }, expiration: null })
  const ada = await svc.createUser()
  await svc.createToken(ada)
  const person = new Person(svc, ada.email)
  await person.decide(await person.go('/login'))
  svc.clock.advance(90 * 60_000)
  t.match(await svc.plan({ session: { lifetime: '100m' } }), { code: 0, affected: [] })
  t.match(await svc.plan({ session: { lifetime: '1h' }, expiration: 60 }), {
    code: 3,
    affected: [
      { what: 'Sessions that end, because their lifetime becomes shorter', count: 1 },
      { what: 'API tokens that expire, because of expiration', count: 1 },
    ],
  })
  t.match(await svc.plan({ session: { lifetime: '2h', absolute_lifetime: '89m' } }), { affected: [{ count: 1 }] })
  const session = { lifetime: '2h' }
  for (const [settings, why] of [
    [{ app: { secret: 'another-secret-that-is-32-bytes-long' } }, 'app.secret changes'],
    [{ session: { ...session, cookie: 'other' } }, 'session.cookie changes'],
    [{ stateful_api: false }, 'stateful_api is turned off'],
    [{ app: { url: 'http://127.0.0.1:8000' } }, 'app.url changes'],
  ] as const) {
    const found = await svc.plan({ session, ...settings })
    t.match(found, { code: 3, affected: [{ what: `Sessions that end, because ${why}`, count: 1 }] })
  }
  const rotated = ['another-secret-that-is-32-bytes-long', 'the-secret-of-the-tests-is-32-bytes-long']
  t.match(await svc.plan({ session, app: { secret: rotated } }), { code: 0, affected: [] }, 'the former secret stays')
})

t.test('names the grants and personal tokens that would end or lose scopes', async (t) => {
  const svc = await buildPlanned(t, oauthSettings)
  const ada = await svc.createUser({ email: 'ada@example.com' })
  const person = new Person(svc, ada.email)
  await person.decide(await person.go('/login'))
  await codeFlow(svc, person, 'web', { scope: 'openid orders:read orders:write offline_access', prompt: 'consent' })
  const { prisma } = svc.database
  const [createdAt, expiresAt] = [new Date(svc.clock.now()), new Date(svc.clock.now() + 1e6)]
  const personal = { userId: BigInt(ada.id), name: 'ci', scopes: '["orders:write"]', createdAt, expiresAt }
  await prisma.oauthPersonalToken.create({ data: { id: 'p', ...personal } })
  const { clients, scopes } = oauthSettings
  const others = clients.filter(({ client_id }) => client_id !== 'web')
  const web = (more: object) => [...others, { ...clients[0], ...more }]
  t.match(await svc.plan({ ...oauthSettings, clients: web({ name: 'Shop' }) }), { code: 0, affected: [] })
  t.match(await svc.plan({ ...oauthSettings, clients: others }), {
    code: 3,
    affected: [{ what: 'Tokens of the client web that end, because it is removed', count: 1, users: [ada.id] }],
  })
  t.match(await svc.plan({ ...oauthSettings, clients: web({ scopes: ['orders:read'] }) }), {
    affected: [{ what: 'Grants of the client web that lose orders:write', count: 1, users: [ada.id] }],
  })
  t.match(await svc.plan({ ...oauthSettings, clients: web({ grants: ['authorization_code'] }) }), {
    affected: [{ what: 'Grants of the client web whose tokens cannot be renewed any more', users: [ada.id] }],
  })
  const { 'orders:write': _, ...fewer } = scopes
  const reading = clients.map((client) => ({
    ...client,
    scopes: 'scopes' in client && client.scopes ? ['orders:read'] : [],
  }))
  const lost = await svc.plan({ scopes: fewer, clients: reading })
  t.strictSame(
    lost.affected.map(({ what }) => what),
    ['Personal access tokens with the removed scope orders:write', 'Grants of the client web that lose orders:write'],
  )
})

t.test('names the users who could no longer sign in, or would be held back', async (t) => {
  const acme = { acme: { issuer: 'https://acme.example', client_id: 'a', client_secret: 'social-secret-one' } }
  const svc = await buildPlanned(t, {
    social: acme,
    admin: { roles: ['admin'] },
    users: { fields: { team: { schema: { type: 'string' } } } },
  })
  const [ada, bob, eve] = [
    await svc.createUser(),
    await svc.createUser({ verified: false }),
    await svc.createUser({ role: 'admin' }),
  ]
  const { prisma } = svc.database
  const [createdAt, updatedAt] = [new Date(0), new Date(0)]
  const link = { provider: 'acme', issuer: 'https://acme.example', providerId: '1', createdAt, updatedAt }
  await prisma.socialAccount.create({ data: { userId: BigInt(ada.id), ...link } })
  await removePassword(svc, ada.id)
  const disabled = await svc.createUser({ verified: false })
  await runCommandOn(svc, 'user:update', `--id=${disabled.id}`, '--disable')
  await prisma.user.update({ where: { id: BigInt(bob.id) }, data: { attributes: '{"fields":{"team":"x"}}' } })

  const same = {
    social: acme,
    admin: { roles: ['admin'] },
    users: { fields: { team: { schema: { type: 'string' } } } },
  }
  t.match(await svc.plan({ ...same, app: { name: 'Other' } }), { code: 0, affected: [] })
  const moved = { acme: { ...acme.acme, issuer: 'https://new.acme.example' } }
  t.match(await svc.plan({ ...same, social: moved }), {
    affected: [{ what: 'Users who can no longer sign in', users: [ada.id] }],
  })
  const { affected, code } = await svc.plan({
    registration: { require_verified_email: true },
    terms: { version: '2', url: 'https://example.com/terms' },
  })
  t.equal(code, 3)
  t.strictSame(Object.fromEntries(affected.map(({ what, users }) => [what, users])), {
    'Users who must verify their address first': [bob.id],
    'Users who must accept the new terms first': [ada.id, bob.id, eve.id],
    'Users who are no longer administrators': [eve.id],
    'Users who lose a field that is removed': [bob.id],
    'Users who can no longer sign in': [ada.id],
  })
  const mailed = await svc.plan({ ...same, social: {}, login: { email_code: true } })
  t.match(mailed, { code: 0, affected: [] }, 'a mailed code remains')
})
