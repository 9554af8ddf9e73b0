import t from 'tap'
import { buildTestApp } from '../../support/app.ts'
import { runCommandOn } from '../../support/command.ts'
import { buildSocial, type Social, Visitor } from './visitor.ts'

const names = { staff: 'Staff', editors: 'Editors', admins: 'Admins', 'from-map': 'Mapped' }
const trusted = { trust_email: true, groups: { claim: 'groups' } }

/** Groups with the sources of each, by user. */
async function memberships({ database: { prisma } }: Social) {
  const rows = await prisma.groupMembership.findMany({ orderBy: [{ groupName: 'asc' }, { source: 'asc' }] })
  return rows.map(({ groupName, source }) => `${groupName} ${source}`)
}

/** Signs Grace in at Acme, which lists these groups in its ID token. */
async function signIn(svc: Social, groups: unknown): Promise<readonly string[]> {
  svc.acme.changeIdToken((claims) => ({ ...claims, ...(groups === undefined ? {} : { groups }) }))
  const visitor = new Visitor(svc)
  await visitor.signIn('grace')
  return (await visitor.user())?.groups ?? []
}

t.test('sets the groups that a provider lists, at each sign-in', async (t) => {
  const svc = await buildSocial(t, { acme: trusted, settings: { groups: { names } } })
  t.strictSame(await signIn(svc, ['staff', 'unknown', 'editors', 7, null, 'x\0']), ['editors', 'staff'], 'a new user')
  t.strictSame(await signIn(svc, ['staff']), ['staff'])
  t.strictSame(await signIn(svc, 'admins'), ['admins'], 'one group as a text')
  t.strictSame(await memberships(svc), ['admins provider:acme'])
  const events = await svc.database.prisma.event.findMany({ where: { type: { startsWith: 'group_' } } })
  t.equal(events.length, 5)
  t.match(JSON.parse(events[0]?.data ?? ''), { group: 'editors', source: 'provider:acme' })
  t.strictSame(await signIn(svc, undefined), [], 'without the claim')
})

t.test('leaves alone what came from elsewhere', async (t) => {
  const svc = await buildSocial(t, { acme: trusted, settings: { groups: { names } } })
  await signIn(svc, ['staff'])
  await runCommandOn(svc, 'group:add', 'staff', '--email=grace@example.com')
  await runCommandOn(svc, 'group:add', 'editors', '--email=grace@example.com')
  t.strictSame(await signIn(svc, ['admins']), ['admins', 'editors', 'staff'])
  t.strictSame(await memberships(svc), ['admins provider:acme', 'editors admin', 'staff admin'])
  t.strictSame(await runCommandOn(svc, 'group:remove', 'admins', '--email=grace@example.com'), [
    'grace@example.com is no longer in admins.',
    'acme adds the user again at the next sign-in while it lists the group.',
  ])
  t.strictSame(await signIn(svc, ['admins']), ['admins', 'editors', 'staff'])
})

t.test('maps the values of a provider, such as the ids that Entra sends', async (t) => {
  const id = '5f0c1a4e-7c2b-4f6d-9a51-0c7e2b1d8f30'
  const groups = { claim: 'groups', map: { [id]: 'staff', 'Team Ünïcode / 北': 'from-map' } }
  const svc = await buildSocial(t, { acme: { trust_email: true, groups }, settings: { groups: { names } } })
  t.strictSame(await signIn(svc, [id, 'admins', 'Team Ünïcode / 北', 'toString', '__proto__']), ['from-map', 'staff'])
  // Entra leaves the claim out for a user with more than 200 groups.
  svc.acme.changeIdToken((claims) => ({ ...claims, _claim_names: { groups: 'src1' }, _claim_sources: { src1: {} } }))
  const visitor = new Visitor(svc)
  await visitor.signIn('grace')
  t.strictSame((await visitor.user())?.groups, ['from-map', 'staff'], 'a list that was left out changes nothing')
})

t.test('reads nested claims, and those of the user info endpoint', async (t) => {
  const acme = { trust_email: true, groups: { claim: 'realm_access.roles' } }
  const svc = await buildSocial(t, { acme, settings: { groups: { names } } })
  svc.acme.changeUserinfo((claims) => ({ ...claims, realm_access: { roles: ['staff', 'offline_access'] } }))
  const visitor = new Visitor(svc)
  await visitor.signIn('grace')
  t.strictSame((await visitor.user())?.groups, ['staff'])
  svc.acme.instead.set('/me', (answer) => ({ ...answer, status: 500, body: '' }))
  const again = new Visitor(svc)
  await again.signIn('grace')
  t.strictSame((await again.user())?.groups, ['staff'], 'a failed request changes nothing')
})

t.test('ends the groups of a provider with its last linked account', async (t) => {
  const svc = await buildSocial(t, { acme: trusted, settings: { groups: { names } } })
  await svc.createUser({ email: 'grace@example.com' })
  svc.acme.changeIdToken((claims) => ({ ...claims, groups: ['staff'] }))
  const visitor = new Visitor(svc)
  await visitor.signIn('grace')
  await runCommandOn(svc, 'group:add', 'editors', '--email=grace@example.com')
  t.strictSame((await visitor.user())?.groups, ['editors', 'staff'])
  const [link] = (await visitor.browser.get('/user/social-accounts')).json()
  await visitor.browser.post('/user/confirm-password', { password: 'correct horse' })
  t.equal((await visitor.browser.delete(`/user/social-accounts/${link.id}`)).statusCode, 200)
  t.strictSame((await visitor.user())?.groups, ['editors'])
})

t.test('ends the groups of a provider that may no longer give any', async (t) => {
  const svc = await buildSocial(t, { acme: trusted, settings: { groups: { names } } })
  await signIn(svc, ['staff'])
  const { groups: _, ...acme } = Object(svc.settings.social).acme
  const settings = { ...svc.settings, social: { ...Object(svc.settings.social), acme } }
  const later = await buildTestApp(t, { settings, database: svc.where, clock: svc.clock })
  const visitor = new Visitor(later)
  await visitor.signIn('grace')
  t.strictSame((await visitor.user())?.groups, [])
})

t.test('signs in a user whose provider lists more groups than svc stores', async (t) => {
  const many = Object.fromEntries(Array.from({ length: 120 }, (_, at) => [`group-${at}`, 'A group']))
  const svc = await buildSocial(t, { acme: trusted, settings: { groups: { names: many } } })
  t.equal((await signIn(svc, Object.keys(many))).length, 100)
})
