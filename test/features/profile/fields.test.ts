import { decodeJwt } from 'jose'
import t from 'tap'
import { openAdmin, robotToken } from '../../support/admin.ts'
import { buildTestApp, type TestApp } from '../../support/app.ts'
import type { Browser } from '../../support/browser.ts'
import { clients, codeFlow, oauthSettings, Person } from '../../support/oauth.ts'
import { ScriptlessBrowser } from '../../support/plain.ts'
import { buildSocial, Visitor } from '../social/visitor.ts'

const password = 'a long enough password'

const fields = {
  team: {
    schema: { type: 'string', maxLength: 40 },
    write: ['user', 'admin', 'provider'],
    registration: 'optional',
    label: { en: 'Team', de: 'Gruppe' },
    claim: 'team',
  },
  size: { schema: { type: 'string', enum: ['small', 'large'] }, write: ['user'], registration: 'required' },
  seats: {
    schema: { type: 'integer', minimum: 1, maximum: 9 },
    write: ['user', 'admin'],
    claim: 'seats',
    scope: 'email',
  },
  ratio: { schema: { type: 'number' }, write: ['user'] },
  agreed: { schema: { type: 'boolean' }, write: ['user'], registration: 'required' },
  clearance: { schema: { type: 'string' }, claim: 'clearance', scope: 'groups' },
  news: { schema: { type: 'boolean' }, write: ['user'], registration: 'optional' },
  tags: { schema: { type: 'array', maxLength: 5, maxItems: 3 }, write: ['user', 'provider'] },
  plan: { schema: { type: 'string', pattern: '^[a-z]+$' }, read: ['user', 'admin'], claim: 'plan' },
  score: { schema: { type: 'integer' }, read: ['admin'] },
}

const settings = { users: { fields }, rate_limits: { register: null } }

/** A registration; it agrees unless its fields say otherwise. */
function person(email: string, more: { fields?: unknown } = {}) {
  const base = { name: 'Ada', email, password, password_confirmation: password }
  const { fields: given } = more
  const isObject = typeof given === 'object' && given !== null && !Array.isArray(given)
  return { ...base, ...more, ...(isObject ? { fields: { agreed: true, ...given } } : {}) }
}

async function newBrowser(svc: TestApp): Promise<Browser> {
  const browser = svc.browser()
  await browser.get('/svc/csrf-cookie')
  return browser
}

