import type { LightMyRequestResponse } from 'fastify'
import { decodeJwt, decodeProtectedHeader } from 'jose'
import t from 'tap'
import { UserTokens } from '../../../src/features/oauth/protocol/shortcuts/user-tokens.ts'
import { chance, pick, seed } from '../../platform/http/odd-requests.ts'
import { buildTestApp, type Settings, type TestApp, testConfig } from '../../support/app.ts'
import { basic, callback, Person, partner, pkce, response, secret, verifier } from '../../support/oauth.ts'
import { stopTime, travel } from '../../support/time.ts'
import { newKey, proof } from './clients/parties.ts'

const flows = Number(process.env.SVC_TEST_REQUESTS ?? 150)

/** Sends a request to the library, although svc could answer it. */
const toLibrary = { 'x-test-library': '1' }

const open = { type: 'public', secret: undefined, first_party: true, redirect_uris: ['https://app.example/cb'] }
const apiScopes = ['orders:read', 'stock:read', 'stock:write', 'mail:read', 'listed:read', 'roles', 'groups']

const clients: Settings[] = [
  partner('plain', { scopes: apiScopes, first_party: true }),
  partner('signer', {
    scopes: apiScopes,
    first_party: true,
    id_token_signed_response_alg: 'ES256',
    access_token_ttl: '90s',
  }),
  partner('claims', { scopes: apiScopes, first_party: true, claims: ['role', 'email'], id_token_claims: false }),
  partner('lasting', { scopes: apiScopes, first_party: true, refresh_token_ttl: '1000d' }),
  partner('once', { scopes: apiScopes, first_party: true, grants: ['authorization_code'] }),
  partner('bound', {
    scopes: apiScopes,
    first_party: true,
    dpop: true,
    grants: ['authorization_code', 'refresh_token'],
  }),
  partner('header', { scopes: apiScopes, first_party: true, token_endpoint_auth_method: 'client_secret_basic' }),
  partner('page', { ...open, scopes: apiScopes }),
]

const api = (name: string, more: object = {}) => ({
  audience: `https://${name}.example`,
  scopes: [`${name}:read`, `${name}:write`],
  ...more,
})

const settings: Settings = {
  scopes: { 'orders:read': 'See your orders' },
  apis: {
    stock: api('stock', { algorithm: 'RS256', token_ttl: '5m', claims: ['role', 'groups'] }),
    mail: api('mail', { algorithm: 'EdDSA', claims: ['email'] }),
    listed: api('listed', { status_list: true }),
  },
  oauth: { access_token_claims: ['role'] },
  rate_limits: { token: null, login: null, authorization: null, authorization_total: null },
  clients: JSON.parse(JSON.stringify(clients)),
}

const scopes = [
  ...['openid', 'openid orders:read', 'openid profile email', 'openid offline_access', 'orders:read', 'offline_access'],
  ...['openid profile email orders:read roles groups offline_access', 'openid stock:read', 'stock:read stock:write'],
  ...['openid mail:read email', 'listed:read', 'openid listed:read offline_access', 'profile', 'openid unknown'],
]

/** Changes of a request that most often make it wrong. */
const changes: readonly ((form: URLSearchParams) => void)[] = [
  (form) => form.delete('code_verifier'),
  (form) => form.set('code_verifier', `${verifier}x`),
  (form) => form.set('redirect_uri', `${callback}/`),
  (form) => form.delete('redirect_uri'),
  (form) => form.set('client_secret', 'wrong'),
  (form) => form.set('client_id', 'plain'),
  (form) => form.append('scope', 'openid'),
  (form) => form.append('scope', 'orders:read roles'),
  (form) => form.append('resource', 'https://stock.example'),
  (form) => form.append('resource', 'http://localhost:8000'),
  (form) => form.append('state', 'x'),
  (form) => form.append('nonce', ''),
  (form) => form.set('grant_type', 'password'),
  (form) => form.append('grant_type', 'refresh_token'),
  (form) => form.set('code', `${form.get('code')}x`),
  (form) => form.set('refresh_token', `${form.get('refresh_token')}x`),
]

/** Places where a value is random, and what replaces it. */
const random = /^(jti|gid|sid|subject_jti)$/

