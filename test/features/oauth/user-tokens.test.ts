import t from 'tap'
import { chance, pick, seed } from '../../platform/http/odd-requests.ts'
import { testConfig } from '../../support/app.ts'
import { basic } from '../../support/oauth.ts'
import { travel } from '../../support/time.ts'
import { newKey, proof } from './clients/parties.ts'
import {
  changes,
  clients,
  comparer,
  openServer,
  refreshForm,
  scopes,
  send,
  settings,
  signedIn,
  twoCodes,
} from './user-tokens.ts'

const flows = Number(process.env.SVC_TEST_REQUESTS ?? 150)

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

t.test('accepts a code once when several requests send it at the same time, and keeps its tokens', async (t) => {
  const { svc } = await openServer(t)
  const person = await signedIn(svc)
  const [plain = {}] = clients
  for (let round = 0; round < 10; round++) {
    const { ours } = await twoCodes(person, plain, { scope: 'openid' })
    const answers = await Promise.all(Array.from({ length: 4 }, () => send(svc, plain, ours, false, {})))
    const [winner, ...others] = answers.toSorted((one, other) => one.statusCode - other.statusCode)
    t.same(
      [winner?.statusCode, ...others.map((answer) => answer.json().error)],
      [200, ...Array(3).fill('invalid_grant')],
    )
    const { refresh_token } = winner?.json() ?? {}
    t.equal((await send(svc, plain, refreshForm(refresh_token), false, {})).statusCode, 200)
  }
})

t.test('does not use up a code or token whose tokens it could not make', async (t) => {
  const { svc } = await openServer(t)
  const person = await signedIn(svc)
  const [plain = {}] = clients
  const { statusLists } = svc.app.oauth
  const own = statusLists.referenceFor.bind(statusLists)
  const failsOnce = async (form: URLSearchParams) => {
    statusLists.referenceFor = async () => {
      throw Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
    }
    t.equal((await send(svc, plain, form, false, {})).statusCode, 503)
    statusLists.referenceFor = own
    travel(svc, 20_000)
    const answer = await send(svc, plain, form, false, {})
    t.equal(answer.statusCode, 200)
    return refreshForm(answer.json().refresh_token)
  }
  await failsOnce(await failsOnce((await twoCodes(person, plain, { scope: 'openid listed:read' })).ours))
})

t.test('refuses a right secret among concurrent guesses', async (t) => {
  const { svc } = await openServer(t, { token: '3/1m' })
  const person = await signedIn(svc)
  const [plain = {}] = clients
  const { ours } = await twoCodes(person, plain, { scope: 'openid' })
  const guesses = Array.from({ length: 8 }, (_, index) => {
    const form = new URLSearchParams(ours)
    if (index < 7) form.set('client_secret', `a-wrong-secret-${index}`)
    return send(svc, plain, form, false, {})
  })
  const statuses = (await Promise.all(guesses)).map(({ statusCode }) => statusCode)
  t.same(statuses, [401, 401, 401, 429, 429, 429, 429, 429])
})

t.test('rejects a form that begins with a question mark', async (t) => {
  const { svc } = await openServer(t)
  const person = await signedIn(svc)
  const [plain = {}] = clients
  const { ours } = await twoCodes(person, plain, { scope: 'openid' })
  const payload = `?${ours}`
  const headers = { 'content-type': 'application/x-www-form-urlencoded', ...basic('plain') }
  t.equal((await svc.app.inject({ method: 'POST', url: '/oauth/token', headers, payload })).statusCode, 400)
})
