import type { LightMyRequestResponse } from 'fastify'
import { decodeJwt, decodeProtectedHeader } from 'jose'
import { UserTokens } from '../../../src/features/oauth/protocol/shortcuts/user-tokens.ts'
import { buildTestApp, type Settings, type TestApp } from '../../support/app.ts'
import { basic, callback, Person, partner, pkce, response, secret, verifier } from '../../support/oauth.ts'
import { stopTime } from '../../support/time.ts'

/** Sends a request to the library, although svc could answer it. */
const toLibrary = { 'x-test-library': '1' }

const open = { type: 'public', secret: undefined, first_party: true, redirect_uris: ['https://app.example/cb'] }
const apiScopes = ['orders:read', 'stock:read', 'stock:write', 'mail:read', 'listed:read', 'roles', 'groups']

export const clients: Settings[] = [
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

export const settings: Settings = {
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

export const scopes = [
  ...['openid', 'openid orders:read', 'openid profile email', 'openid offline_access', 'orders:read', 'offline_access'],
  ...['openid profile email orders:read roles groups offline_access', 'openid stock:read', 'stock:read stock:write'],
  ...['openid mail:read email', 'listed:read', 'openid listed:read offline_access', 'profile', 'openid unknown'],
]

/** Changes of a request that most often make it wrong. */
export const changes: readonly ((form: URLSearchParams) => void)[] = [
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
export async function openServer(t: Parameters<typeof buildTestApp>[0], limits: Record<string, string> = {}) {
  const rate_limits = { ...(settings.rate_limits as object), ...limits }
  const svc = await buildTestApp(t, { settings: { ...settings, rate_limits }, clock: stopTime(t) })
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

export function send(svc: TestApp, client: Settings, form: URLSearchParams, inHeader: boolean, more: object) {
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
export function comparer(svc: TestApp) {
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

export const refreshForm = (token = 'none') =>
  new URLSearchParams({ grant_type: 'refresh_token', refresh_token: token })

/** Two codes of a person for a client. */
export async function twoCodes(person: Person, client: Settings, more: Record<string, string>): Promise<Pair> {
  const [redirect_uri = ''] = client.redirect_uris as string[]
  const asked = { client_id: String(client.client_id), response_type: 'code', redirect_uri, ...pkce, ...more }
  const [one, two] = [response(await person.allow(asked)), response(await person.allow(asked))]
  return { ours: codeForm(redirect_uri, one.code), theirs: codeForm(redirect_uri, two.code) }
}

export async function signedIn(svc: TestApp, role = 'user'): Promise<Person> {
  const person = new Person(svc, (await svc.createUser({ role })).email)
  await person.signIn()
  return person
}