const comparableJwt = (jwt: unknown) => {
  if (typeof jwt !== 'string') return jwt
  const { status, ...claims } = decodeJwt<{ status?: { status_list: { uri: string } } }>(jwt)
  const shown = Object.entries(claims).map(([name, value]) => [name, random.test(name) ? String(value).length : value])
  return [decodeProtectedHeader(jwt), shown.sort(), status?.status_list.uri, jwt.split('.')[2]?.length]
}

/** An answer without its random parts. */
function comparable({ statusCode, headers, body }: LightMyRequestResponse) {
  const { date: _date, 'content-length': _length, 'dpop-nonce': nonce, connection: _connection, ...others } = headers
  const { access_token, id_token, refresh_token, ...rest } = JSON.parse(body)
  return JSON.stringify([
    ...[statusCode, Object.entries(others).sort(), nonce === undefined],
    ...[comparableJwt(access_token), comparableJwt(id_token), typeof refresh_token, Object.entries(rest).sort()],
  ])
}

/** The rows of a grant's tokens, without what is random. */
async function comparableRows(svc: TestApp, of: string | undefined) {
  if (of === undefined) return []
  const rows = await svc.database.prisma.oauthRecord.findMany({ where: { kind: 'RefreshToken' } })
  const opened = rows.map((row) => ({ row, payload: svc.app.oauth.seal.open(row) }))
  const found = opened.find(({ payload }) => payload?.jti === of)
  const family = opened.filter(({ row }) => row.grantHash === found?.row.grantHash)
  const grant = await svc.database.prisma.oauthRecord.findFirst({ where: { uidHash: found?.row.grantHash ?? '' } })
  const shown = family.map(({ row, payload }) => {
    const { id: _id, payload: _payload, grantHash, parentHash, expiresAt, consumedAt, ...others } = row
    const { jti, grantId, sessionUid, ...fields } = payload ?? {}
    const present = [grantHash, parentHash, jti, grantId, sessionUid].map((value) => typeof value)
    return [
      Object.entries(fields).sort(),
      Object.entries(others).map(String),
      present,
      String(expiresAt),
      String(consumedAt),
    ]
  })
  return [shown.map((one) => JSON.stringify(one)).sort(), String(grant?.expiresAt)]
}

/** Counts the requests that the library did not see. */
async function openServer(t: Parameters<typeof buildTestApp>[0]) {
  const svc = await buildTestApp(t, { settings, clock: stopTime(t) })
  const counts = { authorization_code: 0, refresh_token: 0 }
  const own = UserTokens.prototype.answer
  UserTokens.prototype.answer = async function answer(asked, form) {
    const found = 'x-test-library' in asked.headers ? null : await own.call(this, asked, form)
    if (found) counts[new URLSearchParams(form).get('grant_type') as keyof typeof counts]++
    return found
  }
  t.teardown(() => {
    UserTokens.prototype.answer = own
  })
  return { svc, counts }
}

function send(svc: TestApp, client: Settings, form: URLSearchParams, inHeader: boolean, more: object) {
  const isPublic = client.type === 'public'
  const id = String(client.client_id)
  const fields = new URLSearchParams(form)
  if (!inHeader && !fields.has('client_id')) fields.set('client_id', id)
  if (!inHeader && !isPublic && !fields.has('client_secret')) fields.set('client_secret', secret)
  return svc.app.inject({
    method: 'POST',
    url: '/oauth/token',
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      ...(inHeader ? (isPublic ? { authorization: `Basic ${btoa(`${id}:`)}` } : basic(id)) : {}),
      ...more,
    },
    payload: fields.toString(),
  })
}

interface Pair {
  ours: URLSearchParams
  theirs: URLSearchParams
}

interface Change {
  change?: (form: URLSearchParams) => void
  inHeader?: boolean
  headers?: object
}