t.test('asks new users for the fields of the registration', async (t) => {
  const svc = await buildTestApp(t, { settings })
  const register = async (given: unknown, email = 'ada@example.com') =>
    (await newBrowser(svc)).post('/register', person(email, { fields: given }))
  const refused: [given: unknown, errors: object][] = [
    [undefined, { 'fields.size': ['The size field is required.'] }],
    [{ size: ' ' }, { 'fields.size': ['The size field is required.'] }],
    [{ size: 'medium' }, { 'fields.size': ['The size field is invalid.'] }],
    [{ size: 'small', team: 'x'.repeat(41) }, { 'fields.team': ['The team field is invalid.'] }],
    [{ size: 'small', team: 'a\nb' }, { 'fields.team': [String] }],
    [{ size: 'small', team: '\ud800' }, {}],
    [{ size: 'small', team: 5 }, { 'fields.team': [String] }],
    [{ size: 'small', seats: 10 }, { 'fields.seats': [String] }],
    [{ size: 'small', agreed: false }, { 'fields.agreed': ['The agreed field is required.'] }],
    [{ size: 'small', news: 'yes' }, { 'fields.news': [String] }],
    [{ size: 'small', tags: ['a', 'a'] }, { 'fields.tags': [String] }],
    [{ size: 'small', tags: ['a', 'b', 'c', 'd'] }, { 'fields.tags': [String] }],
    [{ size: 'small', plan: 'gold' }, { 'fields.plan': ['The plan field cannot be changed.'] }],
    [{ size: 'small', unknown: 1 }, { 'fields.unknown': ['The unknown field is unknown.'] }],
    [{ size: 'small', toString: 'x' }, { 'fields.toString': [String] }],
    [['small'], {}],
    ['small', {}],
  ]
  for (const [given, errors] of refused) {
    const answer = await register(given)
    t.match(answer.statusCode, /^(400|422)$/, JSON.stringify(given))
    t.match(answer.json().errors ?? {}, errors, JSON.stringify(given))
  }
  const huge = `{"name":"A","email":"h@example.com","password":"${password}","password_confirmation":"${password}","fields":{"agreed":true,"size":"small","ratio":1e999}}`
  const infinite = await (await newBrowser(svc)).send('POST', '/register', Buffer.from(huge), {
    'content-type': 'application/json',
  })
  t.match(infinite.json(), { errors: { 'fields.ratio': [String] } })
  const own = '{"__proto__":"x","size":"small"}'
  const proto = { ...person('p@example.com'), fields: JSON.parse(own) }
  t.match((await (await newBrowser(svc)).post('/register', proto)).statusCode, /^(400|422)$/, own)
  t.equal(await svc.database.prisma.user.count(), 0)

  const browser = await newBrowser(svc)
  const given = {
    agreed: true,
    size: 'small',
    team: ' Ünïcode 山 ',
    seats: 3,
    ratio: 0.5,
    news: true,
    tags: ['a', 'b'],
  }
  t.equal((await browser.post('/register', person('ada@example.com', { fields: given }))).statusCode, 201)
  t.strictSame((await browser.get('/api/user')).json().fields, {
    ...given,
    ...{ team: 'Ünïcode 山', plan: null, clearance: null },
  })
})

t.test('lets users change their own fields only', async (t) => {
  const svc = await buildTestApp(t, { settings })
  const browser = await newBrowser(svc)
  await browser.post('/register', person('ada@example.com', { fields: { size: 'small', team: 'Sales' } }))
  const change = (given: unknown) =>
    browser.put('/user/profile-information', { name: 'Ada', email: 'ada@example.com', fields: given })
  const seen = async () => (await browser.get('/api/user')).json().fields
  t.equal((await change({ team: 'Support', news: false })).statusCode, 200)
  t.match(await seen(), { team: 'Support', size: 'small', news: false })
  t.equal((await change(undefined)).statusCode, 200)
  t.match(await seen(), { team: 'Support' }, 'a missing object changes nothing')
  t.equal((await change(null)).statusCode, 200)
  t.match(await seen(), { team: 'Support' }, 'nor does null')
  t.equal((await change({ team: null })).statusCode, 200)
  t.match(await seen(), { team: null, size: 'small' })
  t.match((await change({ size: null })).json(), { errors: { 'fields.size': ['The size field is required.'] } })
  for (const name of ['plan', 'score']) {
    t.match((await change({ [name]: 'x' })).json(), { errors: { [`fields.${name}`]: [/cannot be changed/] } })
  }
  await svc.database.prisma.user.updateMany({
    data: { attributes: '{"fields":{"plan":"gold","score":7,"size":"small","agreed":true}}' },
  })
  t.equal((await change({ plan: 'gold', team: 'New' })).statusCode, 200, 'an unchanged value may be sent back')
  t.strictSame(Object.keys(await seen()).includes('score'), false, 'the user does not see a field of administrators')
  t.match(await svc.database.prisma.user.findFirst(), { attributes: /"score":7/ }, 'which a change keeps')
  for (const score of [7, 8]) {
    t.match(
      (await change({ score })).json(),
      { errors: { 'fields.score': [/cannot be changed/] } },
      'nor learns it by a guess',
    )
  }
})

