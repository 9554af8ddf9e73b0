// engine: none
import t from 'tap'
import { buildProvisioned, newUser, patch, userSchema } from './client.ts'

t.test('creates, finds, changes and deletes a user', async (t) => {
  const svc = await buildProvisioned(t)
  const created = await svc.scim('POST', '/Users', newUser('Ada@Example.com', { externalId: 'X1' }))
  t.equal(created.statusCode, 201)
  t.match(created.headers, {
    'content-type': /^application\/scim\+json/,
    location: /\/scim\/v2\/Users\/\d+$/,
    etag: /^W\/"/,
  })
  const { id } = created.json()
  t.match(created.json(), {
    schemas: [userSchema],
    ...{ externalId: 'X1', userName: 'Ada@Example.com', displayName: 'Ada Lovelace', active: true, groups: [] },
    name: { formatted: 'Ada Lovelace', givenName: 'Ada', familyName: 'Lovelace' },
    emails: [{ value: 'ada@example.com', type: 'work', primary: true }],
    meta: { resourceType: 'User', version: created.headers.etag },
  })
  const stored = await svc.database.prisma.user.findUniqueOrThrow({ where: { id: BigInt(id) } })
  t.match(stored, { email: 'ada@example.com', password: null, role: 'user', emailVerifiedAt: Date })

  const replaced = await svc.scim('PUT', `/Users/${id}`, {
    schemas: [userSchema],
    ...{ userName: 'ada.king', displayName: 'Ada King', emails: [{ value: 'king@example.com' }], active: true },
  })
  t.match(replaced.json(), { userName: 'ada.king', displayName: 'Ada King', emails: [{ value: 'king@example.com' }] })
  t.notHas(replaced.json(), { externalId: '' })
  t.notHas(replaced.json().name, { givenName: '' }, 'what a replacement leaves out is cleared')
  const events = await svc.database.prisma.event.findMany({ where: { userId: BigInt(id) }, orderBy: { id: 'asc' } })
  t.match(
    events.map(({ type, actor }) => `${type} ${actor}`),
    ['user_created client:entra', 'user_updated client:entra', 'email_changed client:entra'],
  )
  t.equal((await svc.scim('DELETE', `/Users/${id}`)).statusCode, 204)
  t.equal((await svc.scim('GET', `/Users/${id}`)).statusCode, 404)
})

t.test('ends sessions and tokens at once when a client deactivates a user', async (t) => {
  const svc = await buildProvisioned(t)
  const ada = await svc.createUser()
  const token = await svc.createToken(ada)
  const browser = svc.browser()
  await browser.signIn(ada.email)
  t.equal((await svc.bearer(token, 'GET', '/api/user')).statusCode, 200)
  // As Entra writes it.
  const answer = await svc.scim('PATCH', `/Users/${ada.id}`, patch({ op: 'Replace', path: 'active', value: 'False' }))
  t.match(answer.json(), { active: false })
  t.equal((await svc.bearer(token, 'GET', '/api/user')).statusCode, 401)
  t.equal((await browser.send('GET', '/api/user')).statusCode, 401)
  // As Okta writes it.
  const again = await svc.scim(
    'PATCH',
    `/Users/${ada.id}`,
    patch({ op: 'replace', value: { active: true, id: 'other' } }),
  )
  t.match(again.json(), { active: true, id: String(ada.id) })
  t.equal((await svc.bearer(token, 'GET', '/api/user')).statusCode, 401, 'the token stays revoked')
  const inactive = await svc.scim('POST', '/Users', newUser('late@example.com', { active: false }))
  t.match(inactive.json(), { active: false })
})