/** Sends the same request to svc and to the library, each with its own code or token, and keeps what differs. */
function comparer(svc: TestApp) {
  const differences: object[] = []
  const accepted = { all: 0 }
  const compare = async (client: Settings, { ours, theirs }: Pair, what: object, more: Change = {}) => {
    const { change = () => {}, inHeader = false, headers = {} } = more
    for (const form of [ours, theirs]) change(form)
    const answer = await send(svc, client, ours, inHeader, headers)
    const other = await send(svc, client, theirs, inHeader, { ...headers, ...toLibrary })
    if (answer.statusCode === 200) accepted.all++
    const tokens = [answer, other].map((one): string | undefined => one.json().refresh_token)
    const [mine, expected] = [
      [comparable(answer), await comparableRows(svc, tokens[0])],
      [comparable(other), await comparableRows(svc, tokens[1])],
    ]
    if (JSON.stringify(mine) !== JSON.stringify(expected))
      differences.push({ what, ours: mine, theirs: expected, form: ours.toString() })
    return { tokens, statuses: [answer.statusCode, other.statusCode] }
  }
  return { compare, differences, accepted }
}

const codeForm = (redirect_uri: string, code = 'none') =>
  new URLSearchParams({ grant_type: 'authorization_code', code, redirect_uri, code_verifier: verifier })

const refreshForm = (token = 'none') => new URLSearchParams({ grant_type: 'refresh_token', refresh_token: token })

/** Two codes of a person for a client. */
async function twoCodes(person: Person, client: Settings, more: Record<string, string>): Promise<Pair> {
  const [redirect_uri = ''] = client.redirect_uris as string[]
  const asked = { client_id: String(client.client_id), response_type: 'code', redirect_uri, ...pkce, ...more }
  const [one, two] = [response(await person.allow(asked)), response(await person.allow(asked))]
  return { ours: codeForm(redirect_uri, one.code), theirs: codeForm(redirect_uri, two.code) }
}

async function signedIn(svc: TestApp, role = 'user'): Promise<Person> {
  const person = new Person(svc, (await svc.createUser({ role })).email)
  await person.signIn()
  return person
}

t.test('answers codes and refresh tokens exactly as oidc-provider does', async (t) => {
  const { svc, counts } = await openServer(t)
  const people = [await signedIn(svc, 'editor'), await signedIn(svc)]
  const { compare, differences, accepted } = comparer(svc)
  for (let flow = 0; flow < flows; flow++) {
    const [client, scope, person] = [pick(clients), pick(scopes), pick(people)]
    const more = {
      scope,
      ...(chance(0.5) ? { nonce: 'a-nonce' } : {}),
      ...(chance(0.1) ? { claims: '{"id_token":{"email":null}}' } : {}),
      ...(chance(0.1) ? { prompt: 'consent' } : {}),
      ...(chance(0.1) ? { resource: 'https://stock.example' } : {}),
    }
    const spelling = () => ({
      inHeader: chance(0.4),
      change: chance(0.05) ? pick(changes) : () => {},
      headers: chance(0.03) ? pick([{ origin: 'https://app.example' }, { dpop: 'a.b.c' }, { dpop: '' }]) : {},
    })
    const what = { client: client.client_id, ...more }
    let { tokens } = await compare(client, await twoCodes(person, client, more), what, spelling())
    for (let times = 0; times < 2 && tokens[0] && tokens[1]; times++) {
      if (chance(0.3)) travel(svc, pick([1_000, 60_000, 3_700_000]))
      const pair = { ours: refreshForm(tokens[0]), theirs: refreshForm(tokens[1]) }
      tokens = (await compare(client, pair, { ...what, times }, spelling())).tokens
    }
  }
  t.same(differences.slice(0, 2), [], `seed ${seed}`)
  t.ok(counts.authorization_code > flows / 4, `svc redeemed ${counts.authorization_code} codes`)
  t.ok(counts.refresh_token > flows / 4, `svc refreshed ${counts.refresh_token} tokens`)
  t.ok(accepted.all > counts.authorization_code + counts.refresh_token, 'the library accepted other requests')
})

t.test('leaves every request to oidc-provider that it might refuse', async (t) => {
  const { svc } = await openServer(t)
  const person = await signedIn(svc)
  const { compare, differences } = comparer(svc)
  for (const client of clients.filter(({ client_id }) => client_id === 'plain' || client_id === 'page')) {
    for (const change of changes) {
      const codes = () => twoCodes(person, client, { scope: 'openid orders:read' })
      await compare(client, await codes(), { change: `${change}` }, { change })
      const { tokens } = await compare(client, await codes(), {})
      const pair = { ours: refreshForm(tokens[0]), theirs: refreshForm(tokens[1]) }
      await compare(client, pair, { change: `${change}`, refresh: true }, { change })
    }
  }
  t.same(differences.slice(0, 2), [])
})