t.test('yields the claims of the fields by scope', async (t) => {
  const svc = await buildTestApp(t, { settings: { ...settings, ...oauthSettings, clients } })
  const user = await svc.createUser()
  const attributes = '{"fields":{"team":"Sales","seats":3,"plan":"gold","score":7,"old":1,"clearance":"top"}}'
  await svc.database.prisma.user.updateMany({ data: { attributes } })
  const ada = new Person(svc, user.email)
  const claimsOf = async (scope: string) => {
    const tokens = await codeFlow(svc, ada, 'web', { scope })
    const info = (await svc.bearer(tokens.access_token, 'GET', '/oauth/userinfo')).json()
    const { team, seats, plan, score } = decodeJwt(tokens.id_token ?? '')
    t.same({ team: info.team, seats: info.seats, plan: info.plan, score: info.score }, { team, seats, plan, score })
    return { team, seats, plan, score }
  }
  const none = undefined
  t.strictSame(await claimsOf('openid profile'), { team: 'Sales', seats: none, plan: 'gold', score: none })
  t.strictSame(await claimsOf('openid email'), { team: none, seats: 3, plan: none, score: none })
  t.strictSame(await claimsOf('openid'), { team: none, seats: none, plan: none, score: none })
  const { claims_supported } = (await svc.app.inject('/.well-known/openid-configuration')).json()
  t.ok(['team', 'seats', 'plan'].every((claim) => claims_supported.includes(claim)))
  const claims = JSON.stringify({ userinfo: { clearance: null }, id_token: { clearance: null } })
  const asked = await codeFlow(svc, ada, 'web', { scope: 'openid', claims })
  t.notHas(decodeJwt(asked.id_token ?? ''), { clearance: '' }, 'of a scope that the client does not list')
  t.notHas((await svc.bearer(asked.access_token, 'GET', '/oauth/userinfo')).json(), { clearance: '' })
  const tokens = await codeFlow(svc, ada, 'web', { scope: 'openid profile' })
  t.notHas((await svc.bearer(tokens.access_token, 'GET', '/api/user')).json(), { fields: {} })
})

t.test('lets administrators write, read and find fields', async (t) => {
  const { svc, call } = await openAdmin(t, settings)
  const body = { email: 'ada@example.com', name: 'Ada', fields: { plan: 'gold', score: 7, team: 'Sales' } }
  const created = await call('POST', '/users', body)
  t.equal(created.statusCode, 201)
  t.match(created.json().fields, { plan: 'gold', score: 7, team: 'Sales', size: null })
  const { id } = created.json()
  const refused = await call('PATCH', `/users/${id}`, { fields: { plan: 'GOLD', size: 'small' } })
  t.match(refused.json(), { errors: { 'fields.plan': [/invalid/], 'fields.size': [/cannot be changed/] } })
  const changed = await call('PATCH', `/users/${id}`, { fields: { score: null, seats: 2 }, given_name: 'A' })
  t.match(changed.json(), { given_name: 'A', fields: { plan: 'gold', score: null, seats: 2, team: 'Sales' } })
  t.match((await call('GET', `/users/${id}`)).json().fields, { plan: 'gold' })
  t.match((await call('GET', `/users/${id}/details`)).json().fields, { plan: 'gold' })
  await svc.createUser({ email: 'other@example.com' })
  const found = async (field: string) =>
    (await call('GET', `/users?field=${encodeURIComponent(field)}`)).json().data?.map((user: { id: number }) => user.id)
  t.strictSame(await found('team:Sales'), [id])
  t.strictSame(await found('seats:2'), [id])
  t.strictSame(await found('team:sales'), [])
  t.strictSame(await found("team:' OR 1=1 --"), [])
  for (const field of ['unknown:x', 'team', ':x', '__proto__:x']) {
    t.equal((await call('GET', `/users?field=${encodeURIComponent(field)}`)).statusCode, 422, field)
  }
  await svc.database.prisma.user.updateMany({ where: { id }, data: { attributes: '{"fields":{"news":true}}' } })
  t.strictSame(await found('news:true'), [id])
  t.strictSame(await found('news:false'), [])

  const lines = [
    { email: 'a@example.com', name: 'A', fields: { plan: 'gold' } },
    { email: 'b@example.com', name: 'B', fields: { plan: 5 } },
  ]
  const imported = await svc.app.inject({
    method: 'POST',
    url: '/admin/v1/users/import',
    headers: { 'content-type': 'application/x-ndjson', authorization: `Bearer ${await robotToken(svc)}` },
    payload: lines.map((line) => JSON.stringify(line)).join('\n'),
  })
  t.match(imported.json().lines, [{ status: 'created' }, { status: 'invalid', errors: { 'fields.plan': [String] } }])
})