t.test('applies patches as Entra, Okta and the RFC write them', async (t) => {
  const svc = await buildProvisioned(t)
  const { id } = (await svc.scim('POST', '/Users', newUser('ada@example.com'))).json()
  const cases: [operations: object[], expected: object][] = [
    [
      [{ op: 'Replace', path: 'name.familyName', value: 'King' }],
      { displayName: 'Ada King', name: { familyName: 'King' } },
    ],
    [[{ op: 'Add', value: { 'name.givenName': 'Augusta' } }], { displayName: 'Augusta King' }],
    [[{ op: 'replace', path: 'name.formatted', value: 'Countess' }], { displayName: 'Countess' }],
    [
      [{ op: 'replace', path: 'displayName', value: 'Ada L' }],
      { displayName: 'Ada L', name: { givenName: 'Augusta' } },
    ],
    [
      [{ op: 'Replace', path: 'emails[type eq "work"].value', value: 'b@example.com' }],
      { emails: [{ value: 'b@example.com' }] },
    ],
    [
      [{ op: 'replace', path: 'emails', value: [{ value: 'c@example.com', primary: true }] }],
      { emails: [{ value: 'c@example.com' }] },
    ],
    [[{ op: 'add', path: `${userSchema}:externalId`, value: 'E7' }], { externalId: 'E7' }],
    [
      [{ op: 'add', path: 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:department', value: 'R&D' }],
      { externalId: 'E7' },
    ],
    [
      [
        {
          op: 'replace',
          value: { 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User': { manager: '1' }, userName: 'ada' },
        },
      ],
      { userName: 'ada' },
    ],
    [
      [
        { op: 'remove', path: 'externalId' },
        { op: 'remove', path: 'name.givenName' },
      ],
      { userName: 'ada', externalId: undefined },
    ],
  ]
  for (const [operations, expected] of cases) {
    const answer = await svc.scim('PATCH', `/Users/${id}`, patch(...operations))
    t.equal(answer.statusCode, 200, answer.body)
    t.match(answer.json(), expected, JSON.stringify(operations))
  }
  const before = await svc.database.prisma.event.count()
  const same = await svc.scim('PATCH', `/Users/${id}`, patch({ op: 'replace', path: 'active', value: true }))
  t.equal(same.statusCode, 200)
  t.equal(await svc.database.prisma.event.count(), before, 'a patch that changes nothing causes no event')
})

t.test('refuses what it cannot store, and says why', async (t) => {
  const svc = await buildProvisioned(t)
  const { id } = (await svc.scim('POST', '/Users', newUser('ada@example.com', { externalId: 'X' }))).json()
  await svc.scim('POST', '/Users', newUser('bob', { emails: [{ value: 'bob@example.com' }] }))
  const post = (body: object) => svc.scim('POST', '/Users', body)
  const change = (...operations: object[]) => svc.scim('PATCH', `/Users/${id}`, patch(...operations))
  const answers: [Promise<{ statusCode: number; json(): object }>, number, string | undefined][] = [
    [post({}), 400, 'invalidValue'],
    [post(newUser('no address', { emails: [] })), 400, 'invalidValue'],
    [post(newUser('x@example.com', { active: 'perhaps' })), 400, 'invalidValue'],
    [post(newUser('x@example.com', { displayName: 5 })), 400, 'invalidValue'],
    [post(newUser('x@example.com', { displayName: 'two\nlines' })), 400, 'invalidValue'],
    [post(newUser('x@example.com', { displayName: 'x'.repeat(300) })), 400, 'invalidValue'],
    [post(newUser('ADA@example.com')), 409, 'uniqueness'],
    [post(newUser('BOB', { emails: [{ value: 'other@example.com' }] })), 409, 'uniqueness'],
    [post(newUser('other', { emails: [{ value: 'bob@example.com' }] })), 409, 'uniqueness'],
    [post(newUser('bob@example.com', { emails: [{ value: 'new@example.com' }] })), 409, 'uniqueness'],
    [change({ op: 'replace', path: 'userName', value: 'bob' }), 409, 'uniqueness'],
    [change({ op: 'replace', path: 'emails[type eq "work"].value', value: 'bob@example.com' }), 409, 'uniqueness'],
    [change({ op: 'replace', path: 'userName', value: null }), 400, 'invalidValue'],
    [change({ op: 'move', path: 'userName', value: 'x' }), 400, 'invalidSyntax'],
    [change({ op: 'replace', path: 5, value: 'x' }), 400, 'invalidPath'],
    [change({ op: 'remove' }), 400, 'noTarget'],
    [change({ op: 'add', path: '__proto__.polluted', value: 'x' }), 400, 'invalidPath'],
    [change({ op: 'add', value: { constructor: { prototype: { polluted: true } } } }), 400, 'invalidSyntax'],
    [svc.scim('PATCH', `/Users/${id}`, {}), 400, 'invalidSyntax'],
    [svc.scim('PUT', '/Users/9999', newUser('z@example.com')), 404, undefined],
    [svc.scim('PATCH', '/Users/x', patch({ op: 'remove', path: 'name' })), 404, undefined],
    [svc.scim('DELETE', '/Users/0'), 404, undefined],
    [svc.scim('GET', '/Unknown'), 404, undefined],
    [svc.scim('GET', '/Users?filter=userName+is+x'), 400, 'invalidFilter'],
    [svc.scim('GET', '/Users?filter=not(title+pr)not(title+pr)'), 400, 'invalidFilter'],
    [svc.scim('GET', `/Users?filter=${'a'.repeat(2_100)}`), 400, 'invalidFilter'],
    [svc.scim('GET', '/Users?count=many'), 400, 'invalidValue'],
    [svc.scim('GET', '/Users?filter=a+pr&filter=b+pr'), 400, 'invalidFilter'],
    [svc.scim('POST', '/.search', {}), 501, undefined],
  ]
  for (const [asked, status, scimType] of answers) {
    const answer = await asked
    t.equal(answer.statusCode, status, JSON.stringify(answer.json()))
    t.match(answer.json(), {
      schemas: ['urn:ietf:params:scim:api:messages:2.0:Error'],
      status: String(status),
      detail: /\.$/,
    })
    t.equal(Object(answer.json()).scimType, scimType)
  }
  t.equal(Object({}).polluted, undefined)
  t.match(
    (await svc.scim('GET', `/Users/${id}`)).json(),
    { userName: 'ada@example.com', externalId: 'X' },
    'nothing changed',
  )
  const broken = await svc.app.inject({
    ...{ method: 'POST', url: '/scim/v2/Users', payload: '{"a"' },
    headers: { 'content-type': 'application/scim+json', authorization: 'Bearer x' },
  })
  t.equal(broken.statusCode, 401)
})

t.test('filters, pages and selects attributes', async (t) => {
  const svc = await buildProvisioned(t)
  for (const name of ['ada', 'bob', 'cyd', 'dan', 'eve'])
    await svc.scim(
      'POST',
      '/Users',
      newUser(`${name}@Example.com`, { externalId: `X-${name}`, displayName: `${name} Müller` }),
    )
  await svc.createUser({ email: 'frank@example.com' })
  const find = async (filter: string, more = '') => {
    const body = (await svc.scim('GET', `/Users?filter=${encodeURIComponent(filter)}${more}`)).json()
    return body.Resources.map(({ userName }: { userName: string }) => userName.slice(0, 3).toLowerCase())
  }
  t.strictSame(await find('userName eq "ADA@example.com"'), ['ada'])
  t.strictSame(await find('userName eq "frank@example.com"'), ['fra'], 'a user whom SCIM did not create')
  t.strictSame(await find('externalId eq "X-bob"'), ['bob'])
  t.strictSame(await find('externalId eq "x-bob"'), [], 'case matters in externalId')
  t.strictSame(await find('emails eq "cyd@example.com"'), ['cyd'])
  t.strictSame(await find('emails[type eq "work" and value sw "dan"]'), ['dan'])
  t.strictSame(await find('emails.value co "EVE@" or userName sw "ada"'), ['ada', 'eve'])
  t.strictSame(await find('displayName ew "MÜLLER" and not (externalId eq "X-ada")'), ['bob', 'cyd', 'dan', 'eve'])
  t.strictSame(await find('active eq false'), [])
  t.strictSame(await find('externalId pr and meta.created gt "2020-01-01T00:00:00Z"', '&startIndex=2&count=2'), [
    'bob',
    'cyd',
  ])
  t.strictSame(await find(`${userSchema}:userName sw "e"`), ['eve'])
  t.strictSame(await find('id eq "1"'), ['ada'])

  const page = async (query: string) => (await svc.scim('GET', `/Users?${query}`)).json()
  t.match(await page('startIndex=5&count=10'), { totalResults: 6, startIndex: 5, itemsPerPage: 2, Resources: [{}, {}] })
  t.match(await page('count=0'), { totalResults: 6, itemsPerPage: 0, Resources: [] })
  t.match(await page('startIndex=-3&count=1'), { startIndex: 1, itemsPerPage: 1 })
  t.match(await page('startIndex=100'), { totalResults: 6, itemsPerPage: 0 })
  const [one] = (await page('count=1&attributes=userName,emails.value')).Resources
  t.strictSame(Object.keys(one).sort(), ['emails', 'id', 'schemas', 'userName'])
  const [other] = (await page(`count=1&excludedAttributes=${userSchema}:emails,meta`)).Resources
  t.notOk('emails' in other || 'meta' in other)
  const search = { filter: 'userName sw "b"', attributes: ['userName'], count: 5 }
  const searched = (await svc.scim('POST', '/Users/.search', search)).json()
  t.match(searched, { totalResults: 1, Resources: [{ userName: 'bob@Example.com' }] })
  t.notOk('emails' in searched.Resources[0])
})

t.test('answers versions, and refuses changes of an outdated one', async (t) => {
  const svc = await buildProvisioned(t)
  const { id, meta } = (await svc.scim('POST', '/Users', newUser('ada@example.com'))).json()
  t.equal((await svc.scim('GET', `/Users/${id}`, undefined, { 'if-none-match': meta.version })).statusCode, 304)
  const change = (version: string, value: string) =>
    svc.scim('PATCH', `/Users/${id}`, patch({ op: 'replace', path: 'displayName', value }), { 'if-match': version })
  const changed = await change(meta.version, 'One')
  t.equal(changed.statusCode, 200)
  t.equal((await change(meta.version, 'Two')).statusCode, 412)
  t.equal((await svc.scim('DELETE', `/Users/${id}`, undefined, { 'if-match': meta.version })).statusCode, 412)
  t.equal((await change('*', 'Three')).statusCode, 200)
})