t.test('checks the code or token, its grant, session, user and client on every request', async (t) => {
  const { svc, counts } = await openServer(t)
  const { prisma } = svc.database
  const { compare, differences } = comparer(svc)
  const [plain = {}] = clients
  const reload = (more: object) => {
    const changed = JSON.parse(JSON.stringify([{ ...plain, ...more }]))
    const { clients: swapped } = testConfig({ ...settings, clients: changed }).current()
    svc.config.swap({ ...svc.config.current(), clients: swapped })
  }
  const disabled = { disabledAt: new Date() }
  const ends: Record<string, (email: string) => unknown> = {
    'the user is disabled': (email) => prisma.user.update({ where: { email }, data: disabled }),
    'the user is deleted': (email) => prisma.user.delete({ where: { email } }),
    'the session ends': () => prisma.oauthRecord.deleteMany({ where: { kind: 'Session' } }),
    'the grant ends': () => prisma.oauthRecord.deleteMany({ where: { kind: 'Grant' } }),
    'it was used a minute ago': async () => {
      const kind = { in: ['AuthorizationCode', 'RefreshToken'] }
      await prisma.oauthRecord.updateMany({ where: { kind }, data: { consumedAt: BigInt(svc.app.clock.now()) } })
      travel(svc, 60_000)
    },
    'the client may not use the grants': () => reload({ grants: ['client_credentials'] }),
    'the client has another secret': () => reload({ secret: 'another-secret-that-is-long-enough' }),
    'the client must send proofs': () => reload({ dpop: true, grants: ['authorization_code', 'refresh_token'] }),
    'the client may not have the scopes': () => reload({ scopes: ['mail:read'] }),
    'it expires': () => travel(svc, 91 * 86_400_000),
  }
  for (const [name, end] of Object.entries(ends)) {
    for (const grant of ['code', 'token'] as const) {
      reload({})
      const person = await signedIn(svc)
      const more = { scope: 'openid stock:read' }
      let pair = await twoCodes(person, plain, more)
      if (grant === 'token') {
        const { tokens } = await compare(plain, pair, { name })
        pair = { ours: refreshForm(tokens[0]), theirs: refreshForm(tokens[1]) }
      }
      await end(person.email)
      const before = { ...counts }
      const { statuses } = await compare(plain, pair, { name, grant })
      t.same(counts, before, `${name}: the library decides about the ${grant}`)
      t.match(statuses, [/^40[01]$/, /^40[01]$/], `${name}: the ${grant}`)
    }
  }
  t.same(differences.slice(0, 2), [])
})

t.test('requires the proof of a bound refresh token', async (t) => {
  const { svc, counts } = await openServer(t)
  const person = await signedIn(svc)
  const page = clients.find(({ client_id }) => client_id === 'page') ?? {}
  const { ours } = await twoCodes(person, page, { scope: 'openid' })
  const key = await newKey('ES256')
  const bound = await send(svc, page, ours, false, { dpop: await proof(key, 'POST', '/oauth/token') })
  t.match(bound.json(), { token_type: 'DPoP', refresh_token: String })
  const stolen = await send(svc, page, refreshForm(bound.json().refresh_token), false, {})
  t.match([stolen.statusCode, stolen.json()], [400, { error: 'invalid_grant' }])
  t.same(counts, { authorization_code: 0, refresh_token: 0 })
})

t.test('accepts a code once when two requests send it at the same time', async (t) => {
  const { svc } = await openServer(t)
  const person = await signedIn(svc)
  const [plain = {}] = clients
  for (let round = 0; round < 10; round++) {
    const { ours } = await twoCodes(person, plain, { scope: 'openid' })
    const answers = await Promise.all(Array.from({ length: 4 }, () => send(svc, plain, ours, false, {})))
    t.equal(answers.filter(({ statusCode }) => statusCode === 200).length, 1)
  }
})