t.test('stores valid values that a provider sends', async (t) => {
  const acme = { trust_email: true, fields: { team: 'org.team', tags: 'labels' } }
  const svc = await buildSocial(t, { acme, settings })
  const signIn = async (claims: object) => {
    svc.acme.changeUserinfo((all) => ({ ...all, ...claims }))
    const visitor = new Visitor(svc)
    await visitor.signIn('grace')
    return (await visitor.browser.get('/api/user')).json().fields
  }
  t.match(await signIn({ org: { team: 'Sales' }, labels: ['a'], size: 'small' }), {
    team: 'Sales',
    tags: ['a'],
    size: null,
  })
  t.match(
    await signIn({ org: { team: { evil: 1 } }, labels: 'x' }),
    { team: 'Sales', tags: ['a'] },
    'invalid values change nothing',
  )
  t.match(
    await signIn({ org: { team: 'Support' }, labels: undefined }),
    { team: 'Support', tags: null },
    'a missing claim',
  )
  svc.acme.instead.set('/me', (answer) => ({ ...answer, status: 500, body: '' }))
  const again = new Visitor(svc)
  await again.signIn('grace')
  t.match((await again.browser.get('/api/user')).json().fields, { team: 'Support' }, 'a failed request')
})

t.test('shows the fields on the registration and profile pages', async (t) => {
  const svc = await buildTestApp(t, { settings })
  const page = new ScriptlessBrowser(svc)
  const shown = (await page.open('/oauth/register')).body
  for (const name of ['team', 'size', 'news', 'agreed']) t.match(shown, `name="fields.${name}"`)
  t.notMatch(shown, 'fields.plan')
  t.match(shown, '<option value="small">small</option>')
  const form = { name: 'Ada', email: 'ada@example.com', password }
  const refused = await page.send('/oauth/register', { ...form, 'fields.team': 'Sales' })
  t.equal(refused.statusCode, 422)
  t.match(refused.body, /value="Sales"/)
  const agreed = { 'fields.agreed': '1' }
  const given = { ...agreed, 'fields.team': 'Sales', 'fields.size': 'large', 'fields.news': '1', 'fields.plan': 'gold' }
  t.equal((await page.send('/oauth/register', { ...form, ...given })).statusCode, 303)
  const stored = async () => JSON.parse((await svc.database.prisma.user.findFirstOrThrow()).attributes).fields
  t.strictSame(await stored(), { team: 'Sales', size: 'large', agreed: true, news: true })
  const profile = (await page.open('/account/profile')).body
  t.match(profile, /<option value="large" selected>large<\/option>/)
  t.match(profile, /name="fields.news" value="1" checked/)
  t.notMatch(profile, 'fields.score')
  t.match(profile, /name="fields.plan" value=""[^>]* readonly/, 'a field that only administrators write')
  const more = { ...agreed, 'fields.size': 'small', 'fields.seats': '3', 'fields.tags': 'a, b', 'fields.ratio': 'x' }
  t.equal((await page.send('/account/profile', { name: 'Ada', ...more })).statusCode, 422)
  t.equal((await page.send('/account/profile', { name: 'Ada', ...more, 'fields.ratio': '' })).statusCode, 303)
  t.strictSame(await stored(), { size: 'small', agreed: true, news: false, seats: 3, tags: ['a', 'b'] })
  t.equal((await page.send('/account/profile', { name: 'Ada', ...given })).statusCode, 303)
  t.notHas(await stored(), { plan: '' }, 'and that a form cannot set')
})
